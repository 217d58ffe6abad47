"""Garcia-Molina and Kogan, sections 3 and 6: who sends again what was missed, and from how far."""

from typing import Annotated

from msgspec import Meta

from papers.kogan.experiments.runs import (
    DELAY_US,
    PARTED_US,
    TREE_KINDS,
    Hosts,
    Messages,
    Which,
    bridge_fails,
    difference,
    drawn_network,
    repaired_us,
    started,
    two_sides,
)
from papers.kogan.experiments.trees import behind_links
from tocsin.core.message import Message
from tocsin.core.rng import Rng
from tocsin.core.topology_config import topology_from_document
from tocsin.spark.sweep.experiment import Experiment


class Repair(Experiment, frozen=True):
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
        bridge = difference(run.network.copies[0], before[0])
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


class Transient(Experiment, frozen=True):
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


class Redelivery(Experiment, frozen=True):
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


class Epidemic(Experiment, frozen=True):
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
