"""The world of one run: sites, a network between them, and the notes that are taken of all that happens."""

from abc import ABC, abstractmethod
from typing import Protocol as Interface

from tocsin.core.codec import Codec
from tocsin.core.errors import InputError
from tocsin.core.machine import GroupId, Micros, SiteId
from tocsin.core.message import Message
from tocsin.core.rng import Rng
from tocsin.sim.disk import Disk
from tocsin.sim.dues import Dues
from tocsin.sim.duties.held import Looks
from tocsin.sim.duties.notes import Notes
from tocsin.sim.kernel import Kernel
from tocsin.sim.networks.base import Network
from tocsin.sim.site import Site
from tocsin.sim.surroundings import Surroundings


class TraceSink(Interface):
    """Where trace rows go; the columns are those of docs/formats.md. A site's rows come in order."""

    def append(
        self,
        site: int,
        time_us: int,
        event: str,
        group: str | None = None,
        origin: str | None = None,
        seqno: int | None = None,
        kind: str | None = None,
        peer: str | None = None,
        size: int | None = None,
        position: int | None = None,
        view: int | None = None,
        members: list[str] | None = None,
    ) -> None: ...

    def begin_incarnation(self, site: int) -> None: ...


class Tally:
    """What happened, in numbers; the answer of `tocsin simulate` is made from it."""

    def __init__(self) -> None:
        self.sent: dict[type[Message], int] = {}  # unicast messages; a class is found sooner than its kind
        self.spread: dict[type[Message], int] = {}  # multicasts, where the network has them
        self.drops: dict[str, int] = {}  # copies that did not arrive, by reason
        self.broadcasts = 0
        self.deliveries = 0
        self.rollbacks = 0
        self.views = 0
        self.missed = 0
        self.crashes = 0
        self.recoveries = 0
        self.partitions = 0
        self.pauses = 0
        self.faults: dict[str, int] = {}  # by kind (`faults.COUNTED`): how often it happened
        self.last_broadcast_at: Micros = 0
        self.broadcast_at: dict[tuple[SiteId, int], Micros] = {}
        self.delivered_at: dict[tuple[SiteId, int], Micros] = {}  # by message: its last delivery so far

    @property
    def sends(self) -> dict[str, int]:
        """Unicast messages by kind."""
        return _by_kind(self.sent)

    @property
    def multicasts(self) -> dict[str, int]:
        """Multicasts by kind."""
        return _by_kind(self.spread)

    def count_fault(self, kind: str, count: int) -> None:
        self.faults[kind] = self.faults.get(kind, 0) + count


def _by_kind(counts: dict[type[Message], int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for made_of, count in counts.items():
        found[made_of.kind] = found.get(made_of.kind, 0) + count
    return found


class OwnDeliveries(ABC):
    """Somebody who waits for sites to deliver their own messages: a closed-loop workload."""

    @abstractmethod
    def on_own_delivery(self, now: Micros, site: SiteId) -> None: ...


class World(Surroundings):
    """Connects sites and network, counts, and writes the trace."""

    def __init__(self, kernel: Kernel, names: list[str], group_names: list[str], groups: list[list[SiteId]]) -> None:
        self.kernel = kernel
        self.names = names
        self.group_names = group_names
        self.groups = groups  # by group: sorted members; grows with change_group
        self.sites: list[Site] = []
        self.network: Network | None = None  # set once, before anything happens
        self.trace: TraceSink | None = None
        self.traces_messages = False  # whether there are rows for send, receive, drop
        self.renewed: dict[SiteId, int] = {}
        self.on_own_delivery: OwnDeliveries | None = None
        self.codec: Codec | None = None  # set: every message is encoded and decoded on its way
        self.tally = Tally()
        self.owed: list[int] = [0] * len(names)  # by site: broadcasts to its groups that it has not delivered; …
        self.dues: Dues | None = None  # … where groups change, this tells instead
        self.last_view: dict[SiteId, tuple[int, list[SiteId]]] = {}  # by site: the last view of all groups, if any
        self.notes: Notes | None = None  # what applications are told, where somebody judges the run by it
        self.looks: Looks | None = None  # into machines, now and then

    def expect_changes(self) -> None:
        """The members of groups will change: who is owed a message depends on when it is ordered."""
        self.dues = Dues(self.groups, len(self.names))

    def record(self, trace: TraceSink | None, messages: bool = True) -> None:
        """Write a trace; with `messages`, of every message too."""
        self.trace = trace
        self.traces_messages = trace is not None and messages

    def add_sites(self, rng: Rng) -> None:
        for site in range(len(self.names)):
            self.sites.append(Site(site, self, self.kernel, len(self.groups), rng.fork(f"disk/{site}")))

    # Messages

    def transmit(self, now: Micros, source: SiteId, target: SiteId, message: Message) -> None:
        network = self.network
        assert network is not None
        sent = self.tally.sent
        kind = type(message)
        sent[kind] = sent.get(kind, 0) + 1
        size = 0
        if self.codec is not None:
            message, size = self._through_codec(message)
        if self.traces_messages:
            self._note_message(now, source, "send", target, message, size)
        network.send(now, source, target, message, size)

    def transmit_many(self, now: Micros, source: SiteId, targets: list[SiteId], message: Message) -> int:
        network = self.network
        assert network is not None
        if not network.has_multicast:
            for target in targets:
                self.transmit(now, source, target, message)
            return len(targets)
        spread = self.tally.spread
        kind = type(message)
        spread[kind] = spread.get(kind, 0) + 1
        size = 0
        if self.codec is not None:
            message, size = self._through_codec(message)
        if self.traces_messages:
            self._note_message(now, source, "send", -1, message, size)
        network.multicast(now, source, targets, message, size)
        return 1

    def _through_codec(self, message: Message) -> tuple[Message, int]:
        """The message as its receiver will decode it, and its size."""
        assert self.codec is not None
        data = self.codec.encode(message)
        return self.codec.decode(data), len(data)

    def on_receive(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        self._note_message(now, target, "receive", source, message, size)

    def on_drop(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int, reason: str) -> None:
        drops = self.tally.drops
        drops[reason] = drops.get(reason, 0) + 1
        if self.traces_messages:
            self._note_message(now, source, "drop", target, message, size)

    def _note_message(self, now: Micros, site: SiteId, event: str, peer: SiteId, message: Message, size: int) -> None:
        trace = self.trace
        assert trace is not None
        kind: str = message.kind
        peer_name = self.names[peer] if peer >= 0 else None
        carried: tuple[tuple[int, int], ...] = message.carries()
        if not carried:
            trace.append(site, now, event, None, None, None, kind, peer_name, size)
        for origin, seqno in carried:
            trace.append(site, now, event, None, self.names[origin], seqno, kind, peer_name, size)

    # What the application sees

    def on_broadcast(self, now: Micros, site: SiteId, group: GroupId, seqno: int, size: int) -> None:
        self.tally.broadcasts += 1
        self.tally.broadcast_at[(site, seqno)] = now
        self.tally.last_broadcast_at = now
        if self.notes is not None:
            self.notes.on_broadcast(site, group, seqno)
            if self.notes.reach > 0.0:
                self._note_promise(now, site, group, seqno)
        if self.dues is not None:
            self.dues.on_broadcast(group, site, seqno)
        else:
            for member in self.groups[group]:
                self.owed[member] += 1
        if self.trace is not None:
            self.trace.append(
                site, now, "broadcast", self.group_names[group], self.names[site], seqno, None, None, size
            )

    def _note_promise(self, now: Micros, site: SiteId, group: GroupId, seqno: int) -> None:
        """Remember what was promised of a broadcast; nothing, where the budget does not allow the wanted reach."""
        machine = self.sites[site].machine
        assert self.notes is not None
        if machine is not None:
            try:
                self.notes.on_promise(now, site, group, seqno, machine.promise(now, group, self.notes.reach))
            except InputError:
                return

    def on_deliver(
        self,
        now: Micros,
        site: SiteId,
        group: GroupId,
        origin: SiteId,
        seqno: int,
        size: int,
        position: int,
        view: int,
    ) -> None:
        self.tally.deliveries += 1
        self.tally.delivered_at[(origin, seqno)] = now
        if self.dues is not None:
            self.dues.on_deliver(site, group, origin, seqno)
        else:
            self.owed[site] -= 1
        if self.notes is not None:
            is_known = origin == site and self.sites[site].machine is not None
            self.notes.on_deliver(site, group, origin, seqno, position, is_known)
        if self.looks is not None and now >= self.looks.at:
            self.looks.look(now, site, self.sites[site].machine, self.sites[site].disk)
        if origin == site and self.on_own_delivery is not None:
            self.on_own_delivery.on_own_delivery(now, site)
        if self.trace is not None:
            self.trace.append(
                site,
                now,
                "deliver",
                self.group_names[group],
                self.names[origin],
                seqno,
                None,
                None,
                size,
                position,
                view if view >= 0 else None,
            )

    def on_rollback(self, now: Micros, site: SiteId, group: GroupId, origin: SiteId, seqno: int, position: int) -> None:
        self.tally.rollbacks += 1
        if self.dues is not None:
            self.dues.on_rollback(site, group, origin, seqno)
        else:
            self.owed[site] += 1
        if self.notes is not None:
            self.notes.on_rollback(site, group, origin, seqno)
        if self.trace is not None:
            self.trace.append(site, now, "rollback", self.group_names[group], self.names[origin], seqno)

    def on_missed(self, now: Micros, site: SiteId, group: GroupId, origin: SiteId, first: int, count: int) -> None:
        self.tally.missed += count
        if self.dues is not None:
            self.dues.on_missed(site, count)
        else:
            self.owed[site] -= count
        if self.trace is not None:
            name = self.group_names[group]
            if origin >= 0:
                self.trace.append(site, now, "missed", name, self.names[origin], first, None, None, count)
            else:
                self.trace.append(site, now, "missed", name, None, None, None, None, count, first)
        if self.notes is not None:
            self.notes.on_missed(site, group, origin, first, count)

    def on_view(self, now: Micros, site: SiteId, view: int, members: list[SiteId], primary: bool) -> None:
        self.tally.views += 1
        self.last_view[site] = (view, list(members))
        if self.notes is not None:
            self.notes.on_view(now, site, members)
        if self.trace is not None and primary:  # a minority that stops ordering installs no view (docs/guarantees.md)
            names = [self.names[member] for member in members]
            self.trace.append(site, now, "view", None, None, None, None, None, None, None, view, names)

    def on_group(self, now: Micros, site: SiteId, group: GroupId, view: int, members: list[SiteId]) -> None:
        """One group's members have changed; a view of that group alone."""
        self.tally.views += 1
        if self.dues is not None:
            self.dues.on_group(site, group, members)
        if self.notes is not None:
            self.notes.on_group(now, site, group, members)
        if self.trace is not None:
            names = [self.names[member] for member in members]
            name = self.group_names[group]
            self.trace.append(site, now, "view", name, None, None, None, None, None, None, view, names)

    def on_crash(self, now: Micros, site: SiteId) -> None:
        self.tally.crashes += 1
        if self.trace is not None:
            self.trace.append(site, now, "crash")

    def on_leave(self, now: Micros, site: SiteId) -> None:
        """Its application has asked to leave, or was told that the site is removed: from here on nothing is owed to
        it."""
        if self.trace is not None:
            self.trace.append(site, now, "leave")

    def on_recover(self, now: Micros, site: SiteId) -> None:
        self.tally.recoveries += 1
        if self.trace is not None:
            self.trace.append(site, now, "recover")

    def on_renewed(self, site: SiteId, incarnation: int) -> None:
        """A site starts with a later incarnation: of the one before, nothing arrives any more."""
        assert self.network is not None
        if self.trace is not None:
            self.trace.begin_incarnation(site)
        self.renewed[site] = incarnation
        self.network.carrier.drop_of(site, incarnation)
        for host in self.sites:
            host.forget_input_of(site)

    def on_disk_saved(self, site: SiteId) -> None:
        if self.notes is not None:
            self.notes.save(site)

    def on_disk_exchanged(self, site: SiteId, before: Disk, after: Disk) -> None:
        """What was delivered on the old disk is owed again, but for what the new one has: whether it is delivered again
        or reported as missed is up to the protocol. A copy that is not older is the same disk."""
        if (after.incarnation, after.writes) == (before.incarnation, before.writes):
            return
        if self.notes is not None:
            self.notes.exchange(site, restored=not after.is_empty())
        for group in range(len(self.groups)):
            if self.dues is None:
                self.owed[site] += before.end(group) - after.end(group)
            else:
                for entry in before.entries(group):
                    self.dues.on_rollback(site, group, entry.origin, entry.seqno)
                for entry in after.entries(group):
                    self.dues.on_deliver(site, group, entry.origin, entry.seqno)

    # Questions

    def all_together(self) -> bool:
        """Whether all sites that run, and have ever seen a view, are in one."""
        seen: tuple[int, list[SiteId]] | None = None
        for host in self.sites:
            own = self.last_view.get(host.site)
            if own is None or host.machine is None or host.paused or host.left:
                continue
            if host.site not in own[1] or (seen is not None and own != seen):
                return False
            seen = own
        return True

    def all_quiet(self) -> bool:
        """Whether every site that is up has delivered what it is owed, and neither machine nor disk is busy."""
        up: set[SiteId] = set()
        for site in self.sites:
            if site.machine is None:
                continue
            up.add(site.site)
            if self.owed[site.site] > 0 or site.pending or not site.machine.quiet() or not site.synced():
                return False
        return self.dues is None or not self.dues.is_owed(up)
