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
from tocsin.core.errors import InputError
from tocsin.core.files import write_whole
from tocsin.protocols.registry import find_protocol
from tocsin.sim.swarm.swarm import Outcome, add_up, never_happened, run_seed, shrink

SEEDS_MAX = 1_000_000_000
CHUNK_SEEDS = 8  # seeds handed to a process at once
VIOLATIONS_SHOWN = 5

EXAMPLES = """\
examples:
  tocsin swarm ack_all --seeds 0..1000     a thousand seeds, 0 to 999
  tocsin swarm ack_all --seeds 17          one seed again
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("protocol", help="a protocol's name (tocsin protocols)")
    parser.add_argument(
        "--seeds", default="0..100", metavar="A..B", help="seeds A to B-1, or one seed (default 0..100)"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: one for each core")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first violation")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")


def run(arguments: argparse.Namespace) -> int:
    protocol = find_protocol(arguments.protocol, "swarm")
    seeds = parse_seeds(arguments.seeds)
    began = time.monotonic()
    if arguments.processes < 1:
        raise InputError(f"--processes: expected at least 1, found {arguments.processes}")
    outcomes = _run_all(arguments.protocol, seeds, arguments.processes, arguments.keep_going)
    seconds = time.monotonic() - began
    happened = add_up(outcomes)
    violations = [outcome for outcome in outcomes if outcome.violated is not None]
    absent = never_happened(protocol, happened, len(outcomes))
    files = [_shrunk_file(arguments.protocol, outcome.seed) for outcome in violations[:1]]
    if arguments.json:
        found = [{"seed": outcome.seed, "violated": outcome.violated} for outcome in violations]
        answer = {"protocol": protocol.name, "seeds": len(outcomes), "happened": happened, "violations": found}
        print(json.dumps({**answer, "never_happened": absent, "shrunk": [str(file) for file in files]}))
        return 1 if violations or absent else 0
    print(f"{protocol.name}: {len(outcomes)} seeds, {len(outcomes) / seconds:.1f} per second")
    print("happened: " + ", ".join(f"{count:,} {what}" for what, count in happened.items()))
    for outcome in violations[:VIOLATIONS_SHOWN]:
        print(f"VIOLATED by seed {outcome.seed}: {outcome.violated}")
        print(f"  repeat it: tocsin swarm {protocol.name} --seeds {outcome.seed}")
    for file in files:
        print(f"  smaller:   tocsin simulate {file} --seed {violations[0].seed}")
    if absent:
        print(f"FAILED: an intended fault never happened: {', '.join(absent)}")
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


def _run_all(name: str, seeds: range, processes: int, keep_going: bool) -> list[Outcome]:
    """Every seed's outcome, in the order of the seeds; ends early at a violation unless told to keep going."""
    chunks = [seeds[start : start + CHUNK_SEEDS] for start in range(0, len(seeds), CHUNK_SEEDS)]
    outcomes: list[Outcome] = []
    with Bar("swarming", len(seeds)) as bar:
        if processes == 1 or len(chunks) == 1:
            for chunk in chunks:
                outcomes += _run_chunk(name, chunk)
                bar.show(len(outcomes))
                if _stop(outcomes, keep_going):
                    break
            return outcomes
        # As a context, the pool ends its processes at once at the end: after a violation, and on Ctrl-C.
        with _pool(processes) as pool:
            for result in pool.imap(partial(_run_chunk, name), chunks):
                outcomes += result
                bar.show(len(outcomes), f"{sum(1 for outcome in outcomes if outcome.violated)} violations")
                if _stop(outcomes, keep_going):
                    break
    return outcomes


def _pool(processes: int) -> Pool:
    """Processes that inherit to ignore Ctrl-C, from their first instruction on: it is for the parent to act on."""
    ours = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return multiprocessing.get_context("spawn").Pool(processes)
    finally:
        signal.signal(signal.SIGINT, ours)


def _run_chunk(name: str, seeds: range) -> list[Outcome]:
    protocol = find_protocol(name, "swarm")
    return [run_seed(protocol, seed) for seed in seeds]


def _stop(outcomes: list[Outcome], keep_going: bool) -> bool:
    return not keep_going and any(outcome.violated is not None for outcome in outcomes)


def _shrunk_file(name: str, seed: int) -> Path:
    document = shrink(find_protocol(name, "swarm"), seed)
    path = Path(f"swarm-{name}-{seed}.json")
    write_whole(path, json.dumps(document, indent=2).encode() + b"\n")
    return path
