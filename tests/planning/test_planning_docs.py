"""docs/planning.md says what is so: its Python runs, its limits are those of the code."""

import contextlib
import io
import re
from pathlib import Path

from tocsin.core.topology import LINKS_MAX, NODES_MAX
from tocsin.planning.distances import HOSTS_MAX
from tocsin.planning.reliability import MESSAGES_MAX
from tocsin.planning.strategies import LISTED_TIMES_MAX, SITES_MAX, TIME_MAX

PAGE = (Path(__file__).parents[2] / "docs" / "planning.md").read_text()


def test_the_python_of_the_page_runs() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block, "docs/planning.md", "exec"), {})
    messages, reach = out.getvalue().split()
    assert int(messages) >= 99
    assert float(reach) >= 0.9999


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    section = PAGE.split("| limit | value |", 1)[1]
    assert [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]+", section)] == [
        SITES_MAX,
        TIME_MAX,
        LISTED_TIMES_MAX,
        HOSTS_MAX,
        NODES_MAX,
        MESSAGES_MAX,
    ]
    assert LINKS_MAX == NODES_MAX
