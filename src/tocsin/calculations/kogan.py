"""Experiments on Garcia-Molina, Kogan 1988: `coordinator_tree` beside the basic algorithm, in the simulator.

The basic algorithm of section 3 is `ack_all` without multicast: a copy to every host until it has acknowledged.
"""

import json
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from msgspec import Meta

from tocsin.calculations.calculation import Calculation
from tocsin.calculations.counting import CountingNetwork, counted
from tocsin.calculations.kogan_trees import ASSIGNMENTS, FIGURE_2_1, behind_links
from tocsin.core.generators import random_switched, vary
from tocsin.core.message import Message
from tocsin.core.rng import Rng
from tocsin.core.topology_config import topology_from_document, topology_to_document
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


class Under(NamedTuple):
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


def started(which: Which, topology: dict[str, Any], links: list[str], seed: int, **keys: Any) -> Under:
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
    return Under(simulation, network, scenario)


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


class Repair(Calculation, frozen=True):
    """Section 6: a link that parted k hosts from the source comes back, m messages later."""

    protocol: Which
    hosts: Hosts  # k
    messages: Messages  # m

    def cost(self) -> float:
        return self.hosts * self.messages * (10.0 if self.protocol == "ack_all" else 1.0)

    def measure(self, seed: int) -> dict[str, float]:
        run = started(self.protocol, two_sides(self.hosts), ["bridge", "to_h1"], seed, **bridge_fails(self.messages))
        run.until(PARTED_US + 1_500_000)  # by then the isolated hosts have chosen
        formed = dict(run.network.sent)
        run.until(repaired_us(self.messages) - 1)
        sent = dict(run.network.sent)
        before = [dict(copies) for copies in run.network.copies]
        done = run.until_delivered(10**9, DELAY_US)
        run.until(done + 1_000_000)  # for what still follows
        bridge = _difference(run.network.copies[0], before[0])
        probers = {
            site for (site, kind), count in sent.items() if kind == "probe" and count > formed.get((site, kind), 0)
        }
        return {
            "data": bridge.get("data", 0),
            "control": sum(bridge.get(kind, 0) for kind in (*TREE_KINDS, "ack") if self._counts(kind)),
            "server": run.network.copies[1].get("data", 0),
            "sent": sent[0, "data"] / (self.messages + 1),  # by the source until the repair, a message
            "probers": len(probers),
            "recovery_us": done - repaired_us(self.messages),
            "lacking": run.lacking(),
        }

    def _counts(self, kind: str) -> bool:
        """An acknowledgement of `coordinator_tree` is a report for stability, which comes without partitions too."""
        return kind != "ack" or self.protocol == "ack_all"


def _difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    return {kind: count - before.get(kind, 0) for kind, count in after.items()}


class Control(Calculation, frozen=True):
    """Section 6: control messages in twenty seconds, for few and many messages, with and without a partition."""

    protocol: Which
    messages: Messages
    parted: bool
    hosts: Hosts = 5  # beyond the bridge; there is one more on the source's side

    def cost(self) -> float:
        return self.messages + 100.0

    def measure(self, seed: int) -> dict[str, float]:
        faults = [{"at_us": 3_000_000, "fail": ["bridge"]}, {"at_us": 6_000_000, "repair": ["bridge"]}]
        run = started(
            self.protocol,
            two_sides(self.hosts),
            ["bridge", "to_h1"],
            seed,
            duration_us=20_000_000,
            workload={"messages": self.messages, "every_us": 10_000_000 // self.messages, "senders": ["h1"]},
            faults=faults if self.parted else [],
        )
        run.until(20_000_000)
        tally = run.simulation.world.tally
        delays = [at - tally.broadcast_at[message] for message, at in tally.delivered_at.items()]
        total = sum(count for (_, kind), count in run.network.sent.items() if kind != "data")
        return {
            "control": total,
            "control.null": run.network.sent_kind("null"),
            "control.per_message_and_host": total / self.messages / (self.hosts + 1),
            "data.bridge": run.network.copies[0].get("data", 0) / self.messages,
            "data.server": run.network.copies[1].get("data", 0) / self.messages,
            "delay_us": sum(delays) / len(delays),
            "lacking": run.lacking(),
        }


class Delta(Calculation, frozen=True):
    """Section 6: the period of null messages, what it costs, and how soon missing messages are noticed and there."""

    delta_us: Micros
    failure: Literal["transient", "partition"]
    hosts: Hosts = 5

    def measure(self, seed: int) -> dict[str, float]:
        last_us = 20_000_000 + Rng(seed).below(4 * self.delta_us)  # at any moment of the period
        repaired = last_us + (1_000 if self.failure == "transient" else 12 * self.delta_us)
        run = started(
            "coordinator_tree",
            two_sides(self.hosts),
            ["bridge"],
            seed,
            options={"delta_us": self.delta_us},
            duration_us=10**9,
            workload={"messages": 2, "every_us": last_us, "senders": ["h1"]},
            faults=[{"at_us": last_us - 100, "fail": ["bridge"]}, {"at_us": repaired, "repair": ["bridge"]}],
        )
        run.until(10_000_000)
        before = sum(run.network.sent.values())
        run.until(20_000_000)
        quiet = sum(run.network.sent.values()) - before
        run.until(repaired)
        done = run.until_delivered(10**9, DELAY_US)
        return {"recovery_us": done - repaired, "messages_in_10_s": quiet, "lacking": run.lacking()}


class Transient(Calculation, frozen=True):
    """Section 6: one host of a random network misses one message; who sends it again, from how far?"""

    protocol: Which
    hosts: Annotated[int, Meta(ge=3, le=1_000)]

    def cost(self) -> float:
        return self.hosts

    def measure(self, seed: int) -> dict[str, float]:
        topology, distances = drawn_network(self.hosts, Rng(seed))
        loser = 1 + Rng(seed).fork("loser").below(self.hosts - 1)
        run = started(
            self.protocol,
            topology,
            [],
            seed,
            duration_us=20_000_000,
            workload={"messages": 10, "every_us": 10_000, "senders": ["h1"]},
        )
        lost: list[int] = []
        again: list[int] = []

        def loses(source: int, target: int, message: Message) -> bool:
            if message.kind != "data" or target != loser or getattr(message, NUMBER[self.protocol]) != 4:
                return False
            if not lost:
                lost.append(source)
                return True
            again.append(source)
            return False

        run.network.loses = loses
        run.until(5_000_000)
        return {
            "cost": float(distances.matrix[again[0], loser]),
            "cost.source": float(distances.matrix[0, loser]),
            "cost.part": float(distances.matrix[again[0], loser] / distances.matrix[0, loser]),
            "by_source": float(again[0] == 0),
            "again": len(again),
            "lacking": run.lacking(),
        }


class Redelivery(Calculation, frozen=True):
    """Section 6: a link of a random network fails and comes back; from how far the missed messages are sent?"""

    hosts: Annotated[int, Meta(ge=6, le=1_000)]
    messages: Messages = 10

    def cost(self) -> float:
        return self.hosts

    def measure(self, seed: int) -> dict[str, float]:
        rng = Rng(seed)
        topology, distances = drawn_network(self.hosts, rng, trunks_more=0)  # a tree: every link parts it
        network = topology_from_document(topology, "experiment")
        partitions = behind_links(network, distances)
        open_sides = [cut for cut, away in partitions.items() if sum(away) < self.hosts - 1]
        if not open_sides:  # all other hosts are behind every such link: only the source could send
            return {"possible": 0.0}
        cut = open_sides[rng.below(len(open_sides))]
        away = partitions[cut]
        longer_us = rng.below(5_000_000)  # the link comes back at any moment of the coordinator's round
        keys = bridge_fails(self.messages, topology["links"][cut]["name"], longer_us)
        run = started("coordinator_tree", topology, [], seed, **keys)
        run.until(repaired_us(self.messages) + longer_us - 1)
        sent: list[tuple[int, int]] = []

        def notes(source: int, target: int, message: Message) -> bool:
            if message.kind == "data" and away[target] and not away[source]:
                sent.append((source, target))
            return False

        run.network.loses = notes
        run.until_delivered(10**9, DELAY_US)
        behind = [host for host in range(self.hosts) if away[host]]
        side = [host for host in range(self.hosts) if not away[host]]
        far = {host: sum(float(distances.matrix[host, target]) for target in behind) for host in side}
        near = [host for host in side if far[host] < far[0]]
        found = {
            "possible": 1.0,
            "part": sum(far[source] for source, _ in sent) / len(sent) / far[0],
            "by_source": sum(source == 0 for source, _ in sent) / len(sent),
            "lacking": run.lacking(),
        }
        if near:  # some host of the source's side is nearer than the source: did such a one send?
            found["by_nearer"] = sum(source in near for source, _ in sent) / len(sent)
            found["by_nearer.random"] = len(near) / len(side)  # if any host of that side did, each as likely
        return found


NUMBER = {"coordinator_tree": "number", "ack_all": "seqno"}  # the field that tells a source's messages apart


class Epidemic(Calculation, frozen=True):
    """Sections 1 and 3: a message reaches some hosts before the source is cut off for good; who has it at last?"""

    protocol: Which
    reached: Annotated[int, Meta(ge=1, le=100)]
    hosts: Hosts = 10

    def measure(self, seed: int) -> dict[str, float]:
        rng = Rng(seed)
        topology, _ = drawn_network(self.hosts, rng)
        reached = {1 + site for site in rng.sample(self.hosts - 1, self.reached)}
        entrance = next(link["name"] for link in topology["links"] if "h1" in link["ends"])
        run = started(
            self.protocol,
            topology,
            [],
            seed,
            duration_us=60_000_000,
            workload={"messages": 1, "every_us": 10**9, "senders": ["h1"]},
            faults=[{"at_us": 15_000, "fail": [entrance]}],
        )
        run.network.loses = lambda source, target, message: source == 0 and target not in reached
        run.until(30_000_000)
        return {"have": self.hosts - 1 - run.lacking(), "others": self.hosts - 1}


class Assignment(Calculation, frozen=True):
    """Section 5: figure 2.1 when the source is cut off; what the expensive link carries for the tree."""

    assignment: Literal["A", "B"]

    def measure(self, seed: int) -> dict[str, float]:
        run = started(
            "coordinator_tree",
            FIGURE_2_1,
            ["l6"],
            seed,
            options={"lists": {"h1": ASSIGNMENTS[self.assignment]}, "measure_periods": 0},
            duration_us=60_000_000,
            workload={"messages": 1, "every_us": 10**9, "senders": ["h1"]},
            faults=[{"at_us": PARTED_US, "fail": ["l1"]}],
        )
        run.until(PARTED_US)
        before = dict(run.network.copies[0])
        run.until(PARTED_US + 1_000_000)
        formed = _difference(run.network.copies[0], before)
        run.until(PARTED_US + 11_000_000)
        later = _difference(run.network.copies[0], before)
        return {
            # copies over the link in the first second: to find a coordinator, and between it and those below it
            "probing": sum(formed.get(kind, 0) for kind in ("probe", "answer")),
            "telling": sum(formed.get(kind, 0) for kind in ("coordinator", "desc", "request", "tidings")),
            "formed": sum(formed.get(kind, 0) for kind in TREE_KINDS),
            "next_10_s": sum(later.get(kind, 0) - formed.get(kind, 0) for kind in TREE_KINDS),
        }


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
