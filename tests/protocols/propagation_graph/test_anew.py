"""Disks that are lost, older or damaged: the kept scenarios hold (tests/swarm), and planted bugs are caught in them."""

from pathlib import Path

import pytest

from tests.mutation import mutated
from tests.swarm.test_seeds import HERE as SWARM
from tocsin.core.files import read_document
from tocsin.protocols.propagation_graph import PROTOCOL
from tocsin.sim.swarm.swarm import run_document

HERE = "tocsin.protocols.propagation_graph."
LOST = (2, 4, 5, 6, 7, 9)  # 5 and 7: non-atomic

BUGS = {
    "places begin at 0 again": ("outlets", "self.start = setup.first_seqno ", "self.start = 0 "),
    "children wait for the Close of a parent that has forgotten them": (
        "atomic",
        "return incarnation_of(self._graphs.newest, parent) > incarnation_of(self._graphs.decision(), parent)",
        "return False",
    ),
    "nobody is told what was missed": ("anew", "found.append((group, max(ends)))", "found.append((group, 0))"),
    "nobody makes a graph in which it begins": ("wishes", "        self.anew[site] = incarnation\n", ""),
    "a primary destination waits for the places before": (
        "primary",
        "        self._places.raise_to(submit.group, source, submit.floor)\n",
        "",
    ),
}


def kept(seed: int) -> Path:
    return SWARM / "kept" / f"propagation_graph-{seed}.json"


@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_caught(name: str) -> None:
    module, old, new = BUGS[name]
    mutant = mutated(PROTOCOL, HERE + module, old, new)
    assert any(run_document(mutant, read_document(kept(seed)), seed).violated for seed in LOST)


@pytest.mark.parametrize("seed", LOST)
def test_what_was_missed_is_told(seed: int) -> None:
    outcome = run_document(PROTOCOL, read_document(kept(seed)), seed)
    assert outcome.violated is None and outcome.happened["missed"] > 0
