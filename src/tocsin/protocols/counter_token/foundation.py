"""What all parts of the machine share: its state, its records, its messages, and delivery.

Durability, in one place. Own messages are persisted when taken. Messages of others are persisted (`Kept`) in the step
that counts them, with a `Turn` that says what was counted, before the token leaves. How far a site has delivered needs
no record: the end of its log says it, counted from where its view started (`Installed`). Promises and accepted
proposals are persisted before they are sent.
"""

from abc import abstractmethod
from typing import Final

from tocsin.core.ballots import Ballots
from tocsin.core.data import Data
from tocsin.core.machine import ANY_ORIGIN, GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.own_messages import OwnNumbers
from tocsin.core.records import Records
from tocsin.protocols.counter_token.history import History
from tocsin.protocols.counter_token.messages import (
    Agreed,
    Installed,
    Kept,
    Known,
    Own,
    Promised,
    Proposal,
    Run,
    Summary,
    Turn,
    TurnSlot,
)
from tocsin.protocols.counter_token.options import CounterTokenOptions
from tocsin.protocols.counter_token.ring import Ring, Slot

HOLD: Final = "HOLD"  # the token-owner timer
REISSUE: Final = "REISSUE"  # the next owner has not passed the token
LOST: Final = "LOST"  # nobody has
HURRY: Final = "HURRY"  # ask the owner again
REQUEST: Final = "REQUEST"  # key: the origin whose messages are missing
CHANGE: Final = "CHANGE"  # the next step of a change of view
DECIDE: Final = "DECIDE"  # tell the decision again
JOIN: Final = "JOIN"  # ask again to be let in
FETCH: Final = "FETCH"  # ask again for deliveries

ACTIVE: Final = "active"  # member of a view, the token goes round
FROZEN: Final = "frozen"  # member of a view that is about to be replaced
OUTSIDE: Final = "outside"  # not a member of the newest view
LEFT: Final = "left"

RECORD_BYTES_MAX: Final = 8 << 20  # payload on disk before a checkpoint: a log file is closed at one, and is 16 MiB
MESSAGE_OVERHEAD: Final = 512  # bytes that a message costs a receive buffer beside its payload
CARRIED: Final = 1 << 50  # subtracted from the place of what a view takes over from the one before: first in its order


class Ready:
    """A committed entry that waits for older deliveries to be fetched."""

    def __init__(self, slot: Slot, view: int, order: int, messages: list[Data]) -> None:
        self.slot = slot
        self.view = view
        self.order = order
        self.messages = messages


class Foundation(Machine):
    """State, records and delivery."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, CounterTokenOptions)
        self._site = setup.site
        self._sites = setup.sites
        self._founders: list[SiteId] = setup.members
        self._groups: list[list[SiteId]] = setup.groups
        self._options = options
        self._pass_at_once: bool = options.passes_at_once()
        self._idle_hold_us: int = options.idle_hold_us_max()
        self._commits_cycles: bool = options.commits_cycles()
        self._request_wait_us: int = options.wait_us()
        self._window_bytes: int = options.window_bytes_max()
        self._single_requests: bool = options.classic  # the paper's: one message a request
        self._needs_majority: bool = options.needs_majority()
        self._log = setup.log
        self._outbox = outbox
        self._status = OUTSIDE
        nothing = tuple([0 for _ in setup.groups])
        nobody = tuple([tuple([0] * setup.sites) for _ in setup.groups])
        self._base = Proposal(0, (), (), 0, 0, nothing, nobody)  # the view this site was last a member of
        self._was_member = False  # whether `_base` is such a view
        self._latest: Proposal | None = None  # the newest decided view it has heard of
        self._ring = Ring(setup.site, -1, [setup.site], setup.groups, False, False)
        self._positions: list[int] = list(nothing)  # by group: committed, in the view's reckoning
        self._frontier: list[list[int]] = [list(front) for front in nobody]  # by group, origin: first not committed
        self._ends: list[int] = list(nothing)  # by group: delivered here; below `_positions` while lagging
        self._lagging = False  # older deliveries are still being fetched; commits wait in `_ready`
        self._ready: list[Ready] = []
        self._history = History(len(setup.groups))
        self._shown_view = -1  # newest view that the application was told of
        self._is_receiver = [False] * setup.sites  # by site: whether some group has it
        for group in setup.groups:
            for member in group:
                self._is_receiver[member] = True
        self._alone = False  # the application was told that this site does not order any more
        self._leaving = False
        # Messages
        self._numbers = OwnNumbers()
        self._own: dict[int, Data] = {}  # not committed, by number
        self._unsent: list[int] = []  # own numbers that wait for window, flags, or members of their group
        self._unannounced: list[int] = []  # own numbers sent and not yet in the token
        self._outstanding = 0  # bytes of own messages sent and not committed
        self._unsent_bytes = 0
        self._held: list[dict[int, Data]] = [{} for _ in range(setup.sites)]  # by origin: received, not committed
        self._held_bytes = 0  # of those and of `_ready`
        self._loose = 0  # held messages that no known entry names yet
        self._resent_at: dict[int, Micros] = {}  # own numbers: when sent again; while not committed
        self._ballots: Ballots[Proposal] = Ballots(setup.sites)  # for the successor of `_base`
        self._records = Records(outbox, options.records_max)
        self._record_bytes = 0
        self.stat_dropped = 0  # messages that made no sense

    # What other parts provide

    @abstractmethod
    def _on_caught_up(self, now: Micros) -> None:
        """Every delivery before the view's start is here."""

    # Views

    def _members(self) -> list[SiteId]:
        return self._ring.members

    def _others(self) -> list[SiteId]:
        return [site for site in self._ring.members if site != self._site]

    def _everybody(self) -> list[SiteId]:
        return [site for site in range(self._sites) if site != self._site]

    def _new_ring(self, proposal: Proposal) -> Ring:
        return Ring(
            self._site,
            proposal.view,
            list(proposal.members),
            self._groups,
            self._options.order == "rotating",
            self._commits_cycles,
        )

    def _show_view(self, view: int, members: list[SiteId], primary: bool) -> None:
        """Tell the application. Sites of no group only send: they are members of nothing; they hear when they left."""
        self._shown_view = view
        if not self._is_receiver[self._site] and self._status != LEFT:
            return
        self._outbox.install_view(view, [site for site in members if self._is_receiver[site]], primary)

    def _note_view(self, view: int, members: list[SiteId]) -> None:
        """Remember a view's members, for replays."""
        if view not in self._history.views:
            self._history.views[view] = list(members)

    # Delivery

    def _commit(self, now: Micros) -> None:
        """Commit what the ring allows."""
        for slot in self._ring.committable():
            self._settle(slot, self._ring.view, slot.place)

    def _settle(self, slot: Slot, view: int, order: int) -> None:
        """One entry is committed: it gets its positions, and is delivered or waits for older deliveries."""
        messages = self._take_messages(slot) if slot.destination else []
        if slot.destination and len(messages) < slot.count:
            self.stat_dropped += 1
            return  # cannot happen among correct members: who counted has everything
        self._ring.drop(slot)
        self._positions[slot.group] += slot.count
        self._frontier[slot.group][slot.sender] = max(slot.following(), self._frontier[slot.group][slot.sender])
        if slot.sender == self._site:
            self._forget_own(slot)
        if not slot.destination:
            return
        if self._lagging:
            self._ready.append(Ready(slot, view, order, messages))
        else:
            self._deliver_entry(slot.group, view, order, messages)

    def _take_messages(self, slot: Slot) -> list[Data]:
        """The entry's messages, oldest first."""
        source = self._own if slot.sender == self._site else self._held[slot.sender]
        messages: list[Data] = []
        for start, end in slot.numbers:
            for seqno in range(start, end):
                data = source.get(seqno)
                if data is None:
                    return messages
                messages.append(data)
        if slot.sender != self._site:
            for data in messages:
                del source[data.seqno]
                if not self._lagging:
                    self._held_bytes -= len(data.payload) + MESSAGE_OVERHEAD
        return messages

    def _forget_own(self, slot: Slot) -> None:
        for start, end in slot.numbers:
            for seqno in range(start, end):
                data = self._own.pop(seqno, None)
                if data is not None:
                    self._outstanding -= len(data.payload) + MESSAGE_OVERHEAD
                if self._resent_at:
                    self._resent_at.pop(seqno, 0)

    def _deliver_entry(self, group: GroupId, view: int, order: int, messages: list[Data]) -> None:
        self._note_run(group, view, order)
        outbox = self._outbox
        for data in messages:
            outbox.deliver(group, data.origin, data.seqno, data.payload)
        self._ends[group] += len(messages)

    def _note_run(self, group: GroupId, view: int, order: int) -> None:
        if len(self._groups) == 1:
            order = 0  # with one group the log's own order is the order
        if self._history.starts_run(group, view, order):
            self._history.start_run(group, self._ends[group], view, order)
            self._records.persist(Run(group, self._ends[group], view, order))

    def _deliver_ready(self) -> None:
        """Older deliveries are here: what was committed meanwhile follows."""
        for ready in self._ready:
            for data in ready.messages:
                if data.origin != self._site:
                    self._held_bytes -= len(data.payload) + MESSAGE_OVERHEAD
            self._deliver_entry(ready.slot.group, ready.view, ready.order, ready.messages)
        self._ready = []

    def _miss(self, group: GroupId, position: int) -> None:
        """Deliveries below the position are out of reach for good."""
        first = self._ends[group]
        if position > first:
            self._outbox.missed(group, ANY_ORIGIN, first, position - first)
            self._ends[group] = position

    def _is_behind(self) -> bool:
        for group in range(len(self._groups)):
            if self._site in self._groups[group] and self._ends[group] < self._positions[group]:
                return True
        return False

    # Sending

    def _multicast(self, message: Message) -> None:
        others = self._others()
        if others:
            self._outbox.multicast(others, message)

    # Records

    def _persist_kept(self, data: Data) -> None:
        self._records.persist(Kept(data.group, data.origin, data.seqno, data.payload))
        self._record_bytes += len(data.payload)

    def _maybe_checkpoint(self) -> bool:
        """Replace the records by what still matters, once they are many."""
        live = len(self._own) + len(self._ready) + 2 * len(self._ring.slots) + self._held_bytes // MESSAGE_OVERHEAD
        if not self._records.are_many(2 * live) and self._record_bytes < RECORD_BYTES_MAX + 2 * self._held_bytes:
            return False
        self._records.fold(self._checkpoint_records())
        self._record_bytes = 0
        return True

    def _checkpoint_records(self) -> list[Record]:
        self._trim_history()
        records: list[Record] = [Summary(self._numbers.following)]
        for view, members in self._history.views.items():
            records.append(Known(view, tuple(members)))
        for group in range(len(self._groups)):
            starts = self._history.starts[group]
            keys = self._history.keys[group]
            for place in range(len(starts)):
                records.append(Run(group, starts[place], keys[place][0], keys[place][1]))
        if self._was_member:
            moved = not self._lagging and not self._ready
            records.append(Installed(self._base_now(), self._ring.committed + 1 if moved else 0))
        if self._ballots.promised > 0:
            records.append(self._promised())
        if self._ballots.voted is not None:
            records.append(self._agreed(self._ballots.voted))
        for data in self._own.values():
            records.append(Own(data.group, data.seqno, data.payload))
        self._append_kept(records)
        return records

    def _promised(self) -> Promised:
        ballots = self._ballots
        return Promised(self._base.view, ballots.attempt(ballots.promised), ballots.owner(ballots.promised))

    def _agreed(self, proposal: Proposal) -> Agreed:
        ballots = self._ballots
        return Agreed(self._base.view, ballots.attempt(ballots.voted_in), ballots.owner(ballots.voted_in), proposal)

    def _append_kept(self, records: list[Record]) -> None:
        """What was counted and is not delivered."""
        slots: list[TurnSlot] = []
        for ready in self._ready:
            slot = ready.slot
            slots.append(TurnSlot(slot.place, slot.group, slot.sender, True, slot.ranges))
            for data in ready.messages:
                records.append(Kept(data.group, data.origin, data.seqno, data.payload))
        for slot in self._ring.slots.values():
            if not slot.kept:
                continue
            slots.append(TurnSlot(slot.place, slot.group, slot.sender, slot.counted, slot.ranges))
            if slot.counted and slot.sender != self._site:
                held = self._held[slot.sender]
                for start, end in slot.numbers:
                    for seqno in range(start, end):
                        data = held[seqno]
                        records.append(Kept(data.group, data.origin, data.seqno, data.payload))
        if slots:
            records.append(Turn(self._base.view, tuple(slots)))

    def _base_now(self) -> Proposal:
        """The view's start, moved up to what is delivered: its earlier entries need not be kept."""
        base = self._base
        if self._lagging or self._ready:
            return base
        return Proposal(
            base.view,
            base.members,
            base.absent,
            base.full_limit,
            base.keep_limit,
            tuple(self._positions),
            tuple([tuple(front) for front in self._frontier]),
        )

    def _trim_history(self) -> None:
        firsts = [self._log.first(group) for group in range(len(self._groups))]
        self._history.trim(firsts)
