"""How often the truth lies inside the credible interval: small networks drawn from a seed."""

from tests.protocols.reliability_tree.runs import PERIOD_US, built, estimates, machines, network, run_until, truth
from tocsin.core.generators import random_connected, vary
from tocsin.core.rng import Rng
from tocsin.protocols.protocol import Protocol
from tocsin.protocols.reliability_tree.beliefs import credible_interval
from tocsin.sim.scenario import Scenario

LEVEL = 0.9


class Coverage:
    """Links whose truth was inside the interval, and all."""

    def __init__(self) -> None:
        self.inside = 0
        self.total = 0
        self.below = 0  # the interval lies above the truth: pessimists
        self.above = 0

    def rate(self) -> float:
        return self.inside / self.total


def add_seed(coverage: Coverage, seed: int, protocol: Protocol | None = None) -> None:
    """One network: every link as one of the processes knows it, so that links are counted once and are independent."""
    rng = Rng(seed).fork("coverage")
    sites = rng.between(2, 7)
    topology = random_connected(sites, rng.between(sites - 1, sites * (sites - 1) // 2), rng)
    vary(topology, rng.fork("vary"), loss=(0.0, 0.5), crash=(0.0, 0.05))
    options = {"vanish_after": 100, "news_growth": (0.0, 0.125)[rng.below(2)], "full_every": rng.between(2, 40)}
    scenario = network("reliability_tree", {"shape": "ring", "nodes": 3}, options)
    if protocol is not None:
        scenario = Scenario(scenario.config, "coverage", scenario._folder, protocol)
    scenario.names = [f"h{site + 1}" for site in range(sites)]
    scenario.groups = [list(range(sites))]
    simulation = built(scenario, seed, topology)
    simulation.start()
    run_until(simulation, rng.between(20, 120) * PERIOD_US)
    watcher = machines(simulation)[rng.below(sites)]
    wanted = truth(topology)
    for key, (successes, failures) in estimates(watcher, sites).items():
        low, high = credible_interval(successes, failures, LEVEL)
        coverage.inside += low <= wanted[key] <= high
        coverage.below += wanted[key] < low
        coverage.above += wanted[key] > high
        coverage.total += 1
