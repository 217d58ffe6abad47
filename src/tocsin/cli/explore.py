"""`tocsin explore SCENARIO`: every order of events of a small scenario."""

import argparse
import json
from pathlib import Path
from typing import Any

from tocsin.cli.progress import Bar
from tocsin.core.errors import InputError
from tocsin.protocols.protocol import Assumptions
from tocsin.sim.beyond import first_beyond
from tocsin.sim.explore.exploration import Exploration, Limits
from tocsin.sim.explore.search import explore
from tocsin.sim.explore.telling import tell_violation
from tocsin.sim.scenario import Scenario, load_scenario

SITES_MAX = 4

EXAMPLES = """\
example:
  tocsin explore examples/explore.toml --losses 2 --crashes 1

The scenario's sites (up to 4), options, workload (a few messages, broadcast at any point), faults (in their order, at
any point) and duration_us (how long the protocol has to put things right after the last disturbance) count; its
network's delays and probabilities do not: every order is visited. Every state must have a way to a settled one.
"""
BUDGETS = {  # option: placeholder, what there may be so many of
    "losses": ("K", "messages lost, at any point (default 0)"),
    "crashes": ("C", "crashes, at any point, with or without return"),
    "recoveries": ("R", "how often sites come back in all (default: always)"),
    "wipes": ("W", "disks that are lost, of sites that are down or then go down"),
    "restores": ("S", "disks that are as they once were, at any earlier point"),
    "leaves": ("L", "sites that are asked to leave, at any point"),
    "returns": ("R", "how often sites that left come back in all (default: always)"),
    "dead-links": ("N", "links that die, one way or both, while everyone reaches everyone through others"),
    "early": ("E", "timers that fire before their time"),
    "repeats": ("D", "messages that arrive twice"),
}
WITHOUT_LIMIT = ("recoveries", "returns")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("scenario", type=Path, help="a scenario file (docs/formats.md)")
    for name, (placeholder, text) in BUDGETS.items():
        default = None if name in WITHOUT_LIMIT else 0
        parser.add_argument(f"--{name}", type=int, default=default, metavar=placeholder, help=text)
    parser.add_argument(
        "--late-recoveries", action="store_true", help="a site comes back only when nothing is in flight"
    )
    parser.add_argument(
        "--late-faults", action="store_true", help="the scenario's faults happen only when nothing is in flight"
    )
    parser.add_argument(
        "--prompt-detector", action="store_true", help="a perfect detector (network.detect_us) tells everybody at once"
    )
    parser.add_argument(
        "--beyond-assumptions", action="store_true", help="also what the protocol does not claim to stand"
    )
    parser.add_argument(
        "--safety-only", action="store_true", help="do not ask that every state has a way to a settled one"
    )
    parser.add_argument(
        "--continuations",
        type=int,
        default=200,
        metavar="N",
        help="states that are run on without faults (default 200)",
    )
    parser.add_argument("--states", type=int, default=5_000_000, metavar="N", help="give up after so many states")
    parser.add_argument("--seed", type=int, default=0, help="of the machines' own random numbers")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    scenario = load_scenario(arguments.scenario)
    if len(scenario.names) > SITES_MAX:
        raise InputError(f"{arguments.scenario}: `sites`: expected at most {SITES_MAX}, found {len(scenario.names)}")
    given = {name: getattr(arguments, name.replace("-", "_")) for name in (*BUDGETS, "continuations")}
    for name, value in given.items():
        if (value or 0) < 0:
            raise InputError(f"--{name}: expected 0 or more, found {value}")
    if arguments.states < 1:
        raise InputError(f"--states: expected 1 or more, found {arguments.states}")
    if not arguments.beyond_assumptions:
        _refuse_what_is_beyond(scenario, given)
    limits = Limits(
        **{name.replace("-", "_"): value for name, value in given.items()},
        late_recoveries=arguments.late_recoveries,
        late_faults=arguments.late_faults,
        prompt_detector=arguments.prompt_detector,
        liveness=not arguments.safety_only,
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


def _refuse_what_is_beyond(scenario: Scenario, given: dict[str, int | None]) -> None:
    assume = scenario.protocol.assumptions
    key = first_beyond(scenario.config, assume)
    where = f"{scenario.source}: `{key}`" if key else _first_budget_beyond(given, assume)
    if where:
        raise InputError(
            f"{where}: a fault outside the assumptions of `{scenario.protocol.name}`; "
            "--beyond-assumptions explores it all the same"
        )


def _first_budget_beyond(given: dict[str, int | None], assume: Assumptions) -> str:
    stands = {
        "crashes": assume.crashes != "none",
        "wipes": assume.wipes,
        "restores": assume.restores,
        "leaves": assume.leaves,
        "dead-links": assume.dead_links,
        "repeats": assume.duplication,
    }
    for name, stood in stands.items():
        if given[name] and not stood:
            return f"--{name}"
    returns = given["returns"] is None or given["returns"] > 0
    return "--returns" if given["leaves"] and returns and not assume.returns else ""


def _json(found: Exploration, story: str | None) -> dict[str, Any]:
    return {
        "states": found.states,
        "stands_for": found.stands_for,
        "local_states": found.local_states,
        "transitions": found.transitions,
        "ends": found.ends,
        "executions": found.executions,
        "finished": found.finished,
        "settled": found.settled,
        "continued": found.continued,
        "unknown": found.unknown,
        "violation": found.violation.why if found.violation is not None else None,
        "transcript": story,
    }


def _print(found: Exploration, story: str | None) -> None:
    print(f"{found.states:,} states ({found.local_states:,} of single sites), {found.transitions:,} transitions")
    if found.executions is not None:
        print(f"{found.executions:,} different executions, {found.ends:,} different ends")
    if story is not None and found.violation is not None:
        fewest = ", the fewest there are" if found.violation.fewest else ""
        print(f"VIOLATED after {len(found.violation.steps)} steps{fewest}:\n\n{story}")
        return
    if found.continued:
        print(f"{found.settled:,} settled states; {found.continued:,} states were run on without faults, and settled")
    if found.unknown:
        print(f"of {found.unknown:,} states it is not known whether they settle: the search was cut off behind them")
    if found.finished:
        print("finished: every order was visited, and every promise kept in each")
    else:
        print("NOT finished: the limit of states was reached (--states); no violation up to there")
