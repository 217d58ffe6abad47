"""The page of figures: what is measured is written between its marks, and nothing else changes."""

import pytest

from tests.track_record import PAGE, figures, replaced

ANSWER = {
    "protocol": "ack_all",
    "seeds": 1_000,
    "seconds": 20.0,
    "simulated_us": 7_200_000_000,
    "happened": {"broadcasts": 30_000, "crashes": 12},
    "drawn": {"crash": 400},
    "violations": [
        {"seed": 7, "violated": "fifo: why", "known": []},
        {"seed": 8, "violated": "fifo: why", "known": ["a cause"]},
    ],
}


def test_figures_are_told_with_what_repeats_a_violation() -> None:
    text = figures([ANSWER, {**ANSWER, "protocol": "lamport", "violations": []}], "0..1000", 2)
    assert "**2,000 seeds, 4 simulated hours, 50.0 seeds a second; 2 seeds failed, 1 of them by a known cause**" in text
    assert "| ack_all | 1,000 | 2.0 | 50.0 | 1 | 1 |" in text and "| lamport | 1,000 | 2.0 | 50.0 | 0 | 0 |" in text
    assert "60,000 broadcasts, 24 crashes" in text and "800 crash" in text
    assert "`tocsin swarm ack_all --seeds 7`" in text and "--seeds 8`" not in text


def test_only_the_marked_lines_of_a_page_change() -> None:
    page = PAGE.read_text()
    changed = replaced(page, "figures", "new\n")
    assert changed != page and "\nnew\n" in changed
    assert replaced(changed, "figures", "other\n") == replaced(page, "figures", "other\n")
    with pytest.raises(SystemExit):
        replaced("no marks", "figures", "new\n")
