"""Figures 3 and 4 of Garbinato, Pedone and Schmidt: how soon processes know their network, and what that is worth."""

from typing import Annotated, Literal

from msgspec import Meta

from papers.garbinato.experiments.regular import SOURCES, Count, Probability, Regular, optimum
from papers.garbinato.experiments.runs import broadcasts_from, true_reach
from tests.protocols.reliability_tree.runs import (
    PERIOD_US,
    built,
    has_converged,
    machines,
    measuring,
    network,
    run_until,
    truth,
)
from tocsin.core.generators import random_tree, ring
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.sim.simulation import Simulation
from tocsin.spark.sweep.experiment import Experiment

PERIODS_MAX = 20_000


class Convergence(Regular, frozen=True, kw_only=True):
    """Figure 3: heartbeats until every process knows every loss to within the tolerance; then broadcasts with what
    was learned, and again after as many heartbeats more."""

    tolerance: Probability = 0.02  # the right one of a hundred intervals, or one next to it
    step: Count = 10  # heartbeats between two looks

    def cost(self) -> float:
        return float(self.connectivity**2) * (0.01 + self.loss + self.crash)

    def measure(self, seed: int) -> dict[str, float]:
        topology = self.topology(seed)
        simulation = _learning(topology, seed, self.reach)
        periods = _periods_until(simulation, topology, self.tolerance, self.step)
        best = optimum(topology, self.reach)
        soon = _promised(simulation, topology, self.reach)
        found = broadcasts_from(simulation, SOURCES, self.reach, self.broadcasts)
        return {
            "heartbeats": periods,
            "optimum": best,
            "messages": soon.messages,
            "excess": soon.messages / best - 1.0,
            "reach.missed": 1.0 - soon.reach,
            "incomplete": found.incomplete,
            "broadcasts": found.broadcasts,
        }


class Patience(Regular, frozen=True, kw_only=True):
    """Definition 2: what plans cost and reach after so many heartbeats, by arithmetic with the true losses."""

    heartbeats: Count

    def cost(self) -> float:
        return float(self.heartbeats * self.connectivity)

    def measure(self, seed: int) -> dict[str, float]:
        topology = self.topology(seed)
        simulation = _learning(topology, seed, self.reach)
        simulation.start()
        run_until(simulation, self.heartbeats * PERIOD_US)
        promised = _promised(simulation, topology, self.reach)
        best = optimum(topology, self.reach)
        return {
            "optimum": best,
            "messages": promised.messages,
            "excess": promised.messages / best - 1.0,
            "reach.missed": 1.0 - promised.reach,
        }


class Size(Experiment, frozen=True, kw_only=True):
    """Figure 4: ring against random tree."""

    shape: Literal["ring", "tree"]
    sites: Annotated[int, Meta(ge=3)]
    loss: Probability = 0.01
    tolerance: Probability = 0.02

    def cost(self) -> float:
        return float(self.sites**2) * (self.sites if self.shape == "ring" else 100)

    def measure(self, seed: int) -> dict[str, float]:
        if self.shape == "ring":
            topology = ring(self.sites, loss=self.loss)
        else:
            topology = random_tree(self.sites, Rng(seed), loss=self.loss)
        simulation = _learning(topology, seed, 0.9999)
        known = _periods_until(simulation, topology, 1.0, 1)
        return {
            "heartbeats.known": known,
            "heartbeats": _periods_until(simulation, topology, self.tolerance, 5, known),
        }


class Heartbeats(Regular, frozen=True, kw_only=True):
    """The size of heartbeats, encoded, in three spells of so many heartbeats."""

    spell: Count = 100

    def measure(self, seed: int) -> dict[str, float]:
        simulation = _learning(self.topology(seed), seed, self.reach)
        sizes = measuring(simulation).sizes
        simulation.start()
        found: dict[str, float] = {}
        largest = 0
        for name, begin in (("first", 0), ("second", 1), ("fourth", 3)):
            run_until(simulation, begin * self.spell * PERIOD_US)
            sizes.clear()
            run_until(simulation, (begin + 1) * self.spell * PERIOD_US)
            found[f"bytes.{name}"] = sum(sizes) / len(sizes)
            largest = max(largest, *sizes)
        return {**found, "bytes.largest": largest}


class Promise:
    """Of plans from several processes."""

    def __init__(self, messages: float, reach: float) -> None:
        self.messages = messages  # mean
        self.reach = reach  # mean of what the plans reach in truth


def _learning(topology: Topology, seed: int, reach: float) -> Simulation:
    """A network of processes that know nothing yet."""
    sites = topology.node_count()
    return built(network("reliability_tree", {"shape": "ring", "nodes": sites}, {"reach": reach}), seed, topology)


def _periods_until(simulation: Simulation, topology: Topology, tolerance: float, step: int, begin: int = 0) -> int:
    """Heartbeats that each process sends over each of its links until all have converged."""
    wanted = truth(topology)
    if begin == 0:
        simulation.start()
    for periods in range(begin + step, PERIODS_MAX, step):
        run_until(simulation, periods * PERIOD_US)
        if has_converged(simulation, wanted, topology.node_count(), tolerance):
            return periods
    raise RuntimeError(f"no convergence within {PERIODS_MAX} heartbeats")


def _promised(simulation: Simulation, topology: Topology, reach: float) -> Promise:
    found = machines(simulation)
    sites = topology.node_count()
    chosen = [place * sites // SOURCES for place in range(min(SOURCES, sites))]
    plans = [(source, found[source].plan(0, reach)) for source in chosen]
    losses = truth(topology)
    return Promise(
        sum(plan.messages for _, plan in plans) / len(plans),
        sum(true_reach(plan, source, sites, losses) for source, plan in plans) / len(plans),
    )
