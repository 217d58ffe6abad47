"""`reliability_tree`: its bars, and the paper's Figures 2, 3 and 4 drawn from the running protocol.

    python -m benchmarks.reliability            the bars
    python -m benchmarks.reliability figures    the figures (about half an hour, compiled)

Convergence: every process knows of every process, and the loss of every link to within 0.02 of the truth: the right one
of a hundred intervals, or one next to it. The bars hold by processor time, since machines are shared.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable

from tocsin._sources import COMPILED
from tocsin.calculations.garbinato_runs import (
    PERIOD_US,
    built,
    completeness,
    gossip_cost,
    incomplete,
    machines,
    measuring,
    network,
    periods_until_convergence,
    run_until,
)
from tocsin.core.generators import random_regular, random_tree, ring, vary
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.live.operations.status import peak_memory_bytes
from tocsin.planning.reliability import maximum_reliability_tree, optimize

REACH = 0.9999
TOLERANCE = 0.02
CONVERGENCE_SECONDS_MAX = 60.0
MEMORY_MAX = 4 * 2**30
PAPER_HEARTBEAT_BYTES = 50_000
TREE_SITES = 10_000
TREE_PERIODS_MAX = 400

EQUAL = [(0.01, 0.0), (0.03, 0.0), (0.05, 0.0), (0.0, 0.01), (0.0, 0.03), (0.0, 0.05)]  # crash, loss
CONNECTIVITIES = (2, 4, 8, 12, 16, 20)


def main() -> int:
    print(f"{'compiled' if COMPILED else 'interpreted'}, Python {sys.version.split()[0]}, {os.cpu_count()} cores\n")
    what = sys.argv[1] if len(sys.argv) > 1 else "bars"
    if what == "tree":
        return large_tree()
    if what == "figures":
        figure_2()
        figure_2_learned()
        figure_3()
        figure_4()
        return 0
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


# Figures


def optimum(topology: Topology) -> int:
    return optimize(maximum_reliability_tree(topology, 0), REACH).messages


def unequal(connectivity: int) -> Topology:
    topology = random_regular(100, connectivity, Rng(connectivity))
    vary(topology, Rng(1), loss=(0.0, 0.1))
    return topology


FIGURE_2 = ["connectivity", "P", "L", "optimal", "of 2000 incomplete", "steps", "gossip", "acks", "ratio", "with acks"]


def print_row(values: list[str]) -> None:
    """Values below the headings of Figure 2."""
    cells = [value.rjust(max(6, len(heading))) for value, heading in zip(values, FIGURE_2, strict=True)]
    print(" ".join(cells), flush=True)


def figure_2() -> None:
    print("\nFigure 2: 100 processes, reach 0.9999: messages of the optimal algorithm, data and acknowledgements of")
    print("gossip, and how many times more gossip needs, without and with its acknowledgements")
    print_row(FIGURE_2)
    failed = 0
    for connectivity in CONNECTIVITIES:
        for crash, loss in [*EQUAL, (0.0, -1.0)]:
            if loss < 0:
                topology = unequal(connectivity)
                name = "0-0.1"
            else:
                topology = random_regular(100, connectivity, Rng(connectivity), loss=loss, crash=crash)
                name = f"{loss:.2f}"
            found = completeness(topology, REACH, 2_000, 1)
            gossip = gossip_cost(topology, REACH, 10_000 if loss >= 0 else 2_000, 1)
            failed += found.incomplete
            without = gossip.messages / found.messages
            counted = without + gossip.acknowledgements / found.messages
            row = [str(connectivity), f"{crash:.2f}", name, str(found.messages), str(found.incomplete)]
            row += [str(gossip.steps), f"{gossip.messages:.0f}", f"{gossip.acknowledgements:.0f}"]
            print_row([*row, f"{without:.2f}", f"{counted:.2f}"])
    broadcasts = len(CONNECTIVITIES) * (len(EQUAL) + 1) * 2_000
    print(f"incomplete: {failed} of {broadcasts}; at reach {REACH} at most {broadcasts * (1 - REACH):.1f} are expected")


def figure_2_learned() -> None:
    print("\nAfter convergence: 1,000 broadcasts with what was learned in so many heartbeats")
    print(f"{'connectivity':>12} {'P':>5} {'L':>5} {'heartbeats':>11} {'optimal':>8} {'learned':>8} {'incomplete':>11}")
    for connectivity, crash, loss in ((2, 0.0, 0.05), (6, 0.0, 0.05), (6, 0.03, 0.0), (6, 0.0, 0.01), (16, 0.03, 0.0)):
        topology = random_regular(100, connectivity, Rng(connectivity), loss=loss, crash=crash)
        for periods in (100, 500, 2_000):
            found = completeness(topology, REACH, 1_000, 1, after_periods=periods)
            print(
                f"{connectivity:12} {crash:5.2f} {loss:5.2f} {periods:11} {optimum(topology):8} {found.messages:8} "
                f"{found.incomplete:11}",
                flush=True,
            )


def convergence(topology: Topology, step: int, tolerance: float = TOLERANCE, seed: int = 1) -> int:
    shape = {"shape": "ring", "nodes": topology.node_count()}
    simulation = built(network("reliability_tree", shape), seed, topology)
    return periods_until_convergence(simulation, topology, tolerance, step)


def figure_3() -> None:
    print("\nFigure 3: 100 processes, heartbeats of a process over a link until all have converged")
    print(f"{'connectivity':>12} " + " ".join(f"{f'P={p:g} L={loss:g}':>12}" for p, loss in EQUAL))
    for connectivity in (2, 6, 10, 16, 20):
        row = []
        for crash, loss in EQUAL:
            topology = random_regular(100, connectivity, Rng(connectivity), loss=loss, crash=crash)
            row.append(convergence(topology, 10))
        print(f"{connectivity:12} " + " ".join(f"{periods:12}" for periods in row), flush=True)


def figure_4() -> None:
    print("\nFigure 4: heartbeats until every process knows every link (L = 0.01), means of five networks")
    print(f"{'processes':>10} {'ring':>6} {'random tree':>12}")
    for sites in (25, 50, 100, 200, 400):
        rings = [convergence(ring(sites, loss=0.01), 1, 1.0, seed) for seed in range(5)]
        trees = [convergence(random_tree(sites, Rng(seed), loss=0.01), 1, 1.0, seed) for seed in range(5)]
        print(f"{sites:10} {sum(rings) / 5:6.1f} {sum(trees) / 5:12.1f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
