"""The contract between a protocol and whatever drives it.

A protocol is a deterministic state machine: a `Machine`. It is told what happened (a start, a message, a timer, a
request of the application) and answers by requests to its `Outbox`. It has no socket, clock, thread, global random or
file. The simulator, the explorer, the fuzzer and the live runtime drive the very same objects. One call is one step,
and what it asks for are its effects; `effects.py` records them as data, for all drivers.

What a driver promises
----------------------
- One call at a time, and the outbox never calls the machine back.
- `now` never decreases.
- Durable before visible: nothing that was requested after a `persist` leaves the site before the record is durable.
- One call of the machine is one step: all its durable requests (`persist`, `checkpoint`, `deliver`, `rollback`,
  `install_view`, `missed`) survive a crash together or not at all. So a record that says "delivered", persisted in the
  step that delivers, is the truth after any crash.
- `log` shows what earlier steps have delivered, as far as it is durable; never the effects of the present step.
- After a crash a new machine of the same site gets `on_start` with the records, and the log of what it had delivered.
- A site whose disk is empty, older than what others know of it, or damaged begins anew: an empty disk, a later
  *incarnation*, and numbers from `first_seqno` on, beyond all that anyone may have seen. Before the first message of a
  later incarnation a peer's machine gets `on_peer_renewed`, once for each; from then on, none of an earlier one.
- `broadcast` is called only when `room()` is positive.

What a machine promises
-----------------------
- The same calls give the same requests, in the same order, whatever PYTHONHASHSEED.
- A peer can never crash it: what a peer should not have sent is dropped and counted.
- `broadcast` returns the message's number: increasing at this origin, never used twice, over crashes too.
"""

from abc import ABC, abstractmethod
from typing import Final

from mypy_extensions import mypyc_attr

from tocsin.core.errors import InputError
from tocsin.core.message import Message, Options, Record
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology

Micros = int  # absolute, integer, monotonic microseconds, always an argument, never read
SiteId = int  # dense 0..n-1; names live at the edges
GroupId = int  # dense 0..g-1; names live at the edges

ANY_ORIGIN: Final = -1  # in `missed`: positions of the group's order are meant, not the numbers of one origin
ROOM_WITHOUT_LIMIT: Final = 1 << 30
FIRST_INCARNATION: Final = 1
RENEWAL_GAP: Final = 1 << 32  # numbers that a new incarnation leaves out beyond the highest that others know of


class Entry:
    """One delivery, as the log keeps it."""

    def __init__(self, group: GroupId, origin: SiteId, seqno: int, payload: bytes) -> None:
        self.group = group
        self.origin = origin
        self.seqno = seqno
        self.payload = payload


@mypyc_attr(allow_interpreted_subclasses=True)
class DeliveryLog(ABC):
    """What this site has delivered, in order, over all its lives; the driver keeps it on stable storage."""

    @abstractmethod
    def first(self, group: GroupId) -> int:
        """The oldest position of the group that can still be read."""

    @abstractmethod
    def end(self, group: GroupId) -> int:
        """The position after the last delivery of the group, net of rollbacks."""

    @abstractmethod
    def read(self, group: GroupId, position: int, count: int) -> list[Entry]:
        """Up to `count` entries from `position` on; fewer at the end, none below `first`."""


@mypyc_attr(allow_interpreted_subclasses=True)
class Outbox(ABC):
    """Requests, never replies; it never calls the machine back."""

    @abstractmethod
    def send(self, target: SiteId, message: Message) -> None:
        """One unreliable message to one other site."""

    @abstractmethod
    def multicast(self, targets: list[SiteId], message: Message) -> None:
        """One unreliable multicast to other sites; the driver knows whether the network has one."""

    @abstractmethod
    def set_timer(self, timer: str, key: int, deadline: Micros) -> None:
        """Call `on_timer(now, timer, key)` at the deadline; replaces the same (timer, key)."""

    @abstractmethod
    def cancel_timer(self, timer: str, key: int) -> None:
        """Forget a timer; no error when it is not set."""

    @abstractmethod
    def deliver(self, group: GroupId, origin: SiteId, seqno: int, payload: bytes) -> None:
        """Hand a message to the application, and append it to the delivery log. A payload that was persisted before is
        given as the same object (see `Record`): it is then stored once."""

    @abstractmethod
    def rollback(self, group: GroupId, origin: SiteId, seqno: int) -> None:
        """Undo the group's newest delivery here, which is this one."""

    @abstractmethod
    def missed(self, group: GroupId, origin: SiteId, first: int, count: int) -> None:
        """Tell the application that it will never get these `count` messages: numbers of `origin` from `first` on, or,
        with `ANY_ORIGIN`, positions of the group; then the log goes on at position `first + count`."""

    @abstractmethod
    def install_view(self, view: int, members: list[SiteId], primary: bool) -> None:
        """Tell the application who is in the group; views come in the same stream as deliveries."""

    def seat(self, view: int, seats: list[tuple[SiteId, str, str]], removed: list[SiteId]) -> None:  # noqa: B027
        """Tell the driver who may be reached, and where, as decided with a view: numbers, names, addresses. Only where
        the driver has said who is seated at the start (`Setup.seats`)."""

    def install_group(self, group: GroupId, view: int, members: list[SiteId]) -> None:  # noqa: B027
        """Tell the application who is in one group from here on, where groups change; `view` numbers the change."""

    @abstractmethod
    def persist(self, record: Record) -> None:
        """Append a record to stable storage."""

    @abstractmethod
    def checkpoint(self, records: list[Record]) -> None:
        """Replace all earlier records by these; what is persisted later is kept after them."""

    @abstractmethod
    def trim(self, group: GroupId, position: int) -> None:
        """The protocol needs no log entry below this position any more; the owner's retention may drop it."""


class Seating:
    """Who decides, and who takes part."""

    def __init__(
        self,
        view: int,
        members: list[tuple[SiteId, int]],
        voters: list[tuple[SiteId, int]],
        removed: list[SiteId],
        wanted: list[SiteId],
        positions: list[int],
        takes_part: bool,
        lagging: bool,
        epoch: int,
    ) -> None:
        self.view = view  # -1: none yet
        self.members = members  # with their incarnations
        self.voters = voters  # with the incarnations whose votes count
        self.removed = removed
        self.wanted = wanted  # those who are to vote as soon as they have everything
        self.positions = positions  # by group: ordered
        self.takes_part = takes_part  # in that view, now
        self.lagging = lagging  # this site has not everything yet
        self.epoch = epoch  # of the last ballot that this site has promised to vote in


class Setup:
    """What a machine is told at birth."""

    def __init__(
        self,
        site: SiteId,
        sites: int,
        members: list[SiteId],
        groups: list[list[SiteId]],
        options: Options,
        rng: Rng,
        log: DeliveryLog,
        topology: Topology | None,
        incarnation: int = FIRST_INCARNATION,
        life: int = 1,
        first_seqno: int = 0,
        in_doubt: bool = False,
        seats: list[tuple[SiteId, str, str]] | None = None,
    ) -> None:
        self.site = site
        self.sites = sites  # every site that may ever take part: 0..sites-1
        self.members = members  # sorted, not to be changed; the founding members, who start together; others join later
        self.groups = groups  # by GroupId: sorted members, lists that all machines share: not to be changed in place
        self.options = options  # of the protocol's own class
        self.rng = rng  # this machine's own
        self.log = log
        self.topology = topology  # None where any site reaches any other directly; site i is the i-th host
        self.incarnation = incarnation  # of this site's disk; every disk that it ever had has another, later is larger
        self.life = life  # starts of this incarnation, this one included
        self.first_seqno = first_seqno  # smallest number that this incarnation may give to a message
        self.in_doubt = in_doubt  # what the end of its log held, and others may have seen, may be missing
        self.seats = [] if seats is None else seats  # number, name, address of who is known; empty: all 0..sites-1 are


@mypyc_attr(allow_interpreted_subclasses=True)
class Machine(ABC):
    """A protocol at one site. Constructed as `Class(setup, outbox)`; construction requests nothing."""

    @abstractmethod
    def on_start(self, now: Micros, records: list[Record]) -> None:
        """First call. `records` is what `persist` and `checkpoint` kept; a crash lost everything else."""

    @abstractmethod
    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        """A message arrived: late, twice, out of order or not at all is normal."""

    @abstractmethod
    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        """A timer's deadline has come; it is no longer set."""

    @abstractmethod
    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        """The application broadcasts to a group; the answer is the message's number."""

    def broadcast_reaching(self, now: Micros, group: GroupId, payload: bytes, reach: float) -> int:
        """As `broadcast`, with a wanted probability that everybody gets it; an error if that cannot be promised. Only
        protocols that plan (`Protocol.plans_reach`) take it."""
        raise InputError("reach: this protocol does not plan it; expected a broadcast without")

    def promise(self, now: Micros, group: GroupId, reach: float) -> float:
        """The probability that `broadcast_reaching` would promise now, at least `reach`; the same errors."""
        raise InputError("reach: this protocol does not plan it; expected a broadcast without")

    def left_out(self, now: Micros, group: GroupId, reach: float) -> list[SiteId]:
        """Members that a broadcast with this reach (0: with none) would not be sent to, and that its promise is not
        about; sorted."""
        return []

    def room(self) -> int:
        """How many more broadcasts are taken now; 0 holds the application back (flow control)."""
        return ROOM_WITHOUT_LIMIT

    def room_for(self, group: GroupId) -> int:
        """As `room`, of one group: 0 also where the group has no members, or none that is there. What is for it waits,
        and does not hold up what is for others."""
        return self.room()

    def quiet(self) -> bool:
        """Whether nothing is outstanding here: everything taken was delivered, acknowledged, agreed."""
        return True

    def leave(self, now: Micros) -> None:  # noqa: B027  (most protocols have a fixed membership)
        """The application leaves; done when a view without this site was installed here."""

    def change_group(self, now: Micros, group: GroupId, members: list[SiteId]) -> None:  # noqa: B027
        """An administrator asks for new members of a group, or a new group; only some protocols can."""

    def groups(self) -> list[list[SiteId]] | None:
        """By group, the members as last decided, as far as is known here; None where groups do not change."""
        return None

    def add_site(self, now: Micros, site: SiteId) -> None:  # noqa: B027
        """An administrator asks that a site become a voter; only protocols whose entry says so can
        (`Assumptions.voter_changes`)."""

    def remove_site(self, now: Micros, site: SiteId) -> None:  # noqa: B027
        """An administrator asks that a site be a voter no more; only protocols whose entry says so can."""

    def seat_site(self, now: Micros, name: str, address: str) -> None:  # noqa: B027
        """As `add_site`, of one that has no number yet, or is no voter; the driver is told which (`Outbox.seat`)."""

    def move_site(self, now: Micros, site: SiteId, address: str) -> None:  # noqa: B027
        """An administrator says that a site will be found elsewhere."""

    def recover(self, now: Micros) -> None:  # noqa: B027
        """An administrator says that the disks of most voters are lost: those that are here go on without them."""

    def seating(self) -> "Seating | None":
        """Who votes and who takes part, as far as is known here; None where there are no voters."""
        return None

    def removed(self) -> bool:
        """Whether this site was told that it is a voter no more, and takes no part for good; a view without it, not a
        primary one, says so to the application."""
        return False

    def on_peer_renewed(self, now: Micros, site: SiteId, incarnation: int) -> None:  # noqa: B027
        """A site has begun anew with an empty disk: what it had promised, acknowledged or alone had is gone with the
        old one. Its numbers go on higher; what it lacks it is told as `missed`, or gets again."""

    def on_peer_down(self, now: Micros, site: SiteId) -> None:  # noqa: B027
        """A perfect detector, where there is one, says that a site has crashed."""

    def on_peer_up(self, now: Micros, site: SiteId) -> None:  # noqa: B027
        """A perfect detector, where there is one, says that a site has recovered."""
