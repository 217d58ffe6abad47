"""`two_phase`: the members propose priorities, the largest is agreed, messages are delivered in that order (ABCAST).

Papers: Birman, Joseph, "Reliable Communication in the Presence of Failures", TOCS 5(1), 1987 (the protocol is Skeen's);
as described in section 2 of Garcia-Molina, Spauster 1988 and section 4.3 of Chang, Hwang.

| what the papers say                                                          | here                         |
|------------------------------------------------------------------------------|------------------------------|
| the sender sends the message to its destinations                             | `broadcast`, `_start`        |
| each gives it a priority higher than any so far, puts it on its queue as     | `_propose`                   |
| "undeliverable", and returns the priority                                    |                              |
| the sender picks the highest and sends it back                               | `_on_propose`, `_decide`     |
| receivers change the priority, mark "deliverable", reorder, deliver the head | `_settle`, `PriorityQueue`   |
| if the sender fails, a receiver takes over                                   | `_ask_or_take_over`          |

Deviations. A proposal is durable and given once, so whoever gathers all of them, source or not, finds the same largest
one: a takeover needs no agreement, and one too many is harmless. The origin's own proposal travels with the message, so
a source may stay down for ever once one member that is up has its message. A destination that is down is waited for
(the paper removes it from the view): new messages to its groups block, which is what two-phase commit does. Ties are
broken by (origin, number). Members propose for the messages of one source in the order of sending, and a source changes
groups only when its earlier messages are final: that makes the order first-in first-out and causal, which the paper
leaves to its transport and to CBCAST. Losses are repaired by asking again.
"""

from typing import Final as Constant

from tocsin.core.machine import GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.own_messages import OwnNumbers
from tocsin.core.rangeset import rangeset_from_wire
from tocsin.core.records import RANGES_MAX, Records
from tocsin.protocols.baselines.two_phase.messages import (
    Agreed,
    Ask,
    Data,
    Final,
    Propose,
    Proposed,
    Sent,
    Stream,
    Summary,
)
from tocsin.protocols.baselines.two_phase.options import TwoPhaseOptions
from tocsin.protocols.baselines.two_phase.queue import Entry, Outgoing, PriorityQueue, StreamState

RESEND: Constant = "RESEND"  # key: the number of the own message whose proposals are missing
ASK: Constant = "ASK"  # some outcome is missing

ASKS_MAX: Constant = 8  # messages asked for at a time, the first of the queue: the rest waits for them anyway
BACKOFF_MAX: Constant = 4  # resending slows down to one in 2^4 time-outs: a crowded medium must be able to recover

PRIORITY_MAX: Constant = 1 << 59  # no honest priority comes here


class TwoPhase(Machine):
    """Priorities proposed by all, the largest agreed."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, TwoPhaseOptions)
        self._site = setup.site
        self._sites = setup.sites
        self._groups = setup.groups
        self._outbox = outbox
        self._resend_us: int = options.resend_us
        self._takeover: bool = options.takeover
        self._takeover_after: int = options.takeover_after
        self._window: int = options.window
        self._clock = 0  # largest priority proposed or seen here
        self._numbers = OwnNumbers()
        self._places: list[int] = [0] * len(setup.groups)  # by group: own broadcasts to it
        self._outgoing: dict[int, Outgoing] = {}  # own, by number, priority not final
        self._queue = PriorityQueue()
        self._streams: dict[tuple[SiteId, GroupId], StreamState] = {}
        self._member_done: dict[tuple[GroupId, SiteId], int] = {}  # own messages: places agreed at that member
        self._asking = False  # the ASK timer is set
        self._records = Records(outbox, options.records_max)

    def room(self) -> int:
        return self._window - len(self._outgoing)

    def quiet(self) -> bool:
        return not self._outgoing and not self._queue.entries

    # Starting

    def on_start(self, now: Micros, records: list[Record]) -> None:
        for record in records:
            self._recall(record)
        self._records.recall(records)
        self._maybe_start(now)
        self._maybe_ask(now)

    def _recall(self, record: Record) -> None:
        """The same records in the same order make the same queue, and what left its head was delivered then."""
        if isinstance(record, Summary):
            self._numbers.resume(record.next_seqno)
            self._clock = record.clock
            self._places = list(record.places)
        elif isinstance(record, Stream):
            stream = self._stream(record.origin, record.group)
            stream.proposed = record.proposed
            stream.agreed = rangeset_from_wire(record.agreed, RANGES_MAX)
            stream.stable = record.stable
        elif isinstance(record, Sent):
            self._numbers.recall(record.seqno)
            self._places[record.group] = max(self._places[record.group], record.place + 1)
            self._outgoing[record.seqno] = Outgoing(record.group, record.seqno, record.place, record.payload)
        elif isinstance(record, Proposed):
            data = Data(
                record.group,
                record.origin,
                record.seqno,
                record.place,
                record.floor,
                record.own,
                0,
                record.payload,
            )
            stream = self._stream(record.origin, record.group)
            stream.proposed = max(stream.proposed, record.place + 1)
            self._queue_up(data, record.priority)
        elif isinstance(record, Agreed):
            self._note_final(record.group, record.origin, record.seqno, record.place, record.priority)
            while self._queue.pop_deliverable() is not None:
                pass

    # The application

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._numbers.take()
        place = self._places[group]
        self._places[group] = place + 1
        self._records.persist(Sent(group, seqno, place, payload))
        self._outgoing[seqno] = Outgoing(group, seqno, place, payload)
        self._maybe_start(now)
        self._maybe_checkpoint()
        return seqno

    def _maybe_start(self, now: Micros) -> bool:
        """Start what waits, oldest first, as long as the group does not change: causal order over groups."""
        started = False
        following = self._next_to_start()
        while following is not None:
            self._start(now, following)
            started = True
            following = self._next_to_start()
        return started

    def _next_to_start(self) -> Outgoing | None:
        group = -1
        for outgoing in self._outgoing.values():
            if group < 0:
                group = outgoing.group
            if outgoing.group != group:
                return None
            if not outgoing.started:
                return outgoing
        return None

    def _start(self, now: Micros, outgoing: Outgoing) -> None:
        """Phase one."""
        outgoing.started = True
        stable = self._own_stable(outgoing.group)
        floor = self._clock
        own = 0
        data = Data(outgoing.group, self._site, outgoing.seqno, outgoing.place, floor, own, stable, outgoing.payload)
        if self._site in self._groups[outgoing.group]:
            entry = self._queue.entries.get((self._site, outgoing.seqno))
            if entry is None:
                own = floor + 1
                data = Data(
                    outgoing.group, self._site, outgoing.seqno, outgoing.place, floor, own, stable, outgoing.payload
                )
                self._propose(now, data)
            else:
                data = entry.data  # proposed in an earlier life
            outgoing.proposals[self._site] = data.own
        outgoing.data = data
        others = self._others(outgoing.group)
        if others:
            self._outbox.multicast(others, data)
            self._outbox.set_timer(RESEND, outgoing.seqno, now + self._resend_us)
        self._maybe_decide(now, outgoing)

    def _own_stable(self, group: GroupId) -> int:
        """Places of ours in this group below this are agreed at every member."""
        least = self._places[group]
        for member in self._groups[group]:
            if member != self._site:
                least = min(least, self._member_done.get((group, member), 0))
        stream = self._stream(self._site, group)
        if self._site in self._groups[group]:
            least = min(least, stream.done())
        stream.forget(least)
        return least

    # Others

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Data):
            self._on_data(now, source, message)
        elif isinstance(message, Propose):
            self._on_propose(now, source, message)
        elif isinstance(message, Final):
            self._on_final(now, message)
        elif isinstance(message, Ask):
            self._on_ask(source, message)
        self._maybe_start(now)
        self._maybe_checkpoint()

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == RESEND:
            outgoing = self._outgoing.get(key)
            if outgoing is not None and outgoing.data is not None:
                for member in self._others(outgoing.group):
                    if member not in outgoing.proposals:
                        self._outbox.send(member, outgoing.data)
                outgoing.tries = min(outgoing.tries + 1, BACKOFF_MAX)
                self._outbox.set_timer(RESEND, key, now + (self._resend_us << outgoing.tries))
        elif timer == ASK:
            self._asking = False
            for entry in self._queue.first_undeliverable(ASKS_MAX):
                self._ask_or_take_over(now, entry)
            self._maybe_start(now)
            self._maybe_ask(now)

    def _on_data(self, now: Micros, source: SiteId, data: Data) -> None:
        if data.origin >= self._sites or data.group >= len(self._groups) or data.origin == self._site:
            return  # not a message of ours, or our own that somebody has taken over: below
        if self._site not in self._groups[data.group] or max(data.floor, data.own) > PRIORITY_MAX:
            return
        if source != data.origin and source not in self._groups[data.group]:
            return
        stream = self._stream(data.origin, data.group)
        if stream.proposed <= data.place < stream.proposed + self._window:
            stream.early[data.place] = data
        following = stream.early.pop(stream.proposed, None)
        while following is not None:
            if (following.origin, following.seqno) in self._queue.entries:
                return  # a number that waits in another place: no member of ours sends that
            self._propose(now, following)
            if following.place != data.place:
                self._answer(data.origin, following)
            following = stream.early.pop(stream.proposed, None)
        self._answer(source, data)
        if source == data.origin:
            stream.forget(min(data.stable, stream.done()))

    def _propose(self, now: Micros, data: Data) -> None:
        """Give a new message a priority higher than any so far, and queue it."""
        self._clock = max(self._clock, data.floor) + 1
        stream = self._stream(data.origin, data.group)
        stream.proposed = data.place + 1
        self._records.persist(
            Proposed(
                data.group,
                data.origin,
                data.seqno,
                data.place,
                data.floor,
                data.own,
                self._clock,
                data.payload,
            )
        )
        self._queue_up(data, self._clock)
        self._maybe_ask(now)

    def _answer(self, target: SiteId, data: Data) -> None:
        """Tell whoever gathers: the outcome if it is known, else the proposal."""
        stream = self._stream(data.origin, data.group)
        final = stream.finals.get(data.place)
        if final is not None:
            self._outbox.send(target, Final(data.origin, data.seqno, final[1]))
            return
        entry = self._queue.entries.get((data.origin, data.seqno))
        if entry is not None:
            self._outbox.send(target, Propose(data.origin, data.seqno, entry.priority, stream.done()))

    def _on_propose(self, now: Micros, source: SiteId, propose: Propose) -> None:
        if propose.priority > PRIORITY_MAX:
            return
        if propose.origin == self._site:
            outgoing = self._outgoing.get(propose.seqno)
            if outgoing is None or not outgoing.started or source not in self._groups[outgoing.group]:
                return  # late: it is final
            outgoing.proposals[source] = propose.priority
            done = min(propose.done, outgoing.place)
            known = self._member_done.get((outgoing.group, source), 0)
            self._member_done[(outgoing.group, source)] = max(done, known)
            self._maybe_decide(now, outgoing)
        else:
            entry = self._queue.entries.get((propose.origin, propose.seqno))
            if entry is not None and entry.taken_over and source in self._groups[entry.data.group]:
                entry.proposals[source] = propose.priority
                self._maybe_decide_taken_over(now, entry)

    def _maybe_decide(self, now: Micros, outgoing: Outgoing) -> bool:
        """Phase two, once every member has proposed."""
        if len(outgoing.proposals) < len(self._groups[outgoing.group]):
            return False
        priority = max(outgoing.proposals.values())
        self._outbox.cancel_timer(RESEND, outgoing.seqno)
        others = self._others(outgoing.group)
        self._settle(now, outgoing.group, self._site, outgoing.seqno, outgoing.place, priority)
        if others:
            self._outbox.multicast(others, Final(self._site, outgoing.seqno, priority))
        return True

    def _on_final(self, now: Micros, final: Final) -> None:
        if final.priority > PRIORITY_MAX:
            return
        entry = self._queue.entries.get((final.origin, final.seqno))
        if entry is not None:
            data = entry.data
            if not entry.deliverable and final.priority >= entry.priority:
                self._settle(now, data.group, data.origin, data.seqno, data.place, final.priority)
        elif final.origin == self._site:
            outgoing = self._outgoing.get(final.seqno)
            if outgoing is not None:  # a member has taken over, and we are no member
                self._settle(now, outgoing.group, self._site, outgoing.seqno, outgoing.place, final.priority)

    def _settle(self, now: Micros, group: GroupId, origin: SiteId, seqno: int, place: int, priority: int) -> None:
        """A message's priority is final: deliver what has become first."""
        self._records.persist(Agreed(group, origin, seqno, place, priority))
        self._note_final(group, origin, seqno, place, priority)
        first = self._queue.pop_deliverable()
        while first is not None:
            data = first.data
            self._outbox.deliver(data.group, data.origin, data.seqno, data.payload)
            first = self._queue.pop_deliverable()

    def _note_final(self, group: GroupId, origin: SiteId, seqno: int, place: int, priority: int) -> None:
        self._clock = max(self._clock, priority)
        if origin == self._site:
            self._outgoing.pop(seqno, None)
            self._outbox.cancel_timer(RESEND, seqno)
        stream = self._stream(origin, group)
        stream.agreed.add(place)
        if place >= stream.stable:
            stream.finals[place] = (seqno, priority)
        entry = self._queue.entries.get((origin, seqno))
        if entry is not None:
            self._queue.settle(entry, priority)

    # When the outcome does not come

    def _on_ask(self, source: SiteId, ask: Ask) -> None:
        """Answer with the outcome, if it is known; with nothing while it is open."""
        for group in range(len(self._groups)):
            stream = self._streams.get((ask.origin, group))
            if stream is not None and source in self._groups[group]:
                for seqno, priority in stream.finals.values():
                    if seqno == ask.seqno:
                        self._outbox.send(source, Final(ask.origin, seqno, priority))
                        return

    def _maybe_ask(self, now: Micros) -> bool:
        """While an outcome is missing, look again in a while."""
        if self._asking or not self._queue.first_undeliverable(1):
            return False
        self._asking = True
        self._outbox.set_timer(ASK, 0, now + self._resend_us)
        return True

    def _ask_or_take_over(self, now: Micros, entry: Entry) -> None:
        """Ask the origin for the outcome; after some questions in vain, do its work. Members come one after another."""
        data = entry.data
        if data.origin == self._site or entry.deliverable:
            return  # RESEND sees to it; or decided a moment ago
        if not entry.waited:
            entry.waited = True  # it may have come a moment ago
            return
        entry.asked += 1
        self._outbox.send(data.origin, Ask(data.origin, data.seqno))
        turn = self._takeover_after + self._groups[data.group].index(self._site)
        if not self._takeover or entry.asked <= turn:
            return
        if not entry.taken_over:
            entry.taken_over = True
            entry.proposals[self._site] = entry.priority
            if data.own > 0:
                entry.proposals[data.origin] = data.own
        if not self._maybe_decide_taken_over(now, entry):
            for member in self._others(data.group):
                if member not in entry.proposals:
                    self._outbox.send(member, data)

    def _maybe_decide_taken_over(self, now: Micros, entry: Entry) -> bool:
        data = entry.data
        if len(entry.proposals) < len(self._groups[data.group]):
            return False
        priority = max(entry.proposals.values())
        targets = sorted(set(self._others(data.group)) | {data.origin})
        self._settle(now, data.group, data.origin, data.seqno, data.place, priority)
        self._outbox.multicast(targets, Final(data.origin, data.seqno, priority))
        return True

    # Keeping

    def _queue_up(self, data: Data, priority: int) -> None:
        self._clock = max(self._clock, priority)
        self._queue.add(Entry(data, priority))

    def _stream(self, origin: SiteId, group: GroupId) -> StreamState:
        stream = self._streams.get((origin, group))
        if stream is None:
            stream = StreamState()
            self._streams[(origin, group)] = stream
        return stream

    def _others(self, group: GroupId) -> list[SiteId]:
        return [site for site in self._groups[group] if site != self._site]

    def _maybe_checkpoint(self) -> bool:
        """Fold the records into a summary and what is still needed, once they are many."""
        needed = len(self._streams) + len(self._outgoing) + len(self._queue.entries)
        for stream in self._streams.values():
            needed += len(stream.finals)
        if not self._records.are_many(2 * needed):
            return False
        records: list[Record] = [Summary(self._numbers.following, self._clock, tuple(self._places))]
        for (origin, group), stream in sorted(self._streams.items()):
            records.append(Stream(group, origin, stream.proposed, stream.agreed.to_wire(RANGES_MAX), stream.stable))
        for outgoing in self._outgoing.values():
            records.append(Sent(outgoing.group, outgoing.seqno, outgoing.place, outgoing.payload))
        for entry in self._queue.entries.values():
            data = entry.data
            records.append(
                Proposed(
                    data.group,
                    data.origin,
                    data.seqno,
                    data.place,
                    data.floor,
                    data.own,
                    entry.priority,
                    data.payload,
                )
            )
        for (origin, group), stream in sorted(self._streams.items()):
            for place, (seqno, priority) in stream.finals.items():
                records.append(Agreed(group, origin, seqno, place, priority))
        self._records.fold(records)
        self._records.release_log(len(self._groups))
        return True
