"""The page of an audit: it shows what was found, needs nothing else, and is written whole or not at all."""

import os
import signal
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.spark.trace_files import MadeRun, write_rows
from tocsin.core.errors import InputError
from tocsin.properties.audit.audit import AuditResult, audit, outline
from tocsin.properties.audit.executor import LocalExecutor
from tocsin.properties.audit.limits import Limits
from tocsin.properties.kernels import survey as survey_module
from tocsin.properties.kernels.histogram import Histogram
from tocsin.spark.audit.diagram import witness_diagram
from tocsin.spark.audit.page import page, write_page
from tocsin.spark.audit.plots import Scale, Series, bar_plot, line_plot, short_number, short_time
from tocsin.spark.audit.surveying import Surveyed, survey_result
from tocsin.traces.rows import Row


class Balanced(HTMLParser):
    """Refuses a page whose elements do not close, or that asks for anything from elsewhere."""

    VOID = frozenset(["meta", "line", "rect", "circle", "path", "polyline", "br"])

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        for name, value in attrs:
            outside = name in ("src", "href", "xlink:href") and not (value or "").startswith("#")
            assert not outside, f"<{tag} {name}={value}>"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def parsed(text: str) -> Balanced:
    parser = Balanced()
    parser.feed(text)
    parser.close()
    assert not parser.open, parser.open
    return parser


def surveyed(rows: list[Row], folder: Path, limits: Limits | None = None) -> tuple[AuditResult, Surveyed]:
    executor = LocalExecutor()
    path = write_rows(folder / "trace.parquet", rows, one_clock=True, row_group_size=50)
    result = audit(outline([str(path)], executor), executor, limits=limits)
    found = survey_result(executor, result, limits or Limits())
    assert found is not None
    return result, found


def timed_rows() -> list[Row]:
    """Three sites; b delivers 1000 µs after the broadcast, c 3000; wire messages of two kinds."""
    rows: list[Row] = []
    orders = dict.fromkeys("abc", 0)

    def note(site: str, time_us: int, event: str, **more: object) -> None:
        rows.append(Row("r", site, orders[site], time_us, event)._replace(**more))  # type: ignore[arg-type]
        orders[site] += 1

    for number in range(200):
        start = number * 10_000
        message = {"group": "g", "origin": "a", "seqno": number}
        note("a", start, "broadcast", **message)
        for peer, delay in (("b", 1000), ("c", 3000)):
            note("a", start, "send", kind="data", peer=peer, size=100)
            note(peer, start + delay, "receive", kind="data", peer="a", size=100, origin="a", seqno=number)
            note(peer, start + delay, "send", kind="ack", peer="a", size=8)
            note(peer, start + delay, "deliver", **message)
        note("a", start + 3000, "deliver", **message)
    return sorted(rows, key=lambda row: (row.site, row.order))


def test_the_survey_counts_what_happened(tmp_path: Path) -> None:
    for limits in (Limits(), Limits(task_rows=60)):
        _, found = surveyed(timed_rows(), tmp_path, limits)
        survey = found.survey
        assert survey.kinds["send", "data"] == 400 and survey.kinds["send", "ack"] == 400
        assert survey.bytes["receive", "data"] == 40_000
        assert {site: int(counts.sum()) for site, counts in survey.handled.items()} == {"a": 400, "b": 400, "c": 400}
        latencies = survey.latencies["g"]
        assert latencies.count == 600 and latencies.highest == 3000
        assert latencies.percentile(30) == pytest.approx(1000, rel=0.01)
        assert latencies.percentile(50) == pytest.approx(3000, rel=0.01)
        assert survey.gaps.count == 3 * 199
        assert survey.gaps.percentile(50) == pytest.approx(10_000, rel=0.01)
        assert int(max(gaps.max() for gaps in survey.longest_gap.values())) == 10_000
        assert (found.sampled, found.messages) == (200, 200)


def test_large_traces_are_sampled_by_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey_module, "SAMPLE_MAX", 50)
    result, found = surveyed(timed_rows(), tmp_path)
    assert 20 < found.sampled < 100
    assert found.survey.latencies["g"].count == 3 * found.sampled  # all deliveries of a drawn message
    assert f"those of {found.sampled} messages" in page(["t"], result.report, found)


def test_histograms_are_right_within_half_a_per_cent_and_add_up() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate((np.zeros(100, np.int64), rng.lognormal(8, 2, 50_000).astype(np.int64)))
    whole, parts = Histogram(), Histogram()
    whole.add(values)
    for share in np.array_split(values, 7):
        one = Histogram()
        one.add(share)
        parts.merge(one)
    assert whole.count == parts.count == len(values)
    assert np.array_equal(whole.counts, parts.counts)
    for percent in (1, 50, 90, 99, 99.9, 100):
        exact = float(np.percentile(values, percent, method="inverted_cdf"))
        assert whole.percentile(percent) == pytest.approx(exact, rel=0.006, abs=1)
    assert whole.mean() == pytest.approx(values.mean(), rel=1e-3)
    huge = Histogram()
    huge.add(np.array([1, (1 << 63) - 1]))
    assert huge.percentile(100) == pytest.approx(2.0**63, rel=0.01)


def test_the_page_shows_verdicts_witnesses_and_plots(tmp_path: Path) -> None:
    made = MadeRun({"g<1>": ["a", "b"], "h": ["a", "b"]}, 60, seed=1)
    made.swap("b", 20)
    result, found = surveyed(made.rows(), tmp_path)
    text = page(["traces & more"], result.report, found)
    parser = parsed(text)
    assert "traces &amp; more" in text
    assert "g&lt;1&gt;" in text and "g<1>" not in text
    assert "<script" not in text and "http" not in text
    failed = [name for name, verdict in result.report.properties.items() if verdict.verdict == "fail"]
    assert "multiple_group" in failed
    for name in failed:
        assert f'<a id="{name}"></a>' in text and f'href="#{name}"' in text
    assert text.count('class="diagram"') >= 1
    assert parser.seen.count("figure") >= 3


def test_a_page_of_a_trace_without_messages(tmp_path: Path) -> None:
    executor = LocalExecutor()
    path = write_rows(tmp_path / "t.parquet", [])
    result = audit(outline([str(path)], executor), executor)
    assert survey_result(executor, result, Limits()) is None
    parsed(page(["t"], result.report, None))


def test_an_inversion_shows_as_a_crossing() -> None:
    rows = [
        Row("r", "a", 1, 5, "deliver", "g", "x", 1),
        Row("r", "a", 2, 6, "deliver", "g", "y", 1),
        Row("r", "b", 7, 5, "deliver", "g", "y", 1),
        Row("r", "b", 9, 6, "deliver", "g", "x", 1),
    ]
    text = witness_diagram(rows)
    parsed(text)
    assert text.count('class="link"') == 2 and text.count("<circle") == 4
    paths = [part.split('"')[0] for part in text.split(' d="')[1:] if " L" in part.split('"')[0]]
    ends = [[float(number) for number in path.replace("M", "").replace("L", "").split()] for path in paths[-2:]]
    first, second = ends  # x and y of both ends: one goes right on its way down, the other left
    assert (first[0] - first[2]) * (second[0] - second[2]) < 0


@pytest.mark.parametrize("seed", range(20))
def test_any_witness_can_be_drawn(seed: int) -> None:
    rng = Random(seed)
    events = ["broadcast", "deliver", "rollback", "receive", "view", "crash", "recover"]
    rows = [
        Row(
            "r",
            rng.choice("abc"),
            order,
            rng.randrange(100),
            rng.choice(events),
            "g",
            rng.choice(["a", None]),
            rng.randrange(3),
            members=("a", "b"),
            view=rng.randrange(3),
        )
        for order in range(rng.randrange(9))
    ]
    for by_time in (False, True):
        parsed(witness_diagram(rows, by_time))


def test_ticks_are_round_and_inside() -> None:
    assert Scale(0, 103, 0, 1).ticks(5) == [0, 25, 50, 75, 100]
    assert Scale(3, 40_000, 0, 1, is_log=True).ticks() == [10, 100, 1000, 10_000]
    assert [short_number(value) for value in (0, 12, 1500, 2.5e6, 3e9)] == ["0", "12", "1.5k", "2.5M", "3G"]
    assert [short_time(value) for value in (12, 1500, 2.5e6)] == ["12 µs", "1.5 ms", "2.5 s"]
    assert "nothing to show" in line_plot("t", [], x_label="x", y_label="y")
    assert "nothing to show" in bar_plot("t", [])
    parsed(line_plot("a<b", [Series("one", [(1, 1)]), Series("two", [(1, 5), (9, 0)])], x_label="x", y_label="y"))


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    result, found = surveyed(timed_rows(), tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        write_page(tmp_path / "no" / "page.html", ["t"], result.report, found)


WRITER = """
import sys
from pathlib import Path
from tests.spark.test_audit_report import timed_rows, surveyed
from tocsin.spark.audit.page import write_page
folder = Path(sys.argv[1])
result, found = surveyed(timed_rows(), folder)
while True:
    write_page(folder / "page.html", ["x" * 3_000_000], result.report, found)
    print("written", flush=True)
"""


def test_kill_leaves_the_old_page_or_the_new_one(tmp_path: Path) -> None:
    """kill -9 while pages are being written, at five different moments."""
    (tmp_path / "page.html").write_text("<!doctype html>\nold</html>\n")
    root = Path(__file__).parent.parent.parent
    whole = 0
    for moment in range(5):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)],
            cwd=root,
            stdout=subprocess.PIPE,
            env={**os.environ, "TOCSIN_PURE": "1"},
        )
        assert writer.stdout is not None
        for _ in range(moment % 4 + 1):
            writer.stdout.readline()
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        text = (tmp_path / "page.html").read_text()
        assert text.startswith("<!doctype html>") and text.endswith("</html>\n")
        whole += len(text) > 3_000_000
    assert whole == 5
