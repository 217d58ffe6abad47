"""Runs of `coordinator_tree` beside the basic algorithm, on networks of switches.

The basic algorithm of section 3 is `ack_all` without multicast: a copy to every host until it has acknowledged.
"""

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta

from tests.protocols.coordinator_tree.counting import CountingNetwork, counted
from tocsin.core.generators import random_switched, vary
from tocsin.core.rng import Rng
from tocsin.core.topology_config import topology_to_document
from tocsin.planning.distances import HostDistances
from tocsin.sim.scenario import Scenario, scenario_from_document
from tocsin.sim.simulation import Simulation

Which = Literal["coordinator_tree", "ack_all"]
Hosts = Annotated[int, Meta(ge=1, le=1_000)]
Messages = Annotated[int, Meta(ge=1, le=100_000)]
Micros = Annotated[int, Meta(ge=1, le=10**9)]
EVENTS = 100_000  # between two looks at the clock
DELAY_US = 500  # of a link
PARTED_US = 1_000_000
EVERY_US = 1_000
REPAIRED_AFTER_US = 3_000_000

# what forms and feeds the tree; null messages and reports to the source come with and without partitions
TREE_KINDS = ("probe", "answer", "desc", "coordinator", "request", "tidings")


class Run(NamedTuple):
    """A run under way: built and started."""

    simulation: Simulation
    network: CountingNetwork
    scenario: Scenario

    def until(self, at_us: int) -> None:
        while self.simulation.run(at_us, EVENTS):
            pass

    def until_delivered(self, at_us: int, step_us: int) -> int:
        """Run on until nobody is owed anything, or up to a time; when that was seen, to within a step."""
        now = self.simulation.kernel.now
        while self.lacking() and now < at_us:
            now = min(at_us, now + step_us)
            self.until(now)
        return now

    def lacking(self) -> int:
        """Deliveries that are owed, at all sites together."""
        return sum(self.simulation.world.owed)


def started(which: Which, topology: dict[str, Any], links: list[str], seed: int, **keys: Any) -> Run:
    """A run on a network of switches, counting the copies over some links; it goes on when nothing is to be done."""
    document: dict[str, Any] = {"protocol": which, "topology": "topology.json", **keys}
    document["network"] = {"model": "switched", "delay_us": DELAY_US}
    if which == "ack_all":
        document["options"] = {"multicast": False, "window": 1 << 20}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "topology.json").write_text(json.dumps(topology))
        scenario = scenario_from_document(document, "experiment", Path(folder))
        simulation = scenario.build(seed, None)
    assert scenario.topology is not None
    network = counted(simulation, [scenario.topology.link(link) for link in links])
    simulation.stop_when_quiet = False
    simulation.start()
    return Run(simulation, network, scenario)


def two_sides(hosts: int) -> dict[str, Any]:
    """The source h1 and a neighbour n on one side of a bridge, `hosts` hosts on the other."""
    names = ["h1", "n", *[f"k{number}" for number in range(hosts)]]
    sides = {name: "s2" if name.startswith("k") else "s1" for name in names}
    return {
        "nodes": [{"name": name} for name in names] + [{"name": s, "kind": "switch"} for s in ("s1", "s2")],
        "links": [{"name": "bridge", "ends": ["s1", "s2"], "cost": 5.0}]
        + [{"name": f"to_{name}", "ends": [name, side]} for name, side in sides.items()],
    }


def bridge_fails(messages: int, link: str = "bridge", longer_us: int = 0) -> dict[str, Any]:
    """One message while a link works, `messages` while it is down, then it is repaired, at once or later."""
    return {
        "duration_us": 10**9,
        "workload": {
            "messages": messages + 1,
            "every_us": EVERY_US,
            "senders": ["h1"],
            "start_us": PARTED_US - EVERY_US // 2,
        },
        "faults": [
            {"at_us": PARTED_US, "fail": [link]},
            {"at_us": repaired_us(messages) + longer_us, "repair": [link]},
        ],
    }


def repaired_us(messages: int) -> int:
    return PARTED_US + messages * EVERY_US + REPAIRED_AFTER_US


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    return {kind: count - before.get(kind, 0) for kind, count in after.items()}


def drawn_network(hosts: int, rng: Rng, trunks_more: int = 2) -> tuple[dict[str, Any], HostDistances]:
    """A random network of switches with links of different costs, and the distances between its hosts."""
    switches = max(2, hosts // 2)
    topology = random_switched(
        hosts, switches, switches - 1 + min(trunks_more, (switches - 1) * (switches - 2) // 2), rng
    )
    vary(topology, rng, cost=(1.0, 9.0))
    document = topology_to_document(topology)
    for number, link in enumerate(document["links"]):
        link["name"] = f"l{number}"
    return document, HostDistances(topology)
