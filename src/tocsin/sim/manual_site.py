"""A site driven by hand: each input is given to its machine by the caller, and its effects come back as a list.

The explorer and the golden transcripts use it. Stable storage is durable at once. A machine is deterministic and
hears of nothing but its own inputs, so its state is a function of the list of its inputs so far.
"""

from typing import Final

from tocsin.core.effects import CancelTimer, Effect, Effects, Multicast, Send, SetTimer
from tocsin.core.machine import Machine, Micros, Setup, SiteId
from tocsin.core.message import Message, Options
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.protocols.protocol import Protocol
from tocsin.sim.disk import Disk, Disks

START: Final = "start"
CRASH: Final = "crash"
RECEIVE: Final = "receive"
TIMER: Final = "timer"
BROADCAST: Final = "broadcast"
LEAVE: Final = "leave"
CHANGE: Final = "change"
PEER_DOWN: Final = "peer-down"
PEER_UP: Final = "peer-up"
SAVE: Final = "save"
WIPE: Final = "wipe"
RESTORE: Final = "restore"
PEER_RENEWED: Final = "peer-renewed"


class Input:
    """Something that happens to one site; which fields matter depends on `what`."""

    def __init__(self, what: str, now: Micros) -> None:
        self.what = what
        self.now = now
        self.peer: SiteId = -1  # receive: the source; peer-down, peer-up, peer-renewed
        self.message: Message | None = None
        self.timer = ""
        self.number = 0  # timer: its key; broadcast and change: the group; peer-renewed: the incarnation
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


def renewal(peer: SiteId, incarnation: int, now: Micros) -> Input:
    """A site is told that another has begun anew."""
    happening = Input(PEER_RENEWED, now)
    happening.peer = peer
    happening.number = incarnation
    return happening


class ManualSite:
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
        self.has_left = False  # in this life the application has asked to leave
        self.timers: dict[tuple[str, int], Micros] = {}  # armed, with their deadlines
        self.life = 0
        self.accepted = -1  # the number that the last broadcast got
        self._disks = Disks()
        self._outbox = Effects()
        self._protocol = protocol
        self._options = options
        self._sites = sites
        self._founders = founders
        self._groups = groups
        self._topology = topology
        self._rng = Rng(seed)

    def apply(self, happening: Input) -> list[Effect]:
        """Let it happen; the effects of the machine's step."""
        what = happening.what
        now = happening.now
        if what == START:
            self._start(now)
        elif what == CRASH:
            self.machine = None
            self.timers.clear()
            self.life += 1
            self.has_left = False
        elif what == SAVE:
            self._disks.saved = self.disk.copy()
        elif what in (WIPE, RESTORE):
            self._exchange_disk(what == WIPE)
        else:
            assert self.machine is not None, "only a start reaches a site that is down"
            self._tell(self.machine, now, happening)
        return [effect for effect in self._outbox.take_all() if self._follow(effect)]

    def _start(self, now: Micros) -> None:
        assert self.machine is None
        self.disk.life += 1
        setup = Setup(
            self.site,
            self._sites,
            list(self._founders),
            [list(members) for members in self._groups],
            self._options,
            self._rng.fork(f"site/{self.site}/{self.life}"),
            self.disk,
            self._topology,
            self.disk.incarnation,
            self.disk.life,
            self._disks.first_seqno,
        )
        machine = self._protocol.make(setup, self._outbox)
        self.machine = machine
        machine.on_start(now, list(self.disk.records))

    def has_saved(self) -> bool:
        """Whether there is a copy of its disk."""
        return self._disks.saved is not None

    def disk_content(self) -> list[object]:
        """What machines of this site can find on its disk, and on the one that was saved."""
        return [None if disk is None else _content(disk) for disk in (self.disk, self._disks.saved)]

    def _exchange_disk(self, wiped: bool) -> None:
        """The disk of a site that is down is an empty one, or as it was saved."""
        assert self.machine is None, "the disk of a site that is up"
        self._disks.highest_seqno = self.accepted
        self.disk = self._disks.empty(self.disk) if wiped else self._disks.restored(self.disk)

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
            self.has_left = True
            machine.leave(now)
        elif what == CHANGE:
            machine.change_group(now, happening.number, happening.sites)
        elif what == PEER_RENEWED:
            self.disk.known[happening.peer] = happening.number
            machine.on_peer_renewed(now, happening.peer, happening.number)
        elif what == PEER_DOWN:
            machine.on_peer_down(now, happening.peer)
        elif what == PEER_UP:
            machine.on_peer_up(now, happening.peer)

    def _follow(self, effect: Effect) -> bool:
        """Let timers and disk follow an effect; whether it is one: cancelling a timer that is not set is none."""
        if isinstance(effect, Send):
            assert effect.target != self.site, "a message to oneself"
        elif isinstance(effect, Multicast):
            assert self.site not in effect.targets, "a message to oneself"
        elif isinstance(effect, SetTimer):
            self.timers[(effect.timer, effect.key)] = effect.deadline
        elif isinstance(effect, CancelTimer):
            return self.timers.pop((effect.timer, effect.key), None) is not None
        else:
            self.disk.keep(effect)
        return True


def _content(disk: Disk) -> list[object]:
    groups = range(disk.group_count())
    known = sorted(disk.known.items())
    return [
        disk.incarnation,
        known,
        disk.records,
        [(disk.first(group), disk.end(group), disk.entries(group)) for group in groups],
    ]
