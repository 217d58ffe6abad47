"""The schedules that explorations are known to find: each is found as the list says, and the list may not grow."""

import json
import shlex
from pathlib import Path

import pytest

from tocsin.cli.main import main
from tocsin.sim.transcript import perform

ENTRIES_MAX = 4  # when it was last shortened; it is empty when the protocols' issues are done

HERE = Path(__file__).parent
LINES = (HERE / "explored.txt").read_text().splitlines()
KNOWN = [tuple(part.strip() for part in line.split("|")) for line in LINES if not line.startswith("#")]


def test_the_list_does_not_grow() -> None:
    assert len(KNOWN) <= ENTRIES_MAX


@pytest.mark.parametrize(("repeat", "violated"), [known[1:3] for known in KNOWN], ids=[known[1] for known in KNOWN])
def test_it_is_found_as_described(repeat: str, violated: str, capsys: pytest.CaptureFixture[str]) -> None:
    """When this fails because nothing is wrong any more: take the line and its scenario out."""
    scenario, *words = shlex.split(repeat)
    assert main(["explore", str(HERE / scenario), "--json", *words]) == 1
    found = json.loads(capsys.readouterr().out)
    assert violated in found["violation"]
    assert perform(found["transcript"]) == found["transcript"], "and can be acted again"
