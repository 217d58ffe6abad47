"""A scenario while it is drawn: its sites, its network and workload, and the faults so far, each with its kind."""

from typing import Any

from tocsin.core.rng import Rng
from tocsin.protocols.protocol import Protocol

Document = dict[str, Any]

LOSSES = ("loss", "duplicate", "reorder")  # of the network
STOPS = ("crash", "tear", "wipe", "restore", "damage")  # faults of sites that are down then
FOR_GOOD = ("stay_down", "minority")  # kinds of faults that nothing ends


class Plan:
    """What a seed has drawn so far. `finish` makes the document of a scenario file of it."""

    def __init__(self, protocol: Protocol, heal_us: int) -> None:
        self.protocol = protocol
        self.assume = protocol.assumptions
        self.heal_us = heal_us  # from here on nothing goes wrong
        self.names: list[str] = []
        self.document: Document = {"protocol": protocol.name}
        self.pieces: list[tuple[str, Document]] = []  # faults, each with the kind that it was drawn as
        self.kinds: set[str] = set()  # that this scenario has

    # Faults

    def add(self, kind: str, at_us: int, what: str, value: Any, **beside: Any) -> None:
        self.pieces.append((kind, {"at_us": at_us, what: value, **beside}))
        self.kinds.add(kind)

    def keep(self, kinds: set[str]) -> None:
        """Drop the faults of all other kinds."""
        self.pieces = [(kind, fault) for kind, fault in self.pieces if kind in kinds]
        self.kinds = {kind for kind in self.kinds if kind in kinds}

    def faults(self) -> list[Document]:
        return [fault for _, fault in self.pieces]

    def span(self, rng: Rng) -> tuple[int, int]:
        """A span of time inside the safety phase."""
        begin = rng.between(0, self.heal_us - 1)
        return begin, rng.between(begin, self.heal_us - 1)

    # Who

    def named(self, *keys: str) -> list[str]:
        """Those that some fault with one of these keys names."""
        return [name for fault in self.faults() for key in keys for name in fault.get(key, [])]

    def joining(self) -> list[str]:
        return self.named("join", "add")

    def down_for_good(self) -> set[str]:
        """Who crashes and does not come back; a voter that was removed counts as gone for good, too."""
        crashed = {name for kind, fault in self.pieces if kind in FOR_GOOD for name in fault.get("crash", [])}
        return crashed | set(self.named("remove"))

    def gone(self) -> list[str]:
        """Who has left and does not return, in the order of leaving. Who left runs on: a restart brings it back, or a
        recovery after a crash."""
        left: list[str] = []
        down: set[str] = set()
        for fault in sorted(self.faults(), key=lambda fault: int(fault["at_us"])):
            left += [name for name in fault.get("leave", []) if name not in left]
            for key in STOPS:
                down.update(fault.get(key, []))
            started = {*fault.get("restart", []), *[name for name in fault.get("recover", []) if name in down]}
            left = [name for name in left if name not in started]
            down -= started
        return left

    def steady(self) -> list[str]:
        """Those who are there from the start and are not away for good: more may happen to them."""
        away = {*self.joining(), *self.down_for_good(), *self.named("leave")}
        return [name for name in self.names if name not in away]

    def spare(self, later: int = 0) -> int:
        """How many more founders may lose their disks or be gone for good: a majority is there with theirs. Below zero:
        already too many, if so many (`later`) were no founders but joined."""
        founders = len(self.names) - len(self.joining()) - later
        lost = set(self.named("wipe", "restore", "damage"))
        return (founders - 1) // 2 - len(lost | self.down_for_good() | set(self.gone()))

    def has_somebody(self, members: list[str]) -> bool:
        """Whether a group of these is more than sites down for good, where its protocol waits for one member."""
        return not (self.assume.minority_stays_down and self.down_for_good().issuperset(members))

    def some(self, rng: Rng, names: list[str], most: int) -> list[str]:
        """A few of those names, in any order."""
        return [names[place] for place in rng.sample(len(names), rng.between(1, max(1, min(most, len(names)))))]

    # Groups and workload

    def group_names(self) -> list[str]:
        return list(self.document.get("groups", {"all": "*"}))

    def add_group(self, name: str, members: list[str]) -> None:
        groups = self.document.get("groups", {"all": "*"})
        self.document["groups"] = {**groups, name: members}

    def still(self) -> None:
        """Nothing else goes wrong in this run: no losses, and no fault so far counts."""
        self.kinds -= {*LOSSES, *[kind for kind, _ in self.pieces]}
        self.pieces = []
        for key in LOSSES:
            self.document["network"].pop(key, None)

    # The end

    def finish(self) -> Document:
        """Everything works from `heal_us` on, for the protocol's bound; who is down for good stays down."""
        at = self.heal_us
        down = self.down_for_good()
        back = [name for name in self.names if name not in down]
        ends: list[Document] = [{"at_us": at, "heal": True}, {"at_us": at, "calm": True}]
        going_on = [name for name in self.names if name in back or name in self.named("remove")]
        if going_on:
            ends.append({"at_us": at, "resume": going_on})
        if back and self.assume.crashes != "none":
            ends.append({"at_us": at, "recover": back})
        if self.named("slow"):
            ends.append({"at_us": at, "quick": sorted(set(self.named("slow")))})
        document = dict(self.document)
        document["duration_us"] = at + self.protocol.liveness_us
        document["faults"] = sorted(self.faults() + ends, key=lambda fault: int(fault["at_us"]))
        return document
