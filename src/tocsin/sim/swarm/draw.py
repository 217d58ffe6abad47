"""Drawing a random scenario inside a protocol's declared assumptions.

A scenario has a safety phase with everything the assumptions allow going wrong, an instant at which everything is
healed, and a liveness phase of the protocol's own bound, in which everything owed must be delivered.
"""

from typing import Any

from tocsin.core.generators_config import generate, generated_from_document
from tocsin.core.rng import Rng
from tocsin.protocols.protocol import Protocol

SAFETY_US_MAX = 8_000_000
FAULTS_MAX = 6
MESSAGES_MAX = 60
FEW_GROUPS = 4
EARLY_US = 20_000  # before any protocol suspects anybody: every founding member still belongs to the group

Document = dict[str, Any]


def draw_scenario(protocol: Protocol, seed: int) -> Document:
    """The scenario of a seed, as the document of a scenario file."""
    return _Draw(protocol, Rng(seed).fork(f"swarm/{protocol.name}")).scenario()


class _Draw:
    def __init__(self, protocol: Protocol, rng: Rng) -> None:
        self.protocol = protocol
        self.assume = protocol.assumptions
        self.rng = rng
        self.heal_us = rng.between(500_000, SAFETY_US_MAX)
        self.names: list[str] = []
        self.down_for_good: set[str] = set()  # crashed and never back
        self.faults: list[Document] = []
        self.group_names: list[str] = ["all"]

    def scenario(self) -> Document:
        rng = self.rng
        count = self._site_count()
        model = self.assume.networks[rng.below(len(self.assume.networks))]
        document: Document = {"protocol": self.protocol.name}
        if model in ("switched", "lossy"):
            document["topology"] = self._topology(model, count)
            self.names = [f"h{number + 1}" for number in range(count)]
        else:
            self.names = [chr(ord("a") + site) for site in range(count)] if count <= 26 else []
            self.names = self.names or [f"s{site}" for site in range(count)]
            document["sites"] = count
        if self.assume.several_groups and count >= 2 and rng.chance(0.5):
            document["groups"] = self._groups()
            self.group_names = list(document["groups"])
        document["duration_us"] = self.heal_us + self.protocol.liveness_us
        document["options"] = {
            name: values[rng.below(len(values))] for name, values in sorted(self.protocol.variations.items())
        }
        document["workload"] = self._workload()
        document["network"] = self._network(model)
        document["disk"] = {"sync_us": rng.between(1, 20_000)} if self.assume.lossy_disk and rng.chance(0.5) else {}
        self._draw_faults(document)
        document["faults"] = sorted(self.faults, key=lambda fault: int(fault["at_us"]))
        return document

    def _site_count(self) -> int:
        """Mostly few: a bug shows itself there first, and a thousand small runs say more than ten large ones."""
        low, high = self.assume.sites_min, self.assume.sites_max
        if self.rng.chance(0.75):
            high = min(high, max(low, 6))
        return self.rng.between(low, high)

    def _topology(self, model: str, count: int) -> Document:
        rng = self.rng
        if model == "switched":
            switches = rng.between(1, max(1, count))
            return {
                "shape": "random_switched",
                "hosts": count,
                "switches": switches,
                "trunks": min(switches * (switches - 1) // 2, switches - 1 + rng.below(3)),  # no twin trunks
            }
        loss = round(rng.random() * self.assume.loss_max, 4)
        tree = {"shape": "random_tree", "nodes": count, "loss": loss, "crash": round(rng.random() * 0.05, 4)}
        return self._with_cycles(rng.fork("shape"), tree, count) if self.assume.links_change else tree

    def _with_cycles(self, rng: Rng, tree: Document, count: int) -> Document:
        """Where links come and go, mostly a network in which there is another way round."""
        way = rng.below(4)
        if way == 0:
            return tree
        if way == 1 and count > 2:
            return {**tree, "shape": "ring"}
        return {**tree, "shape": "random_connected", "links": rng.between(count - 1, count * (count - 1) // 2)}

    def _groups(self) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        most = self.assume.groups_max
        if most > FEW_GROUPS and self.rng.chance(0.6):
            most = FEW_GROUPS
        for number in range(self.rng.between(1, most)):
            size = self.rng.between(1, len(self.names))
            groups[f"g{number}"] = [self.names[site] for site in self.rng.sample(len(self.names), size)]
        return groups

    def _workload(self) -> Document:
        rng = self.rng
        workload: Document = {"messages": rng.between(1, MESSAGES_MAX), "size": [0, 200]}
        way = rng.below(4)
        span = max(1, self.heal_us * 3 // 4)
        senders = rng.between(1, len(self.names))
        per_sender = max(1, workload["messages"] // senders)
        if way == 0:
            workload["rate_per_site"] = round(1e6 * per_sender / span, 3) or 0.001
        elif way == 1:
            workload["every_us"] = max(1, span // per_sender)
        elif way == 2:
            workload["every_us"] = max(1, span // max(1, per_sender // 5))
            workload["burst"] = 5
        else:
            workload["outstanding"] = rng.between(1, 4)
        if senders < len(self.names):
            workload["senders"] = [self.names[site] for site in rng.sample(len(self.names), senders)]
        return workload

    def _network(self, model: str) -> Document:
        rng = self.rng
        scale = (100, 1_000, 5_000, 20_000)[rng.below(4)]
        shape = rng.below(4)
        delay: Any = scale
        if shape == 1:
            delay = [0, 2 * scale]
        elif shape == 2:
            delay = {"shape": "exponential", "low_us": scale // 10, "mean_us": scale}
        elif shape == 3:
            delay = {"shape": "long_tail", "low_us": max(1, scale // 10)}
        if not self.assume.reordering:
            delay = scale
        network: Document = {"model": model, "delay_us": delay}
        if self.assume.loss_max > 0 and rng.chance(0.8):
            network["loss"] = round(rng.random() * self.assume.loss_max, 4)
        if self.assume.duplication and rng.chance(0.5):
            network["duplicate"] = round(rng.random() * 0.2, 4)
        if self.assume.reordering and rng.chance(0.5):
            network["reorder"] = round(rng.random() * 0.3, 4)
            network["reorder_us"] = 10 * scale
        if self.assume.detector:
            network["detect_us"] = rng.between(1, 5 * scale)
        return network

    # Faults

    def _draw_faults(self, document: Document) -> None:
        ways = []
        if self.assume.crashes != "none":
            ways.append(self._crash)
            if self.assume.crashes == "any":
                ways.append(self._restart_all)
        if self.assume.partitions and len(self.names) > 1:
            ways.append(self._partition)
        if self.assume.one_way_cuts and len(self.names) > 1:
            ways.append(self._cut)
        if self.assume.pauses:
            ways.append(self._pause)
        if self.assume.leaves and len(self.names) > 2:
            ways.append(self._leave)
        if self.assume.group_changes:
            ways.append(self._change)
        if self.assume.joins and len(self.names) > 2 and self.rng.chance(0.3):
            self._join(document)
        if ways:
            for _ in range(self.rng.below(FAULTS_MAX + 1)):
                ways[self.rng.below(len(ways))]()
        if self.assume.links_change and "topology" in document:
            self._fail_links(self.rng.fork("links"), document["topology"])
        if self.assume.minority_stays_down:
            self._lose_minority(self.rng.fork("minority"), document)
        self._heal()

    def _when(self) -> tuple[int, int]:
        """A span of time inside the safety phase."""
        begin = self.rng.between(0, self.heal_us - 1)
        return begin, self.rng.between(begin, self.heal_us - 1)

    def _crash(self) -> None:
        begin, end = self._when()
        at_once_max = len(self.names) if self.assume.crashes == "any" else (len(self.names) - 1) // 2
        busy = {name for fault in self.faults for name in fault.get("crash", [])}
        free = [name for name in self.names if name not in busy and name not in self.down_for_good]
        room = at_once_max - (len(busy) if self.assume.crashes == "minority" else 0)
        if not free or room <= 0:
            return
        chosen = [free[site] for site in self.rng.sample(len(free), self.rng.between(1, min(len(free), room)))]
        self.faults.append({"at_us": begin, "crash": chosen})
        if self.assume.crashes_recover or self.rng.chance(0.7) or len(chosen) == len(self.names):
            self.faults.append({"at_us": end, "recover": chosen})
        else:
            self.down_for_good.update(chosen)

    def _lose_minority(self, rng: Rng, document: Document) -> None:
        """Sometimes: less than half of the founding sites crash before anything else goes wrong, and stay down."""
        joining = [name for fault in self.faults for name in fault.get("join", [])]
        founders = [name for name in self.names if name not in joining]
        most = (len(founders) - 1) // 2
        if most < 1 or rng.chance(0.7):
            return
        lost = [founders[site] for site in rng.sample(len(founders), rng.between(1, most))]
        gone = {*lost, *joining}
        if any(set(members) <= gone for members in document.get("groups", {}).values()):
            return  # no founding member would be left to deliver to
        self.down_for_good.update(lost)
        early = min([EARLY_US, *[max(0, int(fault["at_us"]) - 1) for fault in self.faults]])
        self.faults = [fault for fault in (_without(fault, lost) for fault in self.faults) if fault is not None]
        self.faults.append({"at_us": rng.between(0, early), "crash": lost})

    def _restart_all(self) -> None:
        begin, _ = self._when()
        up = [name for name in self.names if name not in self.down_for_good]
        if up:
            self.faults.append({"at_us": begin, "restart": up})

    def _partition(self) -> None:
        begin, end = self._when()
        parts: list[list[str]] = [[] for _ in range(self.rng.between(2, 3))]
        for name in self.names:
            parts[self.rng.below(len(parts))].append(name)
        self.faults.append({"at_us": begin, "partition": [part for part in parts if part]})
        self.faults.append({"at_us": end, "heal": True})

    def _cut(self) -> None:
        begin, end = self._when()
        source = self.rng.below(len(self.names))
        target = (source + self.rng.between(1, len(self.names) - 1)) % len(self.names)
        self.faults.append({"at_us": begin, "cut": [[self.names[source], self.names[target]]]})
        self.faults.append({"at_us": end, "heal": True})

    def _pause(self) -> None:
        begin, end = self._when()
        chosen = [self.names[self.rng.below(len(self.names))]]
        self.faults.append({"at_us": begin, "pause": chosen})
        self.faults.append({"at_us": end, "resume": chosen})

    def _fail_links(self, rng: Rng, topology: Document) -> None:
        """Links fail for a while, or are there only after a while; all are repaired when everything heals."""
        labels = generate(generated_from_document(topology, "swarm"), Rng(0)).link_labels()
        for _ in range(rng.below(FAULTS_MAX + 1)):
            chosen = [labels[link] for link in rng.sample(len(labels), rng.between(1, min(3, len(labels))))]
            begin = rng.between(0, self.heal_us - 1) if rng.chance(0.7) else 0
            self.faults.append({"at_us": begin, "fail": chosen})
            self.faults.append({"at_us": rng.between(begin, self.heal_us - 1), "repair": chosen})
        self.faults.append({"at_us": self.heal_us, "repair": labels})

    def _leave(self) -> None:
        begin, _ = self._when()
        left = [name for fault in self.faults for name in fault.get("leave", [])]
        free = [name for name in self.names if name not in left]
        if len(free) > 2:
            self.faults.append({"at_us": begin, "leave": [free[self.rng.below(len(free))]]})

    def _join(self, document: Document) -> None:
        begin, _ = self._when()
        self.faults.append({"at_us": begin + 1, "join": [self.names[-1]]})

    def _change(self) -> None:
        begin, _ = self._when()
        size = self.rng.between(1, len(self.names))
        members = [self.names[site] for site in self.rng.sample(len(self.names), size)]
        groups = [*self.group_names, "new"]
        self.faults.append({"at_us": begin, "change": {groups[self.rng.below(len(groups))]: members}})

    def _heal(self) -> None:
        """Everything works from here on; who is down for good stays down."""
        at = self.heal_us
        back = [name for name in self.names if name not in self.down_for_good]
        self.faults.append({"at_us": at, "heal": True})
        self.faults.append({"at_us": at, "calm": True})
        if back:
            self.faults.append({"at_us": at, "resume": back})
        if back and self.assume.crashes != "none":
            self.faults.append({"at_us": at, "recover": back})


def _without(fault: Document, lost: list[str]) -> Document | None:
    """A fault that spares those who are down for good; None if nobody else is left in it."""
    for what in ("crash", "recover", "restart", "pause", "resume", "leave"):
        if what in fault:
            others = [name for name in fault[what] if name not in lost]
            return {**fault, what: others} if others else None
    return fault
