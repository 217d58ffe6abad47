"""The page of a reproduction, which needs nothing else; and its charts."""

from pathlib import Path

from papers.common.drawing import svg
from papers.common.markdown import markdown
from papers.common.page import page
from papers.common.paper import (
    AGREES,
    DIFFERS,
    NOT_REPRODUCED,
    Chart,
    Claim,
    Line,
    Listing,
    Mark,
    Paper,
    Section,
    exact,
)
from papers.common.reproduction import Reproduced, write_all
from papers.common.table import Point
from papers.common.tests.test_tables import table_of


def reproduced() -> Reproduced:
    chart = Chart(
        name="one",
        title="Times & sizes",
        x_label="sites",
        y_label="ms",
        lines=[
            Line("measured", [(1, Point(2, 0.5, 3)), (2, Point(4, 0.5, 3))]),
            Line("formula", [(1, exact(2)), (2, exact(4))], formula=True),
        ],
        marks=[Mark("the paper: 4", 2, 4)],
    )
    claims = [
        Claim("Figure 1", "a < b", "1 ± 0.1", AGREES),
        Claim("Figure 2", "c | d", "2", DIFFERS, "of <this>"),
        Claim("Figure 3", "e", "3", NOT_REPRODUCED),
    ]
    section = Section("Times", "Text.", claims, [chart], [Listing("Rows", ["x", "y"], [["1", "2"]])])
    paper = Paper("some", "Somebody 1999", (), (lambda tables: section,))
    table = table_of({2: [1.0, 2.0]})
    return Reproduced([(paper, [section])], {"times": table}, True, "abc", 2, 2, 1.5, 3.0, ["times: cell 7: timeout"])


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    found = reproduced()
    write_all(tmp_path, found)
    text = (tmp_path / "index.html").read_text()
    for needed in ("a &lt; b", "of &lt;this&gt;", "not reproduced", "1 agree, 1 differ", "Times &amp; sizes", "<svg"):
        assert needed in text
    assert "times: cell 7: timeout" in text
    assert "<script" not in text and "<link" not in text and "@import" not in text and "src=" not in text
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == ["times.csv", "times.parquet"]
    told = (tmp_path / "reproduction.md").read_text()
    assert "c \\| d" in told and "**differs**: of <this>" in told and "code abc" in told
    assert markdown(found) == told and "One call ran them all, in 2 s." in told
    assert "The last call ran 1 of the cells, in 2 s; earlier ones the others." in markdown(found._replace(ran=1))


def test_a_chart_is_the_same_bytes_again_and_twice_on_a_page() -> None:
    chart = reproduced().papers[0][1][0].charts[0]
    assert svg(chart) == svg(chart)
    drawn = page(reproduced(), {"one": svg(chart)})
    names = [part.split('"')[0] for part in drawn.split(' id="')[1:]]
    assert len(set(names)) == len(names), "ids of charts do not collide"


def test_what_lies_below_zero_is_drawn() -> None:
    def ticks(*means: float) -> str:
        points = [(number, Point(mean, 0.001, 3)) for number, mean in enumerate(means, 1)]
        return svg(Chart("one", "Excess", "heartbeats", "part", [Line("measured", points)]))

    assert "−" in ticks(-0.02, 0.01) and "−" not in ticks(0.02, 0.01)
