"""`tocsin swarm PROTOCOL --seeds 0..1000`: random scenarios on all cores."""

import argparse
import json
import multiprocessing
import os
import re
import signal
import time
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path

from tocsin.cli.progress import Bar
from tocsin.cli.tables import output, print_line
from tocsin.core.config import suggestion
from tocsin.core.errors import InputError
from tocsin.core.files import write_whole
from tocsin.protocols.registry import find_protocol
from tocsin.sim.swarm.draw import draw_scenario
from tocsin.sim.swarm.kinds import KINDS
from tocsin.sim.swarm.swarm import Outcome, add_up, count_kinds, never_happened, run_seed, shrink

SEEDS_MAX = 1_000_000_000
CHUNK_SEEDS = 8  # seeds handed to a process at once
VIOLATIONS_SHOWN = 5
HOUR_US = 3_600_000_000

EXAMPLES = """\
examples:
  tocsin swarm ack_all --seeds 0..1000     a thousand seeds, 0 to 999
  tocsin swarm ack_all --seeds 17          one seed again
  tocsin swarm ack_all --only wipe,crash   nothing else goes wrong; --without wipe: everything else does
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("protocol", help="a protocol's name (tocsin protocols)")
    parser.add_argument(
        "--seeds", default="0..100", metavar="A..B", help="seeds A to B-1, or one seed (default 0..100)"
    )
    parser.add_argument("--only", metavar="KINDS", help="draw these kinds of things only, separated by commas")
    parser.add_argument("--without", metavar="KINDS", help="leave these kinds of things out")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: one for each core")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first violation")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    protocol = find_protocol(arguments.protocol, "swarm")
    seeds = parse_seeds(arguments.seeds)
    began = time.monotonic()
    if arguments.processes < 1:
        raise InputError(f"--processes: expected at least 1, found {arguments.processes}")
    kinds = Kinds(_kinds("--without", arguments.without) or [], _kinds("--only", arguments.only))
    outcomes = _run_all(arguments.protocol, seeds, kinds, arguments.processes, arguments.keep_going)
    seconds = time.monotonic() - began
    happened = add_up(outcomes)
    violations = [outcome for outcome in outcomes if outcome.violated is not None]
    known = [outcome for outcome in outcomes if outcome.violated is None and outcome.neglected]
    drawn = count_kinds(outcomes)
    absent = never_happened(protocol, outcomes, kinds.without) if kinds.only is None else []
    files = [_shrunk_file(arguments.protocol, outcome.seed, kinds) for outcome in violations[:1]]
    if arguments.json:
        answer = {
            "protocol": protocol.name,
            "seeds": len(outcomes),
            "happened": happened,
            "drawn": drawn,
            "violations": [{"seed": each.seed, "violated": each.violated, "drawn": each.drawn} for each in violations],
            "neglected": [{"seed": each.seed, "duties": each.neglected} for each in known],
            "seconds": round(seconds, 3),
            "simulated_us": sum(outcome.simulated_us for outcome in outcomes),
            "never_happened": absent,
            "shrunk": [str(file) for file in files],
        }
        print(json.dumps(answer))
        return 1 if violations or absent else 0
    hours = sum(outcome.simulated_us for outcome in outcomes) / HOUR_US
    per_second = len(outcomes) / seconds
    print(f"{protocol.name}: {len(outcomes)} seeds, {hours:,.1f} simulated hours, {per_second:.1f} seeds per second")
    console = output()
    print_line(console, "happened: " + ", ".join(f"{count:,} {what}" for what, count in happened.items()))
    print_line(console, "drawn: " + ", ".join(f"{count:,} {kind}" for kind, count in drawn.items()))
    for outcome in violations[:VIOLATIONS_SHOWN]:
        print_line(console, f"VIOLATED by seed {outcome.seed}: {outcome.violated}")
        print_line(console, f"  it had:    {', '.join(outcome.drawn)}")
        print(f"  repeat it: tocsin swarm {protocol.name} --seeds {outcome.seed}{kinds.said()}")
    for file in files:
        print(f"  smaller:   tocsin simulate {file} --seed {violations[0].seed}")
    if known:
        print_line(
            console,
            f"known: {len(known)} seeds neglect a duty that {protocol.name} is known to neglect (docs/guarantees.md)",
        )
        print(f"  the first is {known[0].seed}: {known[0].neglected[0]}")
    if absent:
        print_line(console, f"FAILED: an intended fault never happened: {', '.join(absent)}")
    if not violations and not absent:
        print("no violation")
    return 1 if violations or absent else 0


def parse_seeds(text: str) -> range:
    found = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text)
    if found is None:
        raise InputError(f"--seeds: expected A..B or one number, found `{text}`")
    first = int(found[1])
    end = int(found[2]) if found[2] is not None else first + 1
    if end <= first:
        raise InputError(f"--seeds: expected A below B, found `{text}`")
    if end - first > SEEDS_MAX:
        raise InputError(f"--seeds: expected at most {SEEDS_MAX} seeds, found `{text}`")
    return range(first, end)


class Kinds:
    """The kinds of things that are left out, or drawn only."""

    def __init__(self, without: list[str], only: list[str] | None) -> None:
        self.without = without
        self.only = only

    def said(self) -> str:
        """As the command says it."""
        said = f" --without {','.join(self.without)}" if self.without else ""
        return said if self.only is None else f"{said} --only {','.join(self.only)}"


def _kinds(option: str, text: str | None) -> list[str] | None:
    if text is None:
        return None
    kinds = [kind for kind in text.split(",") if kind]
    for kind in kinds:
        if kind not in KINDS:
            raise InputError(f"{option}: unknown kind `{kind}`{suggestion(kind, list(KINDS))}")
    return kinds


def _run_all(name: str, seeds: range, kinds: Kinds, processes: int, keep_going: bool) -> list[Outcome]:
    """Every seed's outcome, in the order of the seeds; ends early at a violation unless told to keep going."""
    chunks = (seeds[start : start + CHUNK_SEEDS] for start in range(0, len(seeds), CHUNK_SEEDS))  # made as they are run
    outcomes: list[Outcome] = []
    violations = 0
    with Bar("swarming", len(seeds)) as bar:
        if processes == 1 or len(seeds) <= CHUNK_SEEDS:
            for chunk in chunks:
                found = _run_chunk(name, kinds, chunk)
                outcomes += found
                bar.show(len(outcomes))
                if _violated(found) and not keep_going:
                    break
            return outcomes
        # As a context, the pool ends its processes at once at the end: after a violation, and on Ctrl-C.
        with _pool(processes) as pool:
            for result in pool.imap(partial(_run_chunk, name, kinds), chunks):
                outcomes += result
                violations += _violated(result)
                bar.show(len(outcomes), f"{violations} violations")
                if violations and not keep_going:
                    break
    return outcomes


def _pool(processes: int) -> Pool:
    """Processes that inherit to ignore Ctrl-C, from their first instruction on: it is for the parent to act on."""
    ours = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return multiprocessing.get_context("spawn").Pool(processes)
    finally:
        signal.signal(signal.SIGINT, ours)


def _run_chunk(name: str, kinds: Kinds, seeds: range) -> list[Outcome]:
    protocol = find_protocol(name, "swarm")
    return [run_seed(protocol, seed, kinds.without, kinds.only) for seed in seeds]


def _violated(outcomes: list[Outcome]) -> int:
    return sum(outcome.violated is not None for outcome in outcomes)


def _shrunk_file(name: str, seed: int, kinds: Kinds) -> Path:
    protocol = find_protocol(name, "swarm")
    document = shrink(protocol, draw_scenario(protocol, seed, kinds.without, kinds.only), seed)
    path = Path(f"swarm-{name}-{seed}.json")
    write_whole(path, json.dumps(document, indent=2).encode() + b"\n")
    return path
