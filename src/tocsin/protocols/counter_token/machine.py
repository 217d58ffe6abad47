"""`counter_token`: one safe total order by a token that counts (Chang, Hwang), with views that survive anything.

Paper: Chang, Hwang, "An Ordered and Reliable Broadcast Protocol for Distributed Systems".

| section                                        | here                                                      |
|------------------------------------------------|-----------------------------------------------------------|
| 2.2 the system state, counters, cycles         | `ring.py`: Slot, Ring; `messages.py`: StateEntry, Token   |
| 2.3 the two commit rules, order in a cycle     | Ring.absorb, Ring.committable, Ring.place                 |
| 3.1 arrival of a token                         | `circulation.py`: _on_token, _take_over                   |
| 3.1 arrival of a broadcast message             | `sending.py`: _on_data                                    |
| 3.1 arrival of a request-for-retransmission    | `sending.py`: _on_request                                 |
| 3.1 expiration of the token-owner timer        | `circulation.py`: _end_turn, _maybe_count, _announce      |
| 3.2 flow control                               | _local_flags, _next_token (overload), _read_flags         |
| 3.3 join, leave                                | `membership.py`: _on_join, leave                          |
| 3.3 lost, late, duplicate token; failed owner  | _on_reissue, _on_old_token, _on_holding                   |
| 6 multicast: the IDs field                     | StateEntry.group, Ring.destinations                       |

We differ from the paper in this:
- A list is changed by consensus among the last list's members (`membership.py`, `consensus.py`), not by a token that
just carries the new one: with partitions, crashes during the change and restarts, nothing less gives one line of lists.
- Entries are committed in one order over all groups, each when all before it are.
- Messages are on stable storage before they are counted, so what was delivered anywhere survives a crash of everybody.
- An entry is counted once by each destination: a member remembers what it has counted (ERRATA).
- While a buffer is nearly full, whole broadcasts to its group wait (ERRATA); besides, there is a window in bytes.
- A repeated request is answered by other holders too (ERRATA).
- Tokens are told apart by (view, cycle, position). A member takes part in a turn once; a restarted member has lost that
  memory and takes part only in the next view.
- The token is held for as short as possible under load, and longer and longer when idle; a hurry message ends that.
"""

from tocsin.core.data import Data
from tocsin.core.errors import DecodeError
from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.rangeset import rangeset_from_wire
from tocsin.protocols.counter_token.foundation import (
    ACTIVE,
    CHANGE,
    DECIDE,
    FETCH,
    FROZEN,
    HOLD,
    HURRY,
    JOIN,
    LEFT,
    LOST,
    REISSUE,
    REQUEST,
)
from tocsin.protocols.counter_token.membership import Membership
from tocsin.protocols.counter_token.messages import (
    Accept,
    Accepted,
    Agreed,
    Decided,
    Fetch,
    Gone,
    Holding,
    Hurry,
    Installed,
    Invite,
    Join,
    Kept,
    Known,
    Own,
    Prepare,
    Promise,
    Promised,
    Proposal,
    Refuse,
    Request,
    Run,
    Summary,
    Token,
    Transfer,
    Turn,
)
from tocsin.protocols.counter_token.ring import ENTRY_RANGES_MAX, RUNS_MAX, Slot


class CounterToken(Membership):
    """Calls from outside go to the part they concern."""

    def on_start(self, now: Micros, records: list[Record]) -> None:
        for group in range(len(self._groups)):
            self._ends[group] = self._log.end(group)
        if records:
            self._restart(now, records)
        elif self._site in self._founders:
            self._found(now)
        else:
            self._ask_to_join(now)

    def _found(self, now: Micros) -> None:
        """The founding members know the first view without asking."""
        base = self._base
        proposal = Proposal(0, tuple(self._founders), (), 0, 0, base.positions, base.frontier)
        self._reset(proposal)
        self._records.persist(Installed(proposal))
        self._note_view(0, list(self._founders))
        self._show_member()
        self._start_circulation(now)

    # Coming back

    def _restart(self, now: Micros, records: list[Record]) -> None:
        """Recall what was persisted; the view goes on without this site until the next one."""
        slots: dict[int, Slot] = {}
        gone = False
        for record in records:
            if isinstance(record, Installed):
                slots.clear()
                gone = False
            self._recall(record, slots)
            if isinstance(record, Gone):
                gone = True
                if record.proposal is not None:
                    self._latest = record.proposal
        self._records.recall(records)
        self._recall_slots(slots)
        self._drop_committed_own()
        self._unsent = sorted(self._own)
        self._sort_messages()
        self._lagging = self._was_member and self._is_behind()
        self._recall_shown()
        if self._was_member and not gone and self._site in self._base.members:
            self._status = FROZEN
            rank = self._ring.place_of[self._site]
            self._outbox.set_timer(CHANGE, 0, now + 1 + rank * self._options.change_us // 4)
            if self._lagging:
                self._start_replay(now, list(self._positions))
        else:
            self._ask_to_join(now)

    def _recall(self, record: Record, slots: dict[int, Slot]) -> None:
        if isinstance(record, Own):
            self._own[record.seqno] = Data(record.group, self._site, record.seqno, record.payload)
            self._numbers.recall(record.seqno)
        elif isinstance(record, Kept):
            data = Data(record.group, record.origin, record.seqno, record.payload)
            if record.origin == self._site:
                self._own[record.seqno] = data
            else:
                self._held[record.origin][record.seqno] = data
        elif isinstance(record, Turn):
            for entry in record.slots:
                slot = self._recalled_slot(entry.place, entry.sender, entry.group, entry.ranges)
                if slot is not None:
                    slot.counted = entry.counted
                    slot.kept = True
                    slots[entry.place] = slot
        elif isinstance(record, Installed):
            self._base = record.proposal
            self._latest = record.proposal
            self._was_member = True
            self._ring = self._new_ring(record.proposal)
            self._ring.committed = record.committed - 1
            self._positions = list(record.proposal.positions)
            self._frontier = [list(front) for front in record.proposal.frontier]
            self._ballots.start_over()
            self._note_view(record.proposal.view, list(record.proposal.members))
        elif isinstance(record, Promised):
            self._ballots.promise(self._ballots.ballot(record.number, record.coordinator))
        elif isinstance(record, Agreed):
            self._ballots.vote(self._ballots.ballot(record.number, record.coordinator), record.proposal)
        elif isinstance(record, Run):
            self._history.start_run(record.group, record.start, record.view, record.order)
        elif isinstance(record, Known):
            self._note_view(record.view, list(record.members))
        elif isinstance(record, Summary):
            self._numbers.resume(record.next_seqno)

    def _recalled_slot(self, place: int, sender: SiteId, group: int, ranges: tuple[int, ...]) -> Slot | None:
        try:
            numbers = rangeset_from_wire(ranges, ENTRY_RANGES_MAX)
        except DecodeError:
            return None
        slot = Slot(place, place // RUNS_MAX // self._ring.size, sender, group, ranges)
        slot.numbers = numbers.ranges()
        slot.count = numbers.count()
        slot.destination = True
        return slot

    def _recall_slots(self, slots: dict[int, Slot]) -> None:
        """What of the view's entries was delivered: the end of the log says it."""
        delivered = [self._ends[group] - self._positions[group] for group in range(len(self._groups))]
        for place in sorted(slots):
            slot = slots[place]
            if 0 < slot.count <= delivered[slot.group]:
                delivered[slot.group] -= slot.count
                self._positions[slot.group] += slot.count
                front = self._frontier[slot.group]
                front[slot.sender] = max(front[slot.sender], slot.following())
                self._ring.committed = place
            else:
                self._ring.slots[place] = slot

    def _drop_committed_own(self) -> None:
        for seqno in sorted(self._own):
            if seqno < self._frontier[self._own[seqno].group][self._site]:
                del self._own[seqno]

    def _recall_shown(self) -> None:
        """Which view the application was last told of."""
        if self._was_member and not self._lagging:
            self._shown_view = self._base.view
            self._member_shown = self._base.view
        else:
            for keys in self._history.keys:
                if keys:
                    self._shown_view = max(self._shown_view, keys[-1][0])

    # Questions

    def quiet(self) -> bool:
        if self._status == LEFT:
            return True
        return (
            self._status == ACTIVE
            and not self._own
            and not self._ring.slots
            and not self._lagging
            and not self._ready
            and not self._leaving
            and not self._joiners
        )

    # Dispatch

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if source < 0 or source >= self._sites or source == self._site:
            self.stat_dropped += 1
        elif isinstance(message, Data):
            self._on_data(now, message)
        elif isinstance(message, Token):
            self._on_token(now, source, message)
        elif self._status == LEFT and not isinstance(message, (Prepare, Join, Fetch)):
            return
        elif isinstance(message, Request):
            self._on_request(now, source, message)
        elif isinstance(message, Holding):
            self._on_holding(now, source, message)
        elif isinstance(message, Hurry):
            self._on_hurry(now, source, message)
        elif isinstance(message, Fetch):
            self._on_fetch(source, message)
        elif isinstance(message, Transfer):
            self._on_transfer(now, source, message)
        else:
            self._on_view_message(now, source, message)

    def _on_view_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Prepare):
            self._on_prepare(now, source, message)
        elif isinstance(message, Promise):
            self._on_promise(now, source, message)
        elif isinstance(message, Refuse):
            self._on_refuse(now, message)
        elif isinstance(message, Accept):
            self._on_accept(now, source, message)
        elif isinstance(message, Accepted):
            self._on_accepted(now, source, message)
        elif isinstance(message, Decided):
            self._on_decided(now, message.proposal)
        elif isinstance(message, Join):
            self._on_join(now, source, message)
        elif isinstance(message, Invite):
            self._on_invite(now, source, message)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == HOLD:
            if self._holding and self._status == ACTIVE:
                self._end_turn(now)
        elif timer == REISSUE:
            self._on_reissue(now)
        elif timer == LOST:
            if self._status == ACTIVE:
                self._start_change(now, [])
        elif timer == HURRY:
            if self._asked_hurry and self._status == ACTIVE:
                self._send_hurry(now)
        elif timer == REQUEST:
            self._send_request(now, key)
        elif timer == CHANGE:
            self._on_change_timer(now)
        elif timer == DECIDE:
            self._on_decide_timer(now)
        elif timer == JOIN:
            self._on_join_timer(now)
        elif timer == FETCH:
            self._on_fetch_timer(now)
