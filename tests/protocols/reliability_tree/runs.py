"""Runs of `reliability_tree`: networks, stepping, and what processes know of the truth."""

from pathlib import Path
from typing import Any, cast

import numpy as np

from tocsin.core.codec import Codec
from tocsin.core.config import decode_config
from tocsin.core.message import Message
from tocsin.core.topology import Topology
from tocsin.protocols.reliability_tree.knowledge import link_key
from tocsin.protocols.reliability_tree.machine import ReliabilityTree
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.simulation import Simulation

PERIOD_US = 100_000  # the default time between heartbeats
EVENTS_MAX = 1 << 60


def network(
    protocol: str,
    topology: dict[str, Any],
    options: dict[str, Any] | None = None,
    messages: int = 0,
    every_us: int = 1_000_000,
    senders: list[str] | None = None,
) -> Scenario:
    """Processes joined by links, on the model of the paper; `messages` broadcasts of the senders, one at a time."""
    document: dict[str, Any] = {
        "protocol": protocol,
        "topology": topology,
        "duration_us": 10**12,
        "options": options or {},
        "workload": {"messages": messages, "every_us": every_us, "size": 1, "senders": senders or ["h1"]},
        "network": {"model": "lossy", "delay_us": 1_000},
    }
    return Scenario(decode_config(document, ScenarioConfig, "experiment"), "experiment", Path())


def built(scenario: Scenario, seed: int, topology: Topology | None = None) -> Simulation:
    """A run, ready to start; on this very topology if one is given (its probabilities may change while it runs)."""
    if topology is not None:
        scenario.topology = topology
        scenario._generated = None
    simulation = scenario.build(seed, None)
    simulation.stop_when_quiet = False
    return simulation


def run_until(simulation: Simulation, at_us: int) -> None:
    while simulation.run(at_us, EVENTS_MAX):
        pass


def machines(simulation: Simulation) -> list[ReliabilityTree]:
    """The processes that are up (mutants are of another class, but look alike)."""
    return [cast(ReliabilityTree, site.machine) for site in simulation.world.sites if site.machine is not None]


def truth(topology: Topology) -> dict[int, float]:
    """By the key of each way: the probability that a heartbeat is lost, be it by a crashed step of either end."""
    found: dict[int, float] = {}
    for link in range(topology.link_count()):
        first, second = topology.link_first[link], topology.link_second[link]
        arrives = (1 - topology.crash[first]) * (1 - topology.link_loss[link]) * (1 - topology.crash[second])
        found[link_key(first, second, topology.node_count())] = 1 - arrives
        found[link_key(second, first, topology.node_count())] = 1 - arrives
    return found


def estimates(machine: ReliabilityTree, sites: int) -> dict[int, tuple[int, int]]:
    """By the key of each way that a process knows of: successes and failures."""
    first, second, successes, failures = machine.knowledge.links()
    return {
        link_key(first[place], second[place], sites): (successes[place], failures[place]) for place in range(len(first))
    }


def has_converged(simulation: Simulation, wanted: dict[int, float], sites: int, tolerance: float) -> bool:
    """Whether every process knows of every process, and of every link the loss to within the tolerance."""
    keys = np.array(sorted(wanted))
    losses = np.array([wanted[key] for key in sorted(wanted)])
    for machine in machines(simulation):
        if machine.knowledge.process_count() < sites:
            return False
        known, successes, failures = machine.knowledge.link_table()
        if len(known) < len(keys) or not (known == keys).all():
            return False
        total = successes.astype(np.int64) + failures
        if (np.abs(failures / total - losses) > tolerance).any():
            return False
    return True


def periods_until_convergence(
    simulation: Simulation, topology: Topology, tolerance: float, step: int = 5, most: int = 20_000
) -> int:
    """Heartbeats that each process sends over each of its links until all have converged; -1 if that takes too long."""
    wanted = truth(topology)
    simulation.start()
    for periods in range(step, most, step):
        run_until(simulation, periods * PERIOD_US)
        if has_converged(simulation, wanted, topology.node_count(), tolerance):
            return periods
    return -1


def incomplete(simulation: Simulation, sites: int) -> int:
    """Broadcasts so far that did not reach everybody."""
    counts: dict[tuple[int, int], int] = {}
    for site in simulation.world.sites:
        for entry in site.disk.read(0, site.disk.first(0), 1 << 60):
            counts[(entry.origin, entry.seqno)] = counts.get((entry.origin, entry.seqno), 0) + 1
    return sum(count < sites for count in counts.values())


class Measuring(Codec):
    """A codec that notes the size of every message that it encodes."""

    sizes: list[int]

    def encode(self, message: Message) -> bytes:
        data = super().encode(message)
        self.sizes.append(len(data))
        return data


def measuring(simulation: Simulation) -> Measuring:
    """Let every message of a run be encoded on its way, and measured."""
    codec = Measuring(simulation.protocol.messages)
    codec.sizes = []
    simulation.world.codec = codec
    return codec
