"""Running a scenario to its end, and the answer of `tocsin simulate` (docs/formats.md)."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tocsin.properties import Report, check
from tocsin.sim import faults
from tocsin.sim.calm import calm_at_end
from tocsin.sim.duties.duties import Duties, Duty
from tocsin.sim.scenario import Scenario
from tocsin.sim.simulation import Simulation
from tocsin.sim.world import Tally, TraceSink
from tocsin.traces.buffer import TraceBuffer
from tocsin.traces.calm import Calm
from tocsin.traces.rows import Row

SLICE_EVENTS = 50_000  # between two looks at the clock, the progress bar and Ctrl-C


def run_to_end(simulation: Simulation, duration_us: int, watch: Callable[[Simulation], None] | None = None) -> None:
    """Start and run until the end; `watch` is called now and then (a progress bar, a time limit)."""
    simulation.start()
    while simulation.run(duration_us, SLICE_EVENTS):
        if watch is not None:
            watch(simulation)


def simulate(scenario: Scenario, seed: int, run: str = "simulation") -> tuple[dict[str, Any], Report]:
    """A whole run in memory: the answer and the report that its verdicts come from."""
    trace = TraceBuffer(run, scenario.names)
    simulation = scenario.build(seed, trace)
    duties = Duties(scenario, simulation)
    run_to_end(simulation, scenario.config.duration_us)
    report = check_rows(scenario, trace.rows(), calm=calm_at_end(scenario, simulation))
    result = answer(scenario, seed, simulation, report)
    add_duties(result, duties.judge(scenario.config.duration_us))
    return result, report


def check_rows(
    scenario: Scenario, rows: Iterable[Row], properties: Iterable[str] | None = None, calm: Calm | None = None
) -> Report:
    """The verdicts (all, or those named) over a simulated run: one clock, and the scenario's groups. `calm`: what the
    run knows of its end (`calm_at_end`)."""
    return check(rows, named_groups(scenario), one_clock=True, properties=properties, calm=calm)


def check_file(scenario: Scenario, trace: Path) -> Report:
    """The same over a run that was written to a file, which says itself how the run ended."""
    return check(trace, named_groups(scenario), one_clock=True)


def named_groups(scenario: Scenario) -> dict[str, list[str]]:
    """By name of a group: the names of its members at the start."""
    return {
        name: [scenario.names[site] for site in members]
        for name, members in zip(scenario.group_names, scenario.groups, strict=False)
    }


def answer(scenario: Scenario, seed: int, simulation: Simulation, report: Report) -> dict[str, Any]:
    """The numbers of a finished run."""
    tally = simulation.world.tally
    network = simulation.world.network
    assert network is not None
    messages = {"sends": _sorted(tally.sends), "multicasts": _sorted(tally.multicasts)}
    control = sum(count for counts in messages.values() for kind, count in counts.items() if kind != "data")
    result: dict[str, Any] = {
        "protocol": scenario.protocol.name,
        "seed": seed,
        "sites": len(scenario.names),
        "simulated_us": simulation.kernel.now,
        "broadcasts": tally.broadcasts,
        "deliveries": tally.deliveries,
        **messages,
        "control_per_broadcast": control / tally.broadcasts if tally.broadcasts else 0.0,
        "delay_us": _delays(tally),
        "load": {name: simulation.world.sites[site].handled for site, name in enumerate(scenario.names)},
        "verdicts": {name: verdict.verdict for name, verdict in report.properties.items()},
        "left": _left(simulation),
        "happened": {
            "drops": _sorted(tally.drops),
            "duplicates": network.carrier.duplicated,
            "held_up": network.carrier.held_up,
            "crashes": tally.crashes,
            "recoveries": tally.recoveries,
            "partitions": tally.partitions,
            "pauses": tally.pauses,
            "views": tally.views,
            "rollbacks": tally.rollbacks,
            "missed": tally.missed,
            **{kind: tally.faults.get(kind, 0) for kind in faults.COUNTED},
        },
    }
    if network.links is not None and network.links.traffic:
        result["link_traffic"] = network.links.named_traffic()
    return result


def _left(simulation: Simulation) -> dict[str, Any]:
    """What was not done when the run ended: something, if its time limit or a person has cut it off, or if nobody was
    up to do it."""
    workload = simulation.workload
    return {
        "broadcasts": workload.remaining if workload is not None else 0,
        "faults": simulation.faults_left,
        "busy": not simulation.world.all_quiet(),
    }


def add_duties(result: dict[str, Any], duties: dict[str, Duty]) -> None:
    """The verdict on each duty; and why, of those that were not kept or are not checkable."""
    result["duties"] = {name: duty.verdict for name, duty in duties.items()}
    result["duties_why"] = {name: duty.why for name, duty in duties.items() if duty.why is not None}


def _sorted(counts: dict[str, int]) -> dict[str, int]:
    return {kind: counts[kind] for kind in sorted(counts)}


def _delays(tally: Tally) -> dict[str, float | int | None]:
    """Broadcast to last delivery, over the messages that were delivered somewhere."""
    delays = sorted(at - tally.broadcast_at[message] for message, at in tally.delivered_at.items())
    if not delays:
        return {"mean": None, "p50": None, "p99": None, "max": None}
    count = len(delays)
    return {
        "mean": sum(delays) / count,
        "p50": delays[(count - 1) // 2],
        "p99": delays[-(-99 * count // 100) - 1],
        "max": delays[-1],
    }


def without_trace(scenario: Scenario, seed: int, sink: TraceSink | None = None) -> Simulation:
    """A run that only counts: for experiments that look at numbers, not at verdicts."""
    simulation = scenario.build(seed, sink)
    run_to_end(simulation, scenario.config.duration_us)
    return simulation
