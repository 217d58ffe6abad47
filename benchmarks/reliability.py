"""`reliability_tree`: its bars. (The figures of its paper: `tocsin reproduce garbinato`.)

    python -m benchmarks.reliability

Convergence: every process knows of every process, and the loss of every link to within 0.02 of the truth: the right one
of a hundred intervals, or one next to it. The bars hold by processor time, since machines are shared.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable

from tests.protocols.reliability_tree.runs import (
    PERIOD_US,
    built,
    incomplete,
    machines,
    measuring,
    network,
    periods_until_convergence,
    run_until,
)
from tocsin._sources import COMPILED
from tocsin.core.generators import random_regular, random_tree
from tocsin.core.rng import Rng
from tocsin.live.operations.status import peak_memory_bytes

REACH = 0.9999
TOLERANCE = 0.02
CONVERGENCE_SECONDS_MAX = 60.0
MEMORY_MAX = 4 * 2**30
PAPER_HEARTBEAT_BYTES = 50_000
TREE_SITES = 10_000
TREE_PERIODS_MAX = 400


def main() -> int:
    print(f"{'compiled' if COMPILED else 'interpreted'}, Python {sys.version.split()[0]}, {os.cpu_count()} cores\n")
    what = sys.argv[1] if len(sys.argv) > 1 else "bars"
    if what == "tree":
        return large_tree()
    held = [convergence_bar(), heartbeat_bar(), memory_bar()]
    return 0 if all(held) else 1


def measured(work: Callable[[], int]) -> tuple[int, float]:
    """The answer of some work, and its processor time."""
    begin = time.process_time()
    answer = work()
    return answer, time.process_time() - begin


def verdict(text: str, holds: bool) -> bool:
    print(f"{text}: {'held' if holds else 'NOT HELD'}")
    return holds


# Bars


def convergence_bar() -> bool:
    topology = random_regular(100, 20, Rng(20), loss=0.05)

    def work() -> int:
        simulation = built(network("reliability_tree", {"shape": "ring", "nodes": 100}), 1, topology)
        return periods_until_convergence(simulation, topology, TOLERANCE, 20)

    periods, seconds = measured(work)
    text = f"100 processes, connectivity 20, L = 0.05: converged after {periods} heartbeats in {seconds:.1f} s"
    return verdict(f"{text} (bar {CONVERGENCE_SECONDS_MAX:.0f} s)", periods > 0 and seconds < CONVERGENCE_SECONDS_MAX)


def heartbeat_bar() -> bool:
    """Bytes of encoded heartbeats among 100 processes, in the first ten seconds, then in two later spells of ten."""
    held = True
    for connectivity in (6, 20):
        shape = {"shape": "random_regular", "nodes": 100, "degree": connectivity, "loss": 0.05}
        simulation = built(network("reliability_tree", shape), 1)
        sizes = measuring(simulation).sizes
        simulation.start()
        means = []
        largest = 0
        for begin in (0, 100, 300):
            run_until(simulation, begin * PERIOD_US)
            sizes.clear()
            run_until(simulation, (begin + 100) * PERIOD_US)
            means.append(sum(sizes) / len(sizes))
            largest = max(largest, *sizes)
        told = ", ".join(f"{mean:.0f}" for mean in means)
        text = f"100 processes, connectivity {connectivity}: mean bytes of heartbeats 1-100, 101-200, 301-400: {told}; "
        text += f"the largest (all that is known) {largest}; the paper's {PAPER_HEARTBEAT_BYTES}"
        held = verdict(text, largest < PAPER_HEARTBEAT_BYTES / 4) and held
    return held


def memory_bar() -> bool:
    """In a process of its own, so that nothing else is counted."""
    begin = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "benchmarks.reliability", "tree"], capture_output=True, text=True)
    sys.stdout.write(done.stdout.split("\n", 2)[-1])
    if done.returncode != 0:
        sys.stdout.write(done.stderr)
    return verdict(f"in {time.monotonic() - begin:.0f} s by the clock", done.returncode == 0)


def large_tree() -> int:
    """Everybody learns a random tree of 10,000; then one broadcasts with what it has learned."""
    topology = random_tree(TREE_SITES, Rng(1), loss=0.01)
    options = {"news_max": 1 << 20, "news_growth": 10.0, "full_every": 1 << 20, "settle_us": 0}
    simulation = built(network("reliability_tree", {"shape": "ring", "nodes": TREE_SITES}, options), 1, topology)
    simulation.start()
    periods = 0
    while periods < TREE_PERIODS_MAX:
        periods += 5
        run_until(simulation, periods * PERIOD_US)
        known = [machine.knowledge.process_count() for machine in machines(simulation)]
        if min(known) == TREE_SITES:
            break
    now = simulation.kernel.now
    plan = machines(simulation)[0].plan(0, REACH)
    simulation.world.sites[0].broadcast(now, 0, b"x")
    run_until(simulation, now + PERIOD_US)
    rows = sum(len(machine.knowledge) for machine in machines(simulation))
    peak = peak_memory_bytes()
    print(
        f"{TREE_SITES} processes in a random tree: all known to all after {periods} heartbeats, {rows} estimates; "
        f"a broadcast of {plan.messages} messages promised {plan.reach:.6f}, missed {len(plan.left_out)}, incomplete "
        f"{incomplete(simulation, TREE_SITES)}; peak memory {peak / 2**30:.2f} GiB, {time.process_time():.0f} s"
    )
    return 0 if peak < MEMORY_MAX and not plan.left_out else 1


if __name__ == "__main__":
    sys.exit(main())
