"""Traces and checks against their limits: memory of writing ten million events, and growth of each property's time.

    python benchmarks/traces.py            everything
    python benchmarks/traces.py growth     only the growth
    python benchmarks/traces.py memory     only the memory

Growth: the processor time of each property (by the array kernels) on four times the rows, over that on the rows, best
of a few; linear is 4. Shapes of runs: `ordered` (one total order, views), `fifo` (each origin's order only: everything
is tangled), `straggler` (one total order, but two sites deliver the first message last: one tangle of everything),
`sparse` (many sites, few deliveries each). Memory: the resident peak of a process that writes events, interleaved over
its sites.
"""

import gc
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from tocsin.live.operations.status import peak_memory_bytes
from tocsin.properties import PROPERTIES
from tocsin.properties.kernels.encode import encode
from tocsin.properties.kernels.solve import solve_run
from tocsin.properties.terms import Terms
from tocsin.traces.buffer import TraceBuffer
from tocsin.traces.rows import BROADCAST, DATA, DELIVER, RECEIVE, VIEW, Row
from tocsin.traces.schema import SIMULATED

ENCODE = "encode"

MEMORY_EVENTS = 10_000_000
MEMORY_MAX_BYTES = 600_000_000
MEMORY_SITES = (3, 100_000)

SMALL_MESSAGES = 2_500
TIMES = 4
GROWTH_MAX = 6.5  # 4 is linear, 8 is n times root n, 16 is quadratic; caches and a shared machine add to it
SECONDS_MIN = 0.001  # what is quicker on the larger trace is not compared
ROUNDS = (3, 12)  # at least, at most; the best of them counts
ROUNDS_SECONDS = 1.5  # after so much no more rounds than the least
SITES = ["a", "b", "c", "d", "e"]
GROUPS = {"g": SITES[:4], "h": SITES[1:]}


def main(what: str) -> int:
    worst = 0.0
    if what in ("all", "growth"):
        worst = print_growth()
    peak = 0
    if what in ("all", "memory"):
        peak = max(print_memory(sites) for sites in MEMORY_SITES)
    kept = worst <= GROWTH_MAX and peak <= MEMORY_MAX_BYTES
    print("kept" if kept else "NOT KEPT", f"(growth at most {GROWTH_MAX}, memory at most {MEMORY_MAX_BYTES:,} bytes)")
    return 0 if kept else 1


# Growth


def print_growth() -> float:
    """A line per property, a column per shape; the worst ratio."""
    print(f"growth of time, {TIMES} times the rows:")
    print(f"{'':20}" + "".join(f"{shape:>12}" for shape in SHAPES))
    small = {shape: make(SMALL_MESSAGES) for shape, make in SHAPES.items()}
    large = {shape: make(SMALL_MESSAGES * TIMES) for shape, make in SHAPES.items()}
    gc.collect()
    gc.freeze()  # the collector must not walk through the rows of all shapes while one is measured
    worst = 0.0
    for name in [ENCODE, *PROPERTIES]:
        ratios = [growth(name, small[shape], large[shape]) for shape in SHAPES]
        worst = max(worst, *ratios)
        print(f"{name:20}" + "".join(f"{ratio:12.2f}" if ratio else f"{'-':>12}" for ratio in ratios), flush=True)
    sizes = ", ".join(f"{shape} {len(large[shape]):,}" for shape in SHAPES)
    print(f"rows, the larger: {sizes}")
    rate = {shape: len(large[shape]) / seconds_of_all(large[shape]) for shape in SHAPES}
    print("rows per second, all properties: " + ", ".join(f"{shape} {rate[shape]:,.0f}" for shape in SHAPES))
    return worst


def growth(name: str, small: list[Row], large: list[Row]) -> float:
    """The ratio of the best times, taken in turns; 0 if there is too little to compare."""
    shorter = longer = float("inf")
    began = time.process_time()
    for turn in range(ROUNDS[1]):
        shorter = min(shorter, seconds(name, small))
        longer = min(longer, seconds(name, large))
        if turn + 1 >= ROUNDS[0] and time.process_time() - began > ROUNDS_SECONDS:
            break
    return longer / shorter if longer >= SECONDS_MIN else 0.0


def seconds(name: str, rows: list[Row]) -> float:
    """Processor time of making logs of a table's rows, or of one property on a run that no other has looked at."""
    table = table_of(rows)
    began = time.process_time()
    parts = encode(table)
    if name != ENCODE:
        began = time.process_time()
        solve_run("run", parts, Terms(GROUPS, True), [name])
    return time.process_time() - began


def seconds_of_all(rows: list[Row]) -> float:
    table = table_of(rows)
    began = time.process_time()
    solve_run("run", encode(table), Terms(GROUPS, True))
    return time.process_time() - began


def table_of(rows: list[Row]) -> pa.Table:
    columns = dict(zip(Row._fields, zip(*rows, strict=True), strict=True))
    return pa.table([pa.array(columns[field.name], field.type) for field in SIMULATED], SIMULATED)


def ordered(messages: int, late: int = 0) -> list[Row]:
    """All deliver in the order of the broadcasts; `late` messages are delivered last at the first site."""
    buffer = TraceBuffer("run", SITES)
    log = [(list(GROUPS)[number % 2], number % len(SITES), number // len(SITES)) for number in range(messages)]
    for number, (group, origin, seqno) in enumerate(log):
        if number % 1_000 == 0:
            for site in range(len(SITES)):
                buffer.append(site, number, VIEW, view=number // 1_000, members=SITES)
        buffer.append(origin, number, BROADCAST, group, SITES[origin], seqno)
        for site, name in enumerate(SITES):
            if name in GROUPS[group]:
                buffer.append(site, number, RECEIVE, None, SITES[origin], seqno, DATA)
                if site > 1 or number >= late:
                    buffer.append(site, number, DELIVER, group, SITES[origin], seqno)
    for group, origin, seqno in log[:late]:
        for site in (0, 1):
            if SITES[site] in GROUPS[group]:
                buffer.append(site, messages, DELIVER, group, SITES[origin], seqno)
    return list(buffer.rows())


def straggler(messages: int) -> list[Row]:
    return ordered(messages, late=1)


def fifo(messages: int) -> list[Row]:
    """Each site takes the origins' messages as they come, in its own random order of origins."""
    rng = random.Random(1)
    buffer = TraceBuffer("run", SITES)
    log = [(list(GROUPS)[number % 2], number % len(SITES), number // len(SITES)) for number in range(messages)]
    for number, (group, origin, seqno) in enumerate(log):
        buffer.append(origin, number, BROADCAST, group, SITES[origin], seqno)
    for site, name in enumerate(SITES):
        streams = [[each for each in log if each[1] == origin and name in GROUPS[each[0]]] for origin in range(5)]
        turns = [origin for origin, stream in enumerate(streams) for _ in stream]
        rng.shuffle(turns)
        waiting = [iter(stream) for stream in streams]
        for turn in turns:
            group, origin, seqno = next(waiting[turn])
            buffer.append(site, messages, DELIVER, group, SITES[origin], seqno)
    return list(buffer.rows())


def sparse(messages: int) -> list[Row]:
    """As many sites as messages; each message goes to eight of them, in the order of a ring."""
    sites = [f"s{number}" for number in range(messages)]
    buffer = TraceBuffer("run", sites)
    for number in range(messages):
        buffer.append(number, number, BROADCAST, "g", sites[number], 0)
        for step in range(8):
            buffer.append((number + step * step) % messages, number, DELIVER, "g", sites[number], 0)
    return list(buffer.rows())


SHAPES: dict[str, Callable[[int], list[Row]]] = {
    "ordered": ordered,
    "fifo": fifo,
    "straggler": straggler,
    "sparse": sparse,
}


# Memory


def print_memory(sites: int) -> int:
    """The resident peak of a process that writes the events."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "write", str(sites), folder]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    peak, seconds_spent, size = map(int, output.split())
    print(
        f"{MEMORY_EVENTS:,} events of {sites:,} sites: {peak / 1e6:.0f} MB resident at most, "
        f"{MEMORY_EVENTS / max(1, seconds_spent):,.0f} events/s, {size / 1e6:.0f} MB of Parquet",
        flush=True,
    )
    return peak


def write(sites: int, folder: Path) -> None:
    """Write the events; print the peak in bytes, the seconds, the size of the file."""
    from tocsin.traces.writer import TraceWriter

    names = [f"site{number}" for number in range(sites)]
    began = time.monotonic()
    with TraceWriter(folder / "trace.parquet", "run", names) as sink:
        for number in range(MEMORY_EVENTS):
            site = number * 7919 % sites
            origin = names[number * 31 % sites]
            if number % 2:
                sink.append(site, number * 3, RECEIVE, None, origin, number // sites, DATA, names[number % sites], 100)
            else:
                sink.append(site, number * 3, DELIVER, "all", origin, number // sites, None, None, 100, number, 1)
    spent = time.monotonic() - began
    peak = peak_memory_bytes()
    print(peak, round(spent), (folder / "trace.parquet").stat().st_size)


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(int(sys.argv[2]), Path(sys.argv[3]))
    else:
        sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "all"))
