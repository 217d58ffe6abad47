"""The swarm: many random scenarios inside a protocol's assumptions, each checked for everything the protocol promises.

A seed's scenario comes from `draw.py`; the same seed is the same run, for ever. A violation is shrunk to a small
scenario that still shows it. `cli/swarm.py` spreads the seeds over the cores.
"""

from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from tocsin.core.config import decode_config
from tocsin.core.errors import TocsinError
from tocsin.properties import FAIL, Report
from tocsin.properties.plain.check import check_rows
from tocsin.protocols.protocol import Protocol
from tocsin.sim.calm import calm_at_end
from tocsin.sim.duties.duties import Duties, Duty, first_unknown, neglected
from tocsin.sim.faults import COUNTED
from tocsin.sim.run import SLICE_EVENTS, named_groups, run_to_end
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.simulation import Simulation
from tocsin.sim.swarm.draw import draw
from tocsin.sim.swarm.kinds import EARLIER, SPECIAL, stood_by
from tocsin.sim.swarm.plan import Document
from tocsin.traces.buffer import TraceBuffer

SHRINK_RUNS_MAX = 300
ENDS = ("heal", "calm", "recover", "resume", "quick", "repair")  # of faults: without them a scenario is another one
ENOUGH_SEEDS = 400  # in a swarm of so many, every intended fault must have happened
IDLE_EVERY = 4  # of so many seeds, one goes on after its end, to see what an idle group does

_SHORT = Path()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a seed's run came to."""

    seed: int
    violated: str | None  # "property: why", or what the code raised
    simulated_us: int = 0
    happened: dict[str, int]  # what did go wrong, in numbers
    drawn: tuple[str, ...] = ()  # the kinds of things that its scenario has (`kinds.py`)
    neglected: list[str] = []  # duties that were not kept, those known of this protocol too


def run_document(protocol: Protocol, document: Document, seed: int) -> Outcome:
    """Run a drawn scenario with every message through the codec, and check what the protocol promises."""
    config = decode_config(document, ScenarioConfig, "swarm")
    scenario = Scenario(config, "swarm", _SHORT, protocol)
    trace = TraceBuffer("swarm", scenario.names)
    simulation = scenario.build(seed, trace)
    duties = Duties(scenario, simulation)
    kept: dict[str, Duty] = {}
    try:
        run_to_end(simulation, config.duration_us)
        ended_at = _finish(simulation, config.duration_us, protocol.liveness_us)
        report = check_rows(
            trace.rows(),
            named_groups(scenario),
            one_clock=True,
            properties=scenario.promised(),
            calm=calm_at_end(scenario, simulation),
        )
        kept = duties.judge(ended_at, watch_idle=seed % IDLE_EVERY == 0)
        violated = first_violation(report) or first_unknown(kept, protocol)
    except (AssertionError, LookupError, TypeError, ValueError, AttributeError, TocsinError) as error:
        violated = f"raised {type(error).__name__}: {error}"
    tally = simulation.world.tally
    network = simulation.world.network
    assert network is not None
    happened = {
        "broadcasts": tally.broadcasts,
        "deliveries": tally.deliveries,
        "losses": sum(tally.drops.values()),
        "duplicates": network.carrier.duplicated,
        "held_up": network.carrier.held_up,
        "crashes": tally.crashes,
        "recoveries": tally.recoveries,
        "partitions": tally.partitions,
        "pauses": tally.pauses,
        "views": tally.views,
        "rollbacks": tally.rollbacks,
        "missed": tally.missed,
        **{kind: count for kind in COUNTED if (count := tally.faults.get(kind, 0)) > 0},
    }
    return Outcome(
        seed=seed,
        violated=violated,
        simulated_us=simulation.kernel.now,
        happened=happened,
        neglected=neglected(kept),
    )


def _finish(simulation: Simulation, ended_at: int, liveness_us: int) -> int:
    """What was taken late (held back by flow control, say) has the protocol's bound from then on, too; the time limit
    in the end."""
    while simulation.world.tally.last_broadcast_at + liveness_us > ended_at:
        ended_at = simulation.world.tally.last_broadcast_at + liveness_us
        while simulation.run(ended_at, SLICE_EVENTS):
            pass
        if simulation.world.all_quiet():
            break
    return ended_at


def first_violation(report: Report) -> str | None:
    """The first property that failed, and why."""
    for name, verdict in report.properties.items():
        if verdict.verdict == FAIL:
            return f"{name}: {verdict.why}"
    return None


def run_seed(
    protocol: Protocol, seed: int, without: Collection[str] = (), only: Collection[str] | None = None
) -> Outcome:
    """Run a seed's scenario, without some kinds of things or with some only."""
    drawn = draw(protocol, seed, without, only)
    return msgspec.structs.replace(run_document(protocol, drawn.document, seed), drawn=drawn.kinds)


def first_failure(protocol: Protocol, seeds: range, only: Collection[str] | None = EARLIER) -> Outcome | None:
    """The first seed that violates something. Planted bugs are caught with it: in worlds that every protocol stands."""
    for seed in seeds:
        outcome = run_seed(protocol, seed, only=only)
        if outcome.violated is not None:
            return outcome
    return None


def add_up(outcomes: list[Outcome]) -> dict[str, int]:
    """What happened in all runs together."""
    total: dict[str, int] = {}
    for outcome in outcomes:
        for what, count in outcome.happened.items():
            total[what] = total.get(what, 0) + count
    return total


def count_kinds(outcomes: list[Outcome]) -> dict[str, int]:
    """How many scenarios had each kind of thing."""
    return dict(sorted(Counter(kind for outcome in outcomes for kind in outcome.drawn).items()))


def never_happened(protocol: Protocol, outcomes: list[Outcome], without: Collection[str] = ()) -> list[str]:
    """Intended things that no run of a large swarm had: such a swarm proves less than it says."""
    if len(outcomes) < ENOUGH_SEEDS:
        return []
    assume = protocol.assumptions
    intended = ["broadcasts", "deliveries", *protocol.expects]
    intended += ["losses"] if assume.loss_max > 0 else []
    intended += ["duplicates"] if assume.duplication else []
    intended += ["held_up"] if assume.reordering else []
    intended += ["crashes", "recoveries"] if assume.crashes != "none" else []
    intended += ["partitions"] if assume.partitions or assume.one_way_cuts else []
    intended += ["pauses"] if assume.pauses else []
    kinds = [kind for kind in stood_by(protocol) if kind not in without]
    intended += [what for kind in kinds if kind in SPECIAL for what in SPECIAL[kind].shows]
    happened = add_up(outcomes)
    drawn = count_kinds(outcomes)
    absent = [what for what in dict.fromkeys(intended) if happened.get(what, 0) == 0]
    return absent + [f"{kind} (never drawn)" for kind in kinds if drawn.get(kind, 0) == 0]


# Shrinking


def shrink(protocol: Protocol, document: Document, seed: int) -> Document:
    """A smaller scenario that violates the same property with the same seed."""
    wanted = _property(run_document(protocol, document, seed))
    runs = 0
    progress = True
    while progress and runs < SHRINK_RUNS_MAX:
        progress = False
        for smaller in _smaller(document):
            runs += 1
            if runs >= SHRINK_RUNS_MAX:
                break
            try:
                found = _property(run_document(protocol, smaller, seed))
            except TocsinError:
                continue  # not a scenario any more
            if found == wanted:
                document = smaller
                progress = True
                break
    return document


def _property(outcome: Outcome) -> str | None:
    return None if outcome.violated is None else outcome.violated.partition(":")[0]


def _smaller(document: Document) -> list[Document]:
    """Scenarios one step simpler, boldest first."""
    found: list[Document] = []
    faults: list[Any] = document["faults"]
    messages: int = document["workload"]["messages"]
    found += [
        _with(document, "workload", messages=less) for less in (1, messages // 2, messages - 1) if 0 < less < messages
    ]
    for index, fault in enumerate(faults):
        if not any(end in fault for end in ENDS):
            found.append({**document, "faults": faults[:index] + faults[index + 1 :]})
    for key in ("loss", "duplicate", "reorder"):
        if document["network"].get(key):
            found.append(_with(document, "network", **{key: 0.0}))
    if document["disk"]:
        found.append({**document, "disk": {}})
    if not isinstance(document["network"]["delay_us"], int):
        found.append(_with(document, "network", delay_us=1000))
    if isinstance(document.get("sites"), int) and document["sites"] > 2:
        found.append({**document, "sites": document["sites"] - 1})
    if "groups" in document:
        found.append({key: value for key, value in document.items() if key != "groups"})
    for option in document["options"]:
        fewer = {name: value for name, value in document["options"].items() if name != option}
        found.append({**document, "options": fewer})
    if document.get("clocks"):
        found.append({**document, "clocks": {}})
    if "senders" in document["workload"] and len(document["workload"]["senders"]) > 1:
        found.append(_with(document, "workload", senders=document["workload"]["senders"][:1]))
    return found


def _with(document: Document, part: str, **changes: Any) -> Document:
    return {**document, part: {**document[part], **changes}}
