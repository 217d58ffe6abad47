"""What a site does as a member of groups: it proposes, queues, and delivers what has become first."""

from typing import Final as Constant

from tocsin.core.machine import GroupId, Outbox, SiteId
from tocsin.core.records import Records
from tocsin.protocols.baselines.two_phase.messages import Agreed, Ask, Data, Final, Propose, Proposed
from tocsin.protocols.baselines.two_phase.outgoing import Outgoings
from tocsin.protocols.baselines.two_phase.queue import Entry, PriorityQueue, StreamState

PRIORITY_MAX: Constant = 1 << 59  # no honest priority comes here


class Member:
    """The clock, the queue, and what is known of each origin's messages to each group."""

    def __init__(
        self,
        site: SiteId,
        sites: int,
        groups: list[list[SiteId]],
        window: int,
        outgoings: Outgoings,
        records: Records,
        outbox: Outbox,
    ) -> None:
        self._site = site
        self._sites = sites
        self._groups = groups
        self._window = window
        self._outgoings = outgoings
        self._records = records
        self._outbox = outbox
        self.clock = 0  # largest priority proposed or seen here
        self.queue = PriorityQueue()
        self.streams: dict[tuple[SiteId, GroupId], StreamState] = {}

    def others(self, group: GroupId) -> list[SiteId]:
        return [site for site in self._groups[group] if site != self._site]

    def stream(self, origin: SiteId, group: GroupId) -> StreamState:
        stream = self.streams.get((origin, group))
        if stream is None:
            stream = StreamState()
            self.streams[(origin, group)] = stream
        return stream

    # Sites that begin anew

    def renew(self, site: SiteId) -> None:
        """An origin counts from 0 again."""
        for group in range(len(self._groups)):
            self.streams.pop((site, group), None)

    def begin_at(self, origin: SiteId, clock: int, over: tuple[tuple[int, int, int, int], ...]) -> None:
        """This site has begun anew: which of an origin's messages do not come here any more (`Account.over`)."""
        self.clock = max(self.clock, min(clock, PRIORITY_MAX))
        for group, _, place, count in over:
            if group < len(self._groups) and self._site in self._groups[group]:
                stream = self.stream(origin, group)
                stream.agreed.add_range(place, min(place + count, PRIORITY_MAX))
                stream.proposed = stream.agreed.next_missing(0)
                stream.stable = stream.proposed

    # Phase one

    def on_data(self, source: SiteId, data: Data) -> None:
        if data.origin >= self._sites or data.group >= len(self._groups) or data.origin == self._site:
            return  # not a message of ours, or our own that somebody has taken over
        if self._site not in self._groups[data.group] or max(data.floor, data.own) > PRIORITY_MAX:
            return
        if source != data.origin and source not in self._groups[data.group]:
            return
        stream = self.stream(data.origin, data.group)
        if stream.proposed <= data.place < stream.proposed + self._window:
            stream.early[data.place] = data
        following = stream.early.pop(stream.proposed, None)
        while following is not None:
            if (following.origin, following.seqno) in self.queue.entries:
                return  # a number that waits in another place: no member of ours sends that
            self.propose(following)
            if following.place != data.place:
                self._answer(data.origin, following)
            following = stream.early.pop(stream.proposed, None)
        self._answer(source, data)
        if source == data.origin:
            stream.forget(min(data.stable, stream.done()))

    def propose(self, data: Data) -> None:
        """Give a new message a priority higher than any so far, and queue it."""
        self.clock = max(self.clock, data.floor) + 1
        stream = self.stream(data.origin, data.group)
        stream.proposed = stream.agreed.next_missing(data.place + 1)  # beyond: only what was over before this disk
        self._records.persist(
            Proposed(
                data.group,
                data.origin,
                data.seqno,
                data.place,
                data.floor,
                data.own,
                self.clock,
                data.payload,
            )
        )
        self.queue_up(data, self.clock)

    def queue_up(self, data: Data, priority: int) -> None:
        self.clock = max(self.clock, priority)
        self.queue.add(Entry(data, priority))

    def _answer(self, target: SiteId, data: Data) -> None:
        """Tell whoever gathers: the outcome if it is known, else the proposal."""
        stream = self.stream(data.origin, data.group)
        final = stream.finals.get(data.place)
        if final is not None:
            self._outbox.send(target, Final(data.origin, data.seqno, final[1]))
            return
        entry = self.queue.entries.get((data.origin, data.seqno))
        if entry is not None:
            self._outbox.send(target, Propose(data.origin, data.seqno, entry.priority, stream.done()))

    # Phase two

    def on_final(self, final: Final) -> None:
        if final.priority > PRIORITY_MAX:
            return
        entry = self.queue.entries.get((final.origin, final.seqno))
        if entry is not None:
            data = entry.data
            if not entry.deliverable and final.priority >= entry.priority:
                self.settle(data.group, data.origin, data.seqno, data.place, final.priority)
        elif final.origin == self._site:
            outgoing = self._outgoings.waiting.get(final.seqno)
            if outgoing is not None:  # a member has taken over, and we are no member
                self.settle(outgoing.group, self._site, outgoing.seqno, outgoing.place, final.priority)

    def settle(self, group: GroupId, origin: SiteId, seqno: int, place: int, priority: int) -> None:
        """A message's priority is final: deliver what has become first."""
        self._records.persist(Agreed(group, origin, seqno, place, priority))
        self.note_final(group, origin, seqno, place, priority)
        first = self.queue.pop_deliverable()
        while first is not None:
            data = first.data
            self._outbox.deliver(data.group, data.origin, data.seqno, data.payload)
            first = self.queue.pop_deliverable()

    def note_final(self, group: GroupId, origin: SiteId, seqno: int, place: int, priority: int) -> None:
        self.clock = max(self.clock, priority)
        if origin == self._site:
            self._outgoings.settle(seqno)
        stream = self.stream(origin, group)
        stream.agreed.add(place)
        if place >= stream.stable:
            stream.finals[place] = (seqno, priority)
        entry = self.queue.entries.get((origin, seqno))
        if entry is not None:
            self.queue.settle(entry, priority)

    def on_ask(self, source: SiteId, ask: Ask) -> None:
        """Answer with the outcome, if it is known; with nothing while it is open."""
        for group in range(len(self._groups)):
            stream = self.streams.get((ask.origin, group))
            if stream is not None and source in self._groups[group]:
                for seqno, priority in stream.finals.values():
                    if seqno == ask.seqno:
                        self._outbox.send(source, Final(ask.origin, seqno, priority))
                        return
