"""Experiments on Garbinato, Pedone, Schmidt 2004: `reliability_tree` and `push_gossip` in the simulator."""

from typing import Annotated, Literal

from msgspec import Meta

from tocsin.calculations.calculation import Calculation
from tocsin.calculations.garbinato_runs import (
    PERIOD_US,
    broadcasts_from,
    built,
    gossip_cost,
    has_converged,
    machines,
    measuring,
    network,
    run_until,
    true_reach,
    truth,
)
from tocsin.core.generators import random_regular, random_tree, ring, vary
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.planning.reliability import maximum_reliability_tree, optimize
from tocsin.protocols.reliability_tree.beliefs import mean
from tocsin.protocols.reliability_tree.direct import Direct
from tocsin.sim.simulation import Simulation

Probability = Annotated[float, Meta(ge=0.0, lt=1.0)]
Count = Annotated[int, Meta(ge=1)]

PERIODS_MAX = 20_000
SOURCES = 10  # processes that broadcast, one after another


class _Regular(Calculation, frozen=True, kw_only=True):
    """A random network in which every process has as many neighbours."""

    connectivity: Annotated[int, Meta(ge=2)]
    sites: Annotated[int, Meta(ge=3)] = 100
    crash: Probability = 0.0  # the paper's P
    loss: Probability = 0.0  # the paper's L
    spread: Probability = 0.0  # links lose loss - spread to loss + spread, each its own
    reach: Annotated[float, Meta(gt=0.0, lt=1.0)] = 0.9999  # the paper's K
    broadcasts: Count = 1_000

    def cost(self) -> float:
        return self.connectivity * self.sites

    def topology(self, seed: int) -> Topology:
        made = random_regular(self.sites, self.connectivity, Rng(seed), loss=self.loss, crash=self.crash)
        if self.spread > 0.0:
            vary(made, Rng(seed).fork("losses"), loss=(self.loss - self.spread, self.loss + self.spread))
        return made


class Messages(_Regular, frozen=True, kw_only=True):
    """Figure 2: the optimal algorithm against gossip with as few steps as will do."""

    executions: Count = 10_000  # tried to find the steps

    def measure(self, seed: int) -> dict[str, float]:
        topology = self.topology(seed)
        scenario = network(
            "reliability_tree",
            {"shape": "ring", "nodes": self.sites},
            {"reach": self.reach, "knowledge": "given"},
        )
        simulation = built(scenario, seed, topology)
        simulation.start()
        found = broadcasts_from(simulation, SOURCES, self.reach, self.broadcasts)
        gossip = gossip_cost(topology, self.reach, self.executions, seed)
        return {
            "optimum": _optimum(topology, self.reach),
            "messages": found.messages,
            "incomplete": found.incomplete,
            "broadcasts": found.broadcasts,
            "gossip.steps": gossip.steps,
            "gossip.data": gossip.messages,
            "gossip.acks": gossip.acknowledgements,
            "ratio": gossip.messages / found.messages,
            "ratio.with_acks": (gossip.messages + gossip.acknowledgements) / found.messages,
        }


class Convergence(_Regular, frozen=True, kw_only=True):
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
        best = _optimum(topology, self.reach)
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


class Patience(_Regular, frozen=True, kw_only=True):
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
        best = _optimum(topology, self.reach)
        return {
            "optimum": best,
            "messages": promised.messages,
            "excess": promised.messages / best - 1.0,
            "reach.missed": 1.0 - promised.reach,
        }


class Size(Calculation, frozen=True, kw_only=True):
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


class Heartbeats(_Regular, frozen=True, kw_only=True):
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


class TwoPaths(Calculation, frozen=True, kw_only=True):
    """Figure 1: two nodes with two paths, one `alpha` times worse; how often nothing arrives of so many sends."""

    loss: Probability
    alpha: Annotated[float, Meta(ge=1.0)]
    sends: Count
    trials: Count = 100_000

    def measure(self, seed: int) -> dict[str, float]:
        rng = Rng(seed)
        losses = (self.loss, self.alpha * self.loss)
        missed = {"best": 0, "alternating": 0, "random": 0}
        for _ in range(self.trials):
            missed["best"] += all(rng.chance(losses[0]) for _ in range(self.sends))
            missed["alternating"] += all(rng.chance(losses[turn % 2]) for turn in range(self.sends))
            missed["random"] += all(rng.chance(losses[rng.below(2)]) for _ in range(self.sends))
        return {f"missed.{way}": count / self.trials for way, count in missed.items()}


class Line19(Calculation, frozen=True, kw_only=True):
    """Algorithm 4, line 19: what is believed of a link after so many heartbeats, as printed and as corrected."""

    loss: Probability
    heartbeats: Count = 1_500

    def measure(self, seed: int) -> dict[str, float]:
        rng = Rng(seed)
        failures = last = 0  # as printed: `adjust` is never above 0, so nothing ever counts as a success
        corrected = Direct(1, 0, 0, self.heartbeats)
        for seqno in range(1, self.heartbeats + 1):
            if not rng.chance(self.loss):
                failures += seqno - last
                last = seqno
                corrected.on_heartbeat(1, seqno)
        return {
            "printed": mean(0, failures),
            "corrected": mean(corrected.evidence.successes, corrected.failures()),
        }


class Promise:
    """Of plans from several processes."""

    def __init__(self, messages: float, reach: float) -> None:
        self.messages = messages  # mean
        self.reach = reach  # mean of what the plans reach in truth


def _learning(topology: Topology, seed: int, reach: float) -> Simulation:
    """A network of processes that know nothing yet."""
    sites = topology.node_count()
    return built(network("reliability_tree", {"shape": "ring", "nodes": sites}, {"reach": reach}), seed, topology)


def _optimum(topology: Topology, reach: float) -> int:
    return optimize(maximum_reliability_tree(topology, 0), reach).messages


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
