"""`tocsin simulate SCENARIO`: run it, say what happened, keep the trace if asked."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tocsin.cli.progress import Bar
from tocsin.cli.tables import output, print_line
from tocsin.cli.verdicts import print_verdicts
from tocsin.core.errors import InputError
from tocsin.core.files import name_of_file
from tocsin.properties import FAIL, Report
from tocsin.sim import faults
from tocsin.sim.beyond import refuse_beyond
from tocsin.sim.calm import calm_at_end
from tocsin.sim.duties.duties import Duties, neglected
from tocsin.sim.run import SLICE_EVENTS, add_duties, answer, check_file, check_rows
from tocsin.sim.scenario import Scenario, load_scenario
from tocsin.sim.simulation import Simulation
from tocsin.traces.buffer import TraceBuffer
from tocsin.traces.writer import TraceWriter

EXAMPLES = """\
examples:
  tocsin simulate examples/showcase.toml
  tocsin simulate examples/showcase.toml --seed 7 --json | jq .delay_us
  tocsin simulate examples/showcase.toml --trace out && tocsin check out

The same file and seed give the same bytes, answer and trace, on any machine.
exit code: 0, or 1 when a property fails that the protocol promises, or a duty; the others are shown without alarm
"""

RARE = {  # faults, in the words for people
    faults.TEAR: "torn tails of disks",
    faults.WIPE: "disks emptied",
    faults.RESTORE: "disks set back",
    faults.DAMAGE: "disks damaged",
    faults.DEAD: "dead links",
    faults.SLOW: "slow sites",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("scenario", type=Path, help="a scenario file (docs/formats.md)")
    parser.add_argument("--seed", type=int, default=0, help="of every random number in the run (default 0)")
    parser.add_argument("--trace", type=Path, metavar="DIR", help="write the trace to DIR/trace.parquet")
    parser.add_argument(
        "--beyond-assumptions", action="store_true", help="also run faults that the protocol does not claim to stand"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    scenario = load_scenario(arguments.scenario)
    if not arguments.beyond_assumptions:
        refuse_beyond(scenario, "--beyond-assumptions runs it all the same")
    run_name = f"{name_of_file(arguments.scenario)}-{arguments.seed}"
    if arguments.trace is None:
        buffer = TraceBuffer(run_name, scenario.names)
        simulation = scenario.build(arguments.seed, buffer)
        duties = Duties(scenario, simulation)
        whole = _run(scenario, simulation)
        calm = calm_at_end(scenario, simulation) if whole else None
        report = check_rows(scenario, buffer.rows(), calm=calm) if whole else _no_verdicts(scenario)
    else:
        path = _prepare(arguments.trace)
        with TraceWriter(path, run_name, scenario.names, one_clock=True) as writer:
            simulation = scenario.build(arguments.seed, writer)
            duties = Duties(scenario, simulation)
            whole = _run(scenario, simulation)
            writer.calm = calm_at_end(scenario, simulation) if whole else None
        report = check_file(scenario, path) if whole else _no_verdicts(scenario)
    result = answer(scenario, arguments.seed, simulation, report)
    kept = duties.judge(scenario.config.duration_us) if whole else {}
    add_duties(result, kept)
    if arguments.json:
        print(json.dumps(result))
    else:
        _print(result, report, scenario, whole)
        if arguments.trace is not None:
            print(f"trace: {path}")
    if not whole:
        print("tocsin simulate: interrupted: the answer and the trace end there", file=sys.stderr)
        return 130
    broken = [name for name in scenario.promised() if report.properties[name].verdict == FAIL]
    return 1 if broken or neglected(kept) else 0


def _no_verdicts(scenario: Scenario) -> Report:
    """Of a run that was cut off: what it owed was not yet due, and Ctrl-C should not wait for the rest."""
    return check_rows(scenario, (), properties=())


def _prepare(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made a folder: {(error.strerror or str(error)).lower()}") from None
    return folder / "trace.parquet"


def _run(scenario: Scenario, simulation: Simulation) -> bool:
    """Run to the end; False if a person interrupted, with everything up to there kept."""
    duration_us = scenario.config.duration_us
    wanted = max(1, scenario.config.workload.messages)
    with Bar("simulating", 1.0) as bar:
        try:
            simulation.start()
            while simulation.run(duration_us, SLICE_EVENTS):
                workload = simulation.workload
                left = workload.remaining if workload is not None else 0
                done = max(simulation.kernel.now / duration_us, 1.0 - left / wanted - 0.01)
                bar.show(done, f"{simulation.kernel.fired:,} events")
        except KeyboardInterrupt:
            return False
    return True


def _print(result: dict[str, Any], report: Report, scenario: Scenario, whole: bool) -> None:
    """What happened, for people."""
    happened = result["happened"]
    console = output()
    print_line(
        console,
        f"{result['protocol']}, {result['sites']} sites, seed {result['seed']}: "
        f"{result['broadcasts']} broadcasts, {result['deliveries']} deliveries "
        f"in {result['simulated_us'] / 1e6:.3f} simulated seconds",
    )
    lost = sum(happened["drops"].values())
    things = [(lost, "messages lost"), (happened["duplicates"], "duplicated")]
    things += [(happened[what], what) for what in ("crashes", "recoveries", "partitions", "views", "rollbacks")]
    things += [(happened[what], words) for what, words in RARE.items()]
    said = [f"{count} {what}" for count, what in things if count]
    print_line(console, "what went wrong: " + (", ".join(said + _cut_off(result, scenario, whole)) or "nothing"))
    counts = {kind: result["sends"].get(kind, 0) + result["multicasts"].get(kind, 0) for kind in _kinds(result)}
    print_line(console, "messages: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))
    delay = result["delay_us"]
    if delay["mean"] is not None:
        print_line(
            console,
            f"broadcast to last delivery: mean {delay['mean'] / 1e3:.1f} ms, median {delay['p50'] / 1e3:.1f} ms, "
            f"99 % {delay['p99'] / 1e3:.1f} ms, longest {delay['max'] / 1e3:.1f} ms",
        )
    if report.properties:
        print_verdicts(console, report, scenario.promised())
    for name, verdict in result["duties"].items():
        why = result["duties_why"].get(name)
        print_line(console, f"duty {name}: {verdict}{f': {why}' if why else ''}")


def _cut_off(result: dict[str, Any], scenario: Scenario, whole: bool) -> list[str]:
    """That a run ended before its work was done, by its time limit or a person, and what of it was not."""
    left = result["left"]
    wanted = scenario.config.workload.messages
    undone = [f"{left['broadcasts']} of {wanted} broadcasts not made"] if left["broadcasts"] else []
    undone += [f"{left['faults']} faults that did not happen"] if left["faults"] else []
    undone += ["a group still at work"] if left["busy"] else []
    by = "duration_us" if whole else "Ctrl-C"
    return [f"cut off by {by} with {' and '.join(undone)}"] if undone else []


def _kinds(result: dict[str, Any]) -> list[str]:
    return sorted({*result["sends"], *result["multicasts"]})
