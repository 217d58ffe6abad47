"""Runs of `coordinator_tree` that one can stop, look into and continue, with every message noted."""

import json
from pathlib import Path
from typing import Any

from tests.protocols.coordinator_tree.counting import CountingNetwork
from tocsin.core.files import read_document
from tocsin.core.message import Message
from tocsin.protocols.coordinator_tree.machine import CoordinatorTree
from tocsin.protocols.coordinator_tree.stream import Seat, Stream
from tocsin.sim.networks.base import Network
from tocsin.sim.scenario import Scenario, scenario_from_document

__all__ = ["FIGURE_2_1", "Noted", "NotingNetwork", "Run", "scenario"]

FIGURE_2_1 = read_document(Path(__file__).parents[3] / "examples" / "figure-2-1.toml")
EVENTS = 100_000


class Noted:
    """A message that was handed to the network."""

    def __init__(self, at_us: int, source: int, targets: list[int], message: Message) -> None:
        self.at_us = at_us
        self.source = source
        self.targets = targets
        self.message = message
        self.kind = message.kind


class NotingNetwork(CountingNetwork):
    """Notes every message, and the copies of each kind that one link carries; may lose what a test wants lost."""

    def __init__(self, inner: Network, link: int) -> None:
        super().__init__(inner, [link] if link >= 0 else [])
        self.noted: list[Noted] = []

    def multicast(self, now: int, source: int, targets: list[int], message: Message, size: int) -> None:
        self.noted.append(Noted(now, source, targets, message))
        super().multicast(now, source, targets, message, size)

    @property
    def crossed(self) -> dict[str, int]:
        """Copies over the link, by kind."""
        return self.copies[0]


class Run:
    """A scenario under way."""

    def __init__(self, scenario: Scenario, seed: int = 0, link: str = "", trace: Any = None) -> None:
        self.scenario = scenario
        self.simulation = scenario.build(seed, trace, codec_on_the_way=True)
        world = self.simulation.world
        assert world.network is not None
        topology = scenario.topology
        self.network = NotingNetwork(world.network, topology.link(link) if topology is not None and link else -1)
        world.network = self.network
        self.names = scenario.names
        self.simulation.stop_when_quiet = False
        self.simulation.start()

    def until(self, at_us: int) -> "Run":
        while self.simulation.run(at_us, EVENTS):
            pass
        return self

    def until_quiet(self) -> "Run":
        self.simulation.stop_when_quiet = True
        self.until(self.scenario.config.duration_us)
        self.simulation.stop_when_quiet = False
        return self

    def machine(self, name: str) -> CoordinatorTree:
        machine = self.simulation.world.sites[self.names.index(name)].machine
        assert isinstance(machine, CoordinatorTree)
        return machine

    def stream(self, name: str, source: str) -> Stream:
        stream = self.machine(name).stream(0, self.names.index(source))
        assert stream is not None, f"{name} has never heard of {source}"
        return stream

    def seat(self, name: str, source: str) -> Seat:
        return self.stream(name, source).seat

    def parents(self, hosts: list[str], source: str) -> dict[str, str]:
        """The edges of the coordinator tree; a root has none."""
        found: dict[str, str] = {}
        for host in hosts:
            parent = self.seat(host, source).parent
            if parent >= 0:
                found[host] = self.names[parent]
        return found

    def coordinators(self, hosts: list[str], source: str) -> set[str]:
        """Whom the hosts take for their coordinator."""
        found = [self.seat(host, source).coordinator for host in hosts]
        return {self.names[site] if site >= 0 else "nobody" for site in found}

    def probers(self, hosts: list[str], source: str) -> list[str]:
        return [host for host in hosts if self.seat(host, source).probing]

    def sent(self, kind: str, since_us: int = 0, by: str = "") -> list[Noted]:
        return [
            noted
            for noted in self.network.noted
            if noted.kind == kind and noted.at_us >= since_us and (not by or noted.source == self.names.index(by))
        ]

    def lacking(self) -> int:
        """Deliveries that are owed, at all sites together."""
        return sum(self.simulation.world.owed)


def scenario(folder: Path, topology: dict[str, Any] | None = None, **keys: Any) -> Scenario:
    """A scenario of `coordinator_tree`; a topology goes into a file beside it."""
    document: dict[str, Any] = {"protocol": "coordinator_tree", **keys}
    if topology is not None:
        (folder / "topology.json").write_text(json.dumps(topology))
        document["topology"] = "topology.json"
    return scenario_from_document(document, "test", folder)
