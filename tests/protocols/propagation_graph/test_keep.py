"""Non-atomic: what is kept for a site that is away has a limit. Beyond it the site is told what it missed."""

from pathlib import Path
from typing import Any

import pytest

from tests.mutation import mutated
from tocsin.core.config import decode_config
from tocsin.core.effects import Deliver, Missed
from tocsin.protocols.propagation_graph import PROTOCOL
from tocsin.protocols.propagation_graph.machine import PropagationGraph
from tocsin.protocols.propagation_graph.messages import Decided, Decision, Entry, Gone, Supply
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.protocol import Protocol
from tocsin.sim import manual_site
from tocsin.sim.manual_site import Input, ManualSite
from tocsin.sim.run import check_rows, run_to_end
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.simulation import Simulation
from tocsin.sim.swarm.swarm import first_violation
from tocsin.traces.buffer import TraceBuffer
from tocsin.traces.rows import Row

GROUPS = {"alpha": ["a", "b", "c", "d", "e"], "beta": ["c", "d", "e"], "gamma": ["a", "b"]}
ORDER = ("integrity", "fifo", "single_source", "multiple_source", "multiple_group", "acyclic")
KEEP = 40
BACKLOG = 100


def away(seed: int, faults: list[dict[str, Any]], keep: int) -> dict[str, Any]:
    return {
        "protocol": "propagation_graph",
        "sites": list("abcde"),
        "groups": GROUPS,
        "options": {"failures": "non_atomic", "keep": keep, "backlog": BACKLOG, "null_us": 20_000, "suspect_after": 3},
        "duration_us": 12_000_000,
        "workload": {"messages": 600, "every_us": 50_000},
        "network": {"delay_us": [500, 5_000], "loss": 0.05},
        "disk": {"sync_us": 300 if seed % 2 else 0},
        "faults": faults,
    }


def ran(document: dict[str, Any], seed: int, protocol: Protocol = PROTOCOL) -> tuple[Simulation, list[Row], str | None]:
    config = decode_config(document, ScenarioConfig, "away")
    scenario = Scenario(config, "away", Path(), protocol)
    trace = TraceBuffer("away", scenario.names)
    simulation = scenario.build(seed, trace)
    run_to_end(simulation, config.duration_us)
    return simulation, list(trace.rows()), first_violation(check_rows(scenario, trace.rows(), ORDER))


def machine(simulation: Simulation, site: int) -> PropagationGraph:
    found = simulation.world.sites[site].machine
    assert isinstance(found, PropagationGraph)
    return found


def kept(simulation: Simulation, site: int) -> int:
    """Messages that a site keeps for those that are away."""
    history = machine(simulation, site)._passing.history
    assert history is not None
    return history.count()


def delivered(rows: list[Row], site: str, group: str) -> list[tuple[str | None, int | None]]:
    """What a site delivered in a group, net of rollbacks."""
    found: list[tuple[str | None, int | None]] = []
    for row in rows:
        if row.site == site and row.group == group and row.event == "deliver":
            found.append((row.origin, row.seqno))
        elif row.site == site and row.group == group and row.event == "rollback":
            found.remove((row.origin, row.seqno))
    return found


ONE_LONG_ABSENCE = [{"at_us": 500_000, "crash": ["c"]}, {"at_us": 4_000_000, "recover": ["c"]}]
SEVERAL_GRAPHS = [
    {"at_us": 500_000, "crash": ["c"]},
    {"at_us": 1_500_000, "crash": ["b"]},
    {"at_us": 1_700_000, "recover": ["b"]},
    {"at_us": 3_000_000, "pause": ["a"]},
    {"at_us": 3_200_000, "resume": ["a"]},
    {"at_us": 4_000_000, "recover": ["c"]},
]


@pytest.mark.parametrize("faults", [ONE_LONG_ABSENCE, SEVERAL_GRAPHS], ids=["one graph", "several graphs"])
@pytest.mark.parametrize("seed", range(4))
def test_who_was_away_for_too_long_is_told_what_it_missed(faults: list[dict[str, Any]], seed: int) -> None:
    """c has a beginning and an end of what d, of the same groups, has; just as many as it was told are not there."""
    simulation, rows, violated = ran(away(seed, faults, KEEP), seed)
    assert violated is None
    assert simulation.world.all_quiet()
    missed = simulation.world.tally.missed
    assert missed > 0
    lacking = 0
    for group in ("alpha", "beta"):
        there = delivered(rows, "d", group)
        here = delivered(rows, "c", group)
        assert set(here) <= set(there) and here[-1] == there[-1]
        lacking += len(there) - len(here)
    assert lacking == missed
    assert all(kept(simulation, site) <= KEEP + BACKLOG for site in range(5))


def test_what_is_kept_stays_below_the_limit_while_a_site_is_away() -> None:
    simulation, _, _ = ran(away(0, [{"at_us": 500_000, "crash": ["c"]}], KEEP), 0)
    for site in (0, 1, 3, 4):
        assert KEEP <= kept(simulation, site) <= KEEP + BACKLOG
        assert machine(simulation, site)._passing.graphs.decision().away == (2,)


def test_who_was_away_for_less_misses_nothing() -> None:
    simulation, _, violated = ran(away(1, ONE_LONG_ABSENCE, 2_000), 1)
    assert violated is None and simulation.world.all_quiet() and simulation.world.tally.missed == 0


def test_checkpoints_remember_what_is_gone() -> None:
    """Every site restarts from a checkpoint before c is back."""
    faults = [
        {"at_us": 500_000, "crash": ["c"]},
        *({"at_us": 4_000_000 + 100_000 * place, "crash": [name]} for place, name in enumerate("abde")),
        *({"at_us": 4_050_000 + 100_000 * place, "recover": [name]} for place, name in enumerate("abde")),
        {"at_us": 6_000_000, "recover": ["c"]},
    ]
    document = away(0, sorted(faults, key=lambda fault: int(str(fault["at_us"]))), KEEP)
    document["options"]["records_max"] = 8
    simulation, _, violated = ran(document, 0)
    assert violated is None and simulation.world.all_quiet() and simulation.world.tally.missed > 0


BUGS = [
    (
        "who is back is not told how far the sources are",
        "votes",
        "if [site for site in present.groups[group] if site in present.away and site in reporters]:",
        "if [site for site in present.groups[group] if site in reporters and site < 0]:",
    ),
    (
        "what is gone is waited for",
        "fetching",
        "if len(refused) < len(holders) and self._rounds < len(holders):",
        "if refused:",
    ),
    (
        "what somebody present lacks is let go",
        "history",
        "if needed is not None and needed.graph == record.graph and needed.key <= record.key:",
        "if needed is not None and needed.graph < 0:",
    ),
]


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug[0])
def test_planted_bugs_are_caught(bug: tuple[str, str, str, str]) -> None:
    """The run ends with somebody waiting for ever, or missing something although it was never away."""
    _, module, old, new = bug
    mutant = mutated(PROTOCOL, f"tocsin.protocols.propagation_graph.{module}", old, new)
    assert any(goes_wrong(mutant, seed) for seed in range(4))


def goes_wrong(protocol: Protocol, seed: int) -> bool:
    try:
        simulation, rows, violated = ran(away(seed, ONE_LONG_ABSENCE, 1), seed, protocol)
    except AssertionError:
        return True
    others = [len(delivered(rows, site, "alpha")) for site in "abde"]  # they were never away
    return violated is not None or len(set(others)) > 1 or not simulation.world.all_quiet()


def test_without_a_bug_nothing_goes_wrong() -> None:
    assert not any(goes_wrong(PROTOCOL, seed) for seed in range(4))


def test_what_comes_after_it_was_given_up_is_too_late() -> None:
    """Everybody says that the first two are gone. A late copy of them changes nothing: the application was told."""
    decided = Decision(1, ((0, 1, 2, 3, 4),), (), (2,), (3,))
    site = ManualSite(
        2, PROTOCOL, PropagationGraphOptions(failures="non_atomic"), 5, list(range(5)), [[0, 1, 2, 3, 4]], None, 0
    )
    site.apply(Input(manual_site.START, 0))
    entries = [Entry(0, seqno, seqno, (5, 0, seqno), b"") for seqno in range(3)]
    told: list[tuple[str, int, int]] = []
    for source, message in [
        (0, Decided(decided)),
        *((holder, Gone(0, 0, 2)) for holder in (0, 1, 3, 4)),
        (0, Supply(0, 0, 0, tuple(entries[:2]))),
        (1, Supply(0, 0, 2, tuple(entries[2:]))),
    ]:
        happening = Input(manual_site.RECEIVE, 1_000)
        happening.peer = source
        happening.message = message
        for effect in site.apply(happening):
            if isinstance(effect, Missed):
                told.append(("missed", effect.first, effect.count))
            elif isinstance(effect, Deliver):
                told.append(("deliver", effect.seqno, 0))
    assert told == [("missed", 0, 2), ("deliver", 2, 0)]
    assert site.disk.first(0) == 2 and site.disk.end(0) == 3
