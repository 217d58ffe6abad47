"""`tocsin explore`: its budgets, its answer, and what it refuses."""

import json
from pathlib import Path

import pytest

from tocsin.cli.main import main

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "explore.toml")


def test_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", EXAMPLE, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["finished"] and found["executions"] == 9072 and found["violation"] is None
    assert found["stands_for"] >= found["states"] > found["settled"] > 0
    assert found["continued"] > 0 and found["unknown"] == 0


def test_a_schedule_that_is_not_known_to_be_the_shortest_is_not_called_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", EXAMPLE, "--wipes", "1"]) == 1
    assert "the fewest there are" not in capsys.readouterr().out, "what only the lost disk had: liveness"
    assert main(["explore", EXAMPLE, "--dead-links", "1", "--safety-only", "--beyond-assumptions"]) == 1
    assert "the fewest there are" in capsys.readouterr().out, "safety, breadth first"


def test_what_is_beyond_the_assumptions_is_explored_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", EXAMPLE, "--dead-links", "1", "--safety-only", "--beyond-assumptions"]) == 1
    assert "VIOLATED" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--leaves", "1"], "--leaves: a fault outside the assumptions of `ack_all`"),
        (["--dead-links", "1"], "--dead-links: a fault outside"),
        (["--dead-links", "-1"], "--dead-links: expected 0 or more, found -1"),
        (["--losses", "32"], "losses: expected 0 to 31, found 32"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_what_it_refuses(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", EXAMPLE, *words]) == 2
    told = capsys.readouterr()
    assert complaint in told.err and told.err.count("\n") == 1 and told.out == ""
