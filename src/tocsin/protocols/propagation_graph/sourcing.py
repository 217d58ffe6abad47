"""Sources and primary destinations: how a broadcast comes to the place where it is ordered (section 3.2, appendix I).

| paper                             | here                                                  |
|-----------------------------------|-------------------------------------------------------|
| originate_message                 | `broadcast`, `_pump_outlet`, `Submit`                 |
| receive_message at the primary    | `_on_submit`, `_take_submissions`, `_order`           |
| source sequence numbers (5.2.1)   | places: per source and group, in order at the primary |

With `causal`, a message waits at its source until all that it may depend on is delivered everywhere, unless the same
primary destination orders it first anyway: the source's own earlier messages to other groups, and what the source has
delivered of other groups. What was ordered in an older graph comes first at every site.
"""

from typing import Final

from tocsin.core.machine import GroupId, Micros, Outbox, Setup, SiteId
from tocsin.protocols.propagation_graph.edges import GAPS_MAX, gaps, wanted
from tocsin.protocols.propagation_graph.messages import Ack, Null, Submit
from tocsin.protocols.propagation_graph.options_config import PropagationGraphOptions
from tocsin.protocols.propagation_graph.outlets import Outlet, Stream
from tocsin.protocols.propagation_graph.passing import BACKOFF_MAX, Passing
from tocsin.protocols.propagation_graph.record_messages import Passed, Sent

SUBMIT: Final = "SUBMIT"  # key: group; own broadcasts are not settled


class Sourcing(Passing):
    """A site as a source, and as the primary destination of others."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, PropagationGraphOptions)
        super().__init__(setup, outbox)
        self._backlog: int = options.backlog
        self._causal: bool = options.causal
        self._next_seqno = 0  # next to assign; every smaller number is persisted
        self._outlets: dict[GroupId, Outlet] = {}
        self._final: dict[tuple[GroupId, SiteId], int] = {}  # as primary destination: places the source may forget
        self._streams: dict[tuple[GroupId, SiteId], Stream] = {}  # as primary destination in the present graph
        self._blocked = False  # submissions wait until something becomes stable
        self._uncounted: dict[GroupId, int] = {}  # groups it joined, in which graph; their places are not known here

    def room(self) -> int:
        unsettled = 0
        for outlet in self._outlets.values():
            unsettled += outlet.end - outlet.settled
        return self._backlog - unsettled

    def quiet(self) -> bool:
        for outlet in self._outlets.values():
            if outlet.settled < outlet.end:
                return False
        return super().quiet()

    # Sources

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._next_seqno
        self._next_seqno = seqno + 1
        outlet = self._outlet(group)
        record = Sent(group, seqno, outlet.end, payload)
        self._persist(record)
        self._put_out(outlet, record)
        self._pump_outlet(now, outlet)
        return seqno

    def _outlet(self, group: GroupId) -> Outlet:
        outlet = self._outlets.get(group)
        if outlet is None:
            outlet = Outlet(group)
            self._outlets[group] = outlet
        return outlet

    def _put_out(self, outlet: Outlet, record: Sent) -> None:
        outlet.put(record)
        if self._causal:
            outlet.barriers.append((self._stage.number, self._stage.end()))

    def _may_submit(self, outlet: Outlet, place: int) -> bool:
        """With causal order: what this site did before must be settled first, where another primary orders it."""
        if not self._causal:
            return True
        record = outlet.at(place)
        for other in self._outlets.values():
            if other is outlet or other.settled == other.end:
                continue
            if other.at(other.settled).seqno < record.seqno:
                return False
        number, index = outlet.barriers[place - outlet.settled]
        if number != self._stage.number:
            return True  # every site takes an older graph's messages first
        for entry in self._stage.log[: max(0, index - self._stage.first)]:
            if entry is not None and entry.group != outlet.group and self._delivers(self._stage, entry.group):
                return False
        return True

    def _pump_outlets(self, now: Micros) -> None:
        for group in sorted(self._outlets):
            outlet = self._outlets[group]
            if outlet.settled < outlet.end:
                self._pump_outlet(now, outlet)

    def _pump_outlet(self, now: Micros, outlet: Outlet) -> None:
        """Send what the window allows to the primary destination, or order it here."""
        primary = self._stage.graph.primary_of(outlet.group)
        if primary == self._site:
            self._take_own(now, outlet)
        elif primary >= 0:
            limit = 1 if outlet.probing else self._window
            while outlet.next_send < min(outlet.end, outlet.acked + limit):
                if not self._may_submit(outlet, outlet.next_send):
                    break
                self._outbox.send(primary, self._submit(outlet, outlet.next_send))
                outlet.next_send += 1
            if outlet.settled < outlet.end and not outlet.armed and outlet.next_send > outlet.settled:
                outlet.armed = True
                self._outbox.set_timer(SUBMIT, outlet.group, now + self._resend_us)

    def _submit(self, outlet: Outlet, place: int) -> Submit:
        record = outlet.at(place)
        return Submit(self._stage.number, outlet.group, self._site, record.seqno, place, record.payload)

    def _take_own(self, now: Micros, outlet: Outlet) -> None:
        """This site is the primary destination of its own broadcasts."""
        if outlet.group in self._uncounted:
            return
        known = self._places.get((outlet.group, self._site), 0)
        outlet.probing = False
        outlet.acked = max(outlet.acked, min(known, outlet.end))
        outlet.next_send = outlet.acked
        while outlet.acked < outlet.end and self._may_order() and self._may_submit(outlet, outlet.acked):
            record = outlet.at(outlet.acked)
            outlet.acked += 1
            outlet.next_send = outlet.acked
            self._order(now, outlet.group, self._site, record.seqno, record.place, record.payload)
        self._settle_own(now, outlet.group, self._final.get((outlet.group, self._site), 0))

    def _settle_own(self, now: Micros, group: GroupId, settled: int) -> None:
        self._outlet(group).settle(settled)

    def _on_submit_timer(self, now: Micros, group: GroupId) -> None:
        outlet = self._outlet(group)
        outlet.armed = False
        primary = self._stage.graph.primary_of(group)
        if outlet.settled == outlet.end or primary < 0 or primary == self._site:
            return
        if outlet.acked < outlet.next_send:
            self._outbox.send(primary, self._submit(outlet, outlet.acked))
        else:
            self._outbox.send(primary, Null(self._stage.number, group + 1, outlet.end, outlet.settled))
        outlet.tries = min(outlet.tries + 1, BACKOFF_MAX)
        outlet.armed = True
        self._outbox.set_timer(SUBMIT, group, now + (self._resend_us << outlet.tries))

    def _on_outlet_ack(self, now: Micros, source: SiteId, ack: Ack) -> None:
        group = ack.stream - 1
        outlet = self._outlets.get(group)
        if outlet is None or ack.graph != self._stage.number or source != self._stage.graph.primary_of(group):
            return
        if ack.end > outlet.end or ack.settled > ack.end:
            return
        outlet.probing = False
        if ack.end > outlet.acked or ack.settled > outlet.settled:
            outlet.tries = 0
        outlet.acked = max(outlet.acked, ack.end)
        outlet.next_send = max(outlet.next_send, outlet.acked)
        for place in wanted(ack.missing, outlet.acked, outlet.next_send, self._window):
            self._outbox.send(source, self._submit(outlet, place))
        outlet.settle(ack.settled)
        if outlet.settled == outlet.end and outlet.armed:
            outlet.armed = False
            self._outbox.cancel_timer(SUBMIT, group)
        self._pump_outlets(now)

    # The primary destination

    def _may_order(self) -> bool:
        return not self._stopped and len(self._stage.log) < self._backlog

    def _on_submit(self, now: Micros, source: SiteId, submit: Submit) -> None:
        stage = self._stage
        if submit.origin != source or stage.graph.primary_of(submit.group) != self._site:
            return
        stream = self._stream(submit.group, source)
        following = self._places.get((submit.group, source), 0)
        if following <= submit.place < following + self._window:
            stream.early[submit.place] = (submit.seqno, submit.payload)
            self._take_submissions(now, submit.group, source)
        else:
            self._acknowledge_source(now, submit.group, source)
        if stream.early:
            self._acknowledge_source(now, submit.group, source)

    def _stream(self, group: GroupId, source: SiteId) -> Stream:
        stream = self._streams.get((group, source))
        if stream is None:
            stream = Stream()
            self._streams[(group, source)] = stream
        return stream

    def _take_submissions(self, now: Micros, group: GroupId, source: SiteId) -> None:
        """Order what has come from a source, in the order of its places."""
        if group in self._uncounted:
            return
        stream = self._stream(group, source)
        place = self._places.get((group, source), 0)
        while place in stream.early:
            if not self._may_order():
                self._blocked = True
                break
            seqno, payload = stream.early.pop(place)
            self._order(now, group, source, seqno, place, payload)
            place += 1
            self._acknowledge_source(now, group, source)

    def _take_all_submissions(self, now: Micros) -> None:
        for group, source in sorted(self._streams):
            self._take_submissions(now, group, source)

    def _order(self, now: Micros, group: GroupId, origin: SiteId, seqno: int, place: int, payload: bytes) -> None:
        """Give a message its place among all that pass here."""
        stage = self._stage
        rank = stage.ranks.get(group, 0)
        key = stage.next_key(self._site, self._sites)
        self._process(now, Passed(stage.number, False, group, origin, seqno, place, rank, key, payload))

    def _acknowledge_source(self, now: Micros, group: GroupId, source: SiteId) -> None:
        self._stream(group, source).news = True
        self._arm_ack(now, 1 + source)

    def _send_source_acks(self, source: SiteId) -> None:
        for group, origin in sorted(self._streams):
            stream = self._streams[(group, origin)]
            if origin == source and stream.news:
                stream.news = False
                self._send_source_ack(group, source)

    def _send_source_ack(self, group: GroupId, source: SiteId) -> None:
        if group in self._uncounted or self._stage.graph.primary_of(group) != self._site:
            return
        end = self._places.get((group, source), 0)
        final = self._final.get((group, source), 0)
        stream = self._streams.get((group, source))
        missing = gaps(end, sorted(stream.early)) if stream is not None else gaps(0, [])
        self._outbox.send(source, Ack(self._stage.number, group + 1, end, final, final, missing.to_wire(GAPS_MAX)))

    def _on_null(self, now: Micros, source: SiteId, null: Null) -> None:
        if null.stream == 0:
            super()._on_null(now, source, null)
        elif null.graph == self._stage.number:
            self._send_source_ack(null.stream - 1, source)

    def _on_ack_timer(self, key: int) -> None:
        if key == 0:
            super()._on_ack_timer(key)
        else:
            self._acking.discard(key)
            self._send_source_acks(key - 1)

    def _on_trimmed(self, now: Micros, record: Passed) -> None:
        """Everybody has a message."""
        if record.inward:
            return
        final = self._final.get((record.group, record.origin), 0)
        self._final[(record.group, record.origin)] = max(final, record.place + 1)
        if record.origin == self._site:
            self._settle_own(now, record.group, record.place + 1)
        elif record.graph == self._stage.number:
            self._acknowledge_source(now, record.group, record.origin)

    def _release(self, now: Micros) -> None:
        """At the end of a step: what waited for something to become stable."""
        if self._released:
            self._released = False
            if self._blocked:
                self._blocked = False
                self._take_all_submissions(now)
            self._pump_outlets(now)
