"""P1 to P8 of the paper hold after every single event of simulated runs, and 2N(N-1) bounds what a broadcast costs."""

from pathlib import Path
from typing import Any

import pytest

from tests.protocols.tree_ack.invariants import Invariants
from tocsin.core.rng import Rng
from tocsin.sim.run import check_rows
from tocsin.sim.scenario import scenario_from_document
from tocsin.sim.swarm.swarm import first_violation
from tocsin.traces.buffer import TraceBuffer

BLOCKS = [0, *(pytest.param(block, marks=pytest.mark.long) for block in range(1, 16))]  # of 12 seeds each
EVENTS_MAX = 20_000  # a run that goes on for longer does not come to rest


def drawn(seed: int, crashes: bool, recover: bool) -> dict[str, Any]:
    """A small scenario with a perfect detector and links that lose nothing, as the paper assumes."""
    rng = Rng(seed).fork("invariants")
    sites = rng.between(2, 8)
    names = "abcdefgh"[:sites]
    faults: list[dict[str, Any]] = []
    for name in names:
        if crashes and rng.chance(0.4):
            at_us = rng.between(0, 60_000)
            faults.append({"at_us": at_us, "crash": [name]})
            if recover and rng.chance(0.7):
                faults.append({"at_us": at_us + rng.between(1, 40_000), "recover": [name]})
    return {
        "protocol": "tree_ack",
        "sites": sites,
        "duration_us": 3_000_000,
        "options": {
            "detector": "perfect",
            "shape": ("minimum", "chain", "bush")[rng.below(3)],
            "delay": rng.between(1, 4),
            "watch": ("sender", "root")[rng.below(2)],
            "window": rng.between(1, 3),
            "announce_us": (0, 30_000)[rng.below(2)],
            "resend_us": 400_000,
        },
        "workload": {"messages": rng.between(1, 8), "every_us": rng.between(1_000, 15_000)},
        "network": {"delay_us": [1_000, rng.between(1_000, 12_000)], "detect_us": rng.between(0, 20_000)},
        "faults": sorted(faults, key=lambda fault: int(fault["at_us"])),
    }


def watched(document: dict[str, Any], seed: int) -> Invariants:
    """Run it event by event, checking after each; then what the protocol promises."""
    scenario = scenario_from_document(document, "invariants", Path())
    trace = TraceBuffer("invariants", scenario.names)
    simulation = scenario.build(seed, trace)
    simulation.start()
    invariants = Invariants(simulation)
    for _ in range(EVENTS_MAX):
        if not invariants.step() or simulation.kernel.now > scenario.config.duration_us:
            break
    else:
        raise AssertionError("the run does not come to rest")
    report = check_rows(scenario, list(trace.rows()), scenario.protocol.guarantees)
    assert first_violation(report) is None, f"seed {seed}"
    return invariants


@pytest.mark.parametrize("block", BLOCKS)
def test_with_failures(block: int) -> None:
    """Failed processors stay down: all of P1 to P8, and at most 2N(N-1) messages and acknowledgements."""
    checked = taken_over = 0
    for seed in range(12 * block, 12 * (block + 1)):
        document = drawn(seed, crashes=True, recover=False)
        invariants = watched(document, seed)
        sites = document["sites"]
        assert max(invariants.sent.values(), default=0) <= 2 * sites * (sites - 1)
        checked += invariants.checked
        taken_over += invariants.taken_over
    assert checked > 500 and taken_over > 50


def test_without_failures_each_site_is_sent_a_message_once() -> None:
    for seed in range(15):
        document = drawn(seed, crashes=False, recover=False)
        invariants = watched(document, seed)
        assert invariants.in_doubt > 0
        assert set(invariants.sent.values()) == {2 * (document["sites"] - 1)}


@pytest.mark.parametrize("block", BLOCKS)
def test_with_restarts(block: int) -> None:
    """Sites come back: what the invariants say of the others still holds."""
    checked = 0
    for seed in range(12 * block, 12 * (block + 1)):
        checked += watched(drawn(seed, crashes=True, recover=True), seed).checked
    assert checked > 500
