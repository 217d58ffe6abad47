"""Runs of `coordinator_tree` that one can stop, look into and continue, with every message noted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from tocsin.core.message import Message
from tocsin.protocols.coordinator_tree.machine import CoordinatorTree
from tocsin.protocols.coordinator_tree.stream import Seat, Stream
from tocsin.sim.networks.base import Network
from tocsin.sim.scenario import Scenario, scenario_from_document

EVENTS = 100_000

FIGURE_2_1 = {  # the reconstruction of the paper's lost figure; l6 is the expensive link of section 5
    "nodes": [{"name": f"h{number}"} for number in range(1, 6)]
    + [{"name": f"s{number}", "kind": "switch"} for number in range(1, 7)],
    "links": [
        {"name": "l1", "ends": ["h1", "s1"]},
        {"name": "l2", "ends": ["s1", "s3"]},
        {"name": "l3", "ends": ["s1", "s2"]},
        {"name": "l4", "ends": ["s2", "s3"]},
        {"name": "l5", "ends": ["h2", "s2"]},
        {"name": "l6", "ends": ["s3", "s4"], "cost": 5.0},
        {"name": "l7", "ends": ["h3", "s4"]},
        {"name": "l8", "ends": ["s4", "s5"]},
        {"name": "l9", "ends": ["h4", "s5"]},
        {"name": "l10", "ends": ["s4", "s6"]},
        {"name": "l11", "ends": ["h5", "s6"]},
    ],
}


class Noted:
    """A message that was handed to the network."""

    def __init__(self, at_us: int, source: int, targets: list[int], message: Message) -> None:
        self.at_us = at_us
        self.source = source
        self.targets = targets
        self.message = message
        self.kind = message.kind


class NotingNetwork(Network):
    """Notes every message, and the copies of each kind that one link carries; may lose what a test wants lost."""

    has_multicast: ClassVar[bool] = True

    def __init__(self, inner: Network, link: int) -> None:
        super().__init__(inner.kernel, inner.world, inner.sites, inner.conditions)
        self.inner = inner
        self.link = link  # whose copies are counted; -1 for none
        self.copies: dict[str, int] = {}  # over that link, by kind
        self.noted: list[Noted] = []
        self.loses: Callable[[int, int, Message], bool] | None = None  # (source, target, message)

    def send(self, now: int, source: int, target: int, message: Message, size: int) -> None:
        self.multicast(now, source, [target], message, size)

    def multicast(self, now: int, source: int, targets: list[int], message: Message, size: int) -> None:
        self.noted.append(Noted(now, source, targets, message))
        loses = self.loses
        if loses is not None:
            targets = [target for target in targets if not loses(source, target, message)]
        before = self._carried()
        self.inner.multicast(now, source, targets, message, size)
        carried = self._carried() - before
        if carried:
            self.copies[message.kind] = self.copies.get(message.kind, 0) + carried

    def _carried(self) -> int:
        traffic: list[int] = getattr(self.inner, "_traffic", [])
        return traffic[self.link] if self.link >= 0 else 0

    def fail_link(self, link: int) -> None:
        self.inner.fail_link(link)

    def repair_link(self, link: int) -> None:
        self.inner.repair_link(link)


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
