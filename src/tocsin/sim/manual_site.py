"""A site driven by hand: each input is given to its machine by the caller, and its effects come back as a list.

The explorer and the golden transcripts use it. Stable storage is durable at once. A machine is deterministic and
hears of nothing but its own inputs, so its state is a function of the list of its inputs so far.
"""

from typing import Final

from tocsin.core.machine import (
    Entry,
    GroupId,
    Machine,
    Micros,
    Outbox,
    Setup,
    SiteId,
)
from tocsin.core.message import Message, Options, Record
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.protocols.protocol import Protocol
from tocsin.sim.disk import Disk

START: Final = "start"
CRASH: Final = "crash"
RECEIVE: Final = "receive"
TIMER: Final = "timer"
BROADCAST: Final = "broadcast"
LEAVE: Final = "leave"
CHANGE: Final = "change"
PEER_DOWN: Final = "peer-down"
PEER_UP: Final = "peer-up"


class Input:
    """Something that happens to one site; which fields matter depends on `what`."""

    def __init__(self, what: str, now: Micros) -> None:
        self.what = what
        self.now = now
        self.peer: SiteId = -1  # receive: the source; peer-down, peer-up
        self.message: Message | None = None
        self.timer = ""
        self.number = 0  # timer: its key; broadcast and change: the group
        self.payload = b""
        self.sites: list[SiteId] = []  # change: the new members

    def identity(self) -> tuple[str, int, int, object, str, int, bytes, tuple[int, ...]]:
        """Equal for inputs that do the same."""
        return (
            self.what,
            self.now,
            self.peer,
            self.message,
            self.timer,
            self.number,
            self.payload,
            tuple(self.sites),
        )


class Request:
    """Something the machine asked for; which fields matter depends on `what`."""

    def __init__(self, what: str) -> None:
        self.what = what  # send, multicast, set-timer, cancel-timer, deliver, rollback, missed, view, persist, …
        self.sites: list[SiteId] = []  # send, multicast: targets; view: members
        self.message: Message | None = None  # send, multicast; persist: the record
        self.timer = ""
        self.number = 0  # timer key; group; view number
        self.at: Micros = 0  # timer deadline
        self.origin: SiteId = 0
        self.seqno = 0  # missed: the first; group: the view
        self.count = 0  # missed
        self.payload = b""
        self.primary = False


class ManualSite(Outbox):
    """A site: up with a machine, or down with a disk."""

    def __init__(
        self,
        site: SiteId,
        protocol: Protocol,
        options: Options,
        sites: int,
        founders: list[SiteId],
        groups: list[list[SiteId]],
        topology: Topology | None,
        seed: int,
    ) -> None:
        self.site = site
        self.machine: Machine | None = None
        self.disk = Disk(len(groups))
        self.timers: dict[tuple[str, int], Micros] = {}  # armed, with their deadlines
        self.life = 0
        self.accepted = -1  # the number that the last broadcast got
        self._requests: list[Request] = []  # of the present input
        self._protocol = protocol
        self._options = options
        self._sites = sites
        self._founders = founders
        self._groups = groups
        self._topology = topology
        self._rng = Rng(seed)

    def apply(self, happening: Input) -> list[Request]:
        """Let it happen; what the machine requested."""
        self._requests = []
        what = happening.what
        now = happening.now
        if what == START:
            self._start(now)
        elif what == CRASH:
            self.machine = None
            self.timers.clear()
            self.life += 1
        else:
            assert self.machine is not None, "only a start reaches a site that is down"
            self._tell(self.machine, now, happening)
        return self._requests

    def _start(self, now: Micros) -> None:
        assert self.machine is None
        setup = Setup(
            self.site,
            self._sites,
            list(self._founders),
            [list(members) for members in self._groups],
            self._options,
            self._rng.fork(f"site/{self.site}/{self.life}"),
            self.disk,
            self._topology,
        )
        machine = self._protocol.make(setup, self)
        self.machine = machine
        machine.on_start(now, list(self.disk.records))

    def _tell(self, machine: Machine, now: Micros, happening: Input) -> None:
        what = happening.what
        if what == RECEIVE:
            assert happening.message is not None
            machine.on_message(now, happening.peer, happening.message)
        elif what == TIMER:
            self.timers.pop((happening.timer, happening.number), 0)
            machine.on_timer(now, happening.timer, happening.number)
        elif what == BROADCAST:
            self.accepted = machine.broadcast(now, happening.number, happening.payload)
        elif what == LEAVE:
            machine.leave(now)
        elif what == CHANGE:
            machine.change_group(now, happening.number, happening.sites)
        elif what == PEER_DOWN:
            machine.on_peer_down(now, happening.peer)
        elif what == PEER_UP:
            machine.on_peer_up(now, happening.peer)

    # Outbox

    def _request(self, what: str) -> Request:
        request = Request(what)
        self._requests.append(request)
        return request

    def send(self, target: SiteId, message: Message) -> None:
        assert target != self.site, "a message to oneself"
        request = self._request("send")
        request.sites = [target]
        request.message = message

    def multicast(self, targets: list[SiteId], message: Message) -> None:
        assert self.site not in targets, "a message to oneself"
        request = self._request("multicast")
        request.sites = list(targets)
        request.message = message

    def set_timer(self, timer: str, key: int, deadline: Micros) -> None:
        self.timers[(timer, key)] = deadline
        request = self._request("set-timer")
        request.timer = timer
        request.number = key
        request.at = deadline

    def cancel_timer(self, timer: str, key: int) -> None:
        if (timer, key) in self.timers:
            del self.timers[(timer, key)]
            request = self._request("cancel-timer")
            request.timer = timer
            request.number = key

    def deliver(self, group: GroupId, origin: SiteId, seqno: int, payload: bytes) -> None:
        self.disk.append(Entry(group, origin, seqno, payload))
        request = self._request("deliver")
        request.number = group
        request.origin = origin
        request.seqno = seqno
        request.payload = payload

    def rollback(self, group: GroupId, origin: SiteId, seqno: int) -> None:
        self.disk.undo(group, origin, seqno)
        request = self._request("rollback")
        request.number = group
        request.origin = origin
        request.seqno = seqno

    def missed(self, group: GroupId, origin: SiteId, first: int, count: int) -> None:
        if origin < 0:
            self.disk.skip(group, first + count)
        request = self._request("missed")
        request.number = group
        request.origin = origin
        request.seqno = first
        request.count = count

    def install_view(self, view: int, members: list[SiteId], primary: bool) -> None:
        request = self._request("view")
        request.number = view
        request.sites = list(members)
        request.primary = primary

    def install_group(self, group: GroupId, view: int, members: list[SiteId]) -> None:
        request = self._request("group")
        request.number = group
        request.seqno = view
        request.sites = list(members)

    def persist(self, record: Record) -> None:
        self.disk.records.append(record)
        self._request("persist").message = record

    def checkpoint(self, records: list[Record]) -> None:
        self.disk.records = list(records)
        self._request("checkpoint").count = len(records)

    def trim(self, group: GroupId, position: int) -> None:
        self.disk.trim(group, position)
