"""`tocsin explore SCENARIO`: every order of events of a small scenario."""

import argparse
import json
from pathlib import Path
from typing import Any

from tocsin.cli.progress import Bar
from tocsin.core.errors import InputError
from tocsin.sim.explore.exploration import Exploration, Limits, tell_violation
from tocsin.sim.explore.search import explore
from tocsin.sim.scenario import load_scenario

SITES_MAX = 4

EXAMPLES = """\
example:
  tocsin explore examples/explore.toml --losses 2 --crashes 1

The scenario's sites (up to 4), options, workload (a few messages, broadcast at any point), faults (in their order, at
any point) and duration_us (how long the protocol has to put things right after the last disturbance) count; its
network's delays and probabilities do not: every order is visited.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("scenario", type=Path, help="a scenario file (docs/formats.md)")
    parser.add_argument("--losses", type=int, default=0, metavar="K", help="messages lost, at any point (default 0)")
    parser.add_argument(
        "--crashes", type=int, default=0, metavar="C", help="crashes, at any point, with or without return"
    )
    parser.add_argument(
        "--recoveries", type=int, metavar="R", help="how often sites come back in all (default: always)"
    )
    parser.add_argument(
        "--late-recoveries", action="store_true", help="a site comes back only when nothing is in flight"
    )
    parser.add_argument(
        "--prompt-detector", action="store_true", help="a perfect detector (network.detect_us) tells everybody at once"
    )
    parser.add_argument("--early", type=int, default=0, metavar="E", help="timers that fire before their time")
    parser.add_argument("--repeats", type=int, default=0, metavar="D", help="messages that arrive twice")
    parser.add_argument("--states", type=int, default=5_000_000, metavar="N", help="give up after so many states")
    parser.add_argument("--seed", type=int, default=0, help="of the machines' own random numbers")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    scenario = load_scenario(arguments.scenario)
    if len(scenario.names) > SITES_MAX:
        raise InputError(f"{arguments.scenario}: `sites`: expected at most {SITES_MAX}, found {len(scenario.names)}")
    for name in ("losses", "crashes", "recoveries", "early", "repeats"):
        if (getattr(arguments, name) or 0) < 0:
            raise InputError(f"--{name}: expected 0 or more, found {getattr(arguments, name)}")
    limits = Limits(
        losses=arguments.losses,
        crashes=arguments.crashes,
        recoveries=arguments.recoveries,
        late_recoveries=arguments.late_recoveries,
        prompt_detector=arguments.prompt_detector,
        early=arguments.early,
        repeats=arguments.repeats,
        states_max=arguments.states,
        seed=arguments.seed,
    )
    with Bar("exploring", 1.0) as bar:
        found = explore(scenario, limits, lambda done, known: bar.show(done / known, f"{known:,} states"))
    story = tell_violation(scenario, found.violation, limits.seed) if found.violation is not None else None
    if arguments.json:
        print(json.dumps(_json(found, story)))
    else:
        _print(found, story)
    return 0 if found.violation is None and found.finished else 1


def _json(found: Exploration, story: str | None) -> dict[str, Any]:
    return {
        "states": found.states,
        "local_states": found.local_states,
        "transitions": found.transitions,
        "ends": found.ends,
        "executions": found.executions,
        "finished": found.finished,
        "violation": found.violation.why if found.violation is not None else None,
        "transcript": story,
    }


def _print(found: Exploration, story: str | None) -> None:
    print(f"{found.states:,} states ({found.local_states:,} of single sites), {found.transitions:,} transitions")
    if found.executions is not None:
        print(f"{found.executions:,} different executions, {found.ends:,} different ends")
    if story is not None and found.violation is not None:
        print(f"VIOLATED after {len(found.violation.steps)} steps, the fewest there are:\n\n{story}")
    elif found.finished:
        print("finished: every order was visited, and every promise kept in each")
    else:
        print("NOT finished: the limit of states was reached (--states); no violation up to there")
