"""A site as a source: how its broadcasts come to the place where they are ordered (section 3.2, appendix I).

| paper                             | here                                                  |
|-----------------------------------|-------------------------------------------------------|
| originate_message                 | `broadcast`, `_pump`, `Submit`                        |
| source sequence numbers (5.2.1)   | places: per source and group, in order at the primary |

With `causal`, a message waits at its source until all that it may depend on is delivered everywhere, unless the same
primary destination orders it first anyway: the source's own earlier messages to other groups, and what the source has
delivered of other groups. What was ordered in an older graph comes first at every site.
"""

from typing import Final

from tocsin.core.machine import GroupId, Micros, Outbox, Setup, SiteId
from tocsin.core.records import Records
from tocsin.protocols.propagation_graph.application import Application
from tocsin.protocols.propagation_graph.edges import wanted
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.messages import Ack, Null, Submit
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.outlets import Outlet, Outlets
from tocsin.protocols.propagation_graph.places import SourcePlaces
from tocsin.protocols.propagation_graph.primary import Primary

SUBMIT: Final = "SUBMIT"  # key: group; own broadcasts are not settled


class Sources:
    """Sends own broadcasts to the primary destinations, or orders them here."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        graphs: Graphs,
        places: SourcePlaces,
        outlets: Outlets,
        primary: Primary,
        application: Application,
        records: Records,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._resend_us: int = options.resend_us
        self._window: int = options.window
        self._causal: bool = options.causal
        self._graphs = graphs
        self._places = places
        self._outlets = outlets
        self._primary = primary
        self._application = application
        self._records = records
        self._outbox = outbox

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        record = self._outlets.next_record(group, payload)
        self._records.persist(record)
        self._pump(now, self._outlets.put(record))
        return record.seqno

    # Sending

    def pump_all(self, now: Micros) -> None:
        for group in sorted(self._outlets.by_group):
            outlet = self._outlets.by_group[group]
            if not outlet.is_settled():
                self._pump(now, outlet)

    def _pump(self, now: Micros, outlet: Outlet) -> None:
        """Send what the window allows to the primary destination, or order it here."""
        primary = self._graphs.primary_of(outlet.group)
        if primary == self._site:
            if outlet.tree == self._graphs.present.number:  # otherwise it is not open here yet
                self._take_own(now, outlet)
        elif primary >= 0:
            window = 1 if outlet.probing else self._window
            while outlet.may_send(window) and self._may_submit(outlet, outlet.next_send):
                self._outbox.send(primary, self._submit(outlet, outlet.next_send))
                outlet.sent()
            if not outlet.is_settled() and not outlet.armed and outlet.next_send > outlet.settled:
                outlet.armed = True
                self._outbox.set_timer(SUBMIT, outlet.group, now + self._resend_us)

    def _submit(self, outlet: Outlet, place: int) -> Submit:
        record = outlet.at(place)
        return Submit(outlet.tree, outlet.group, self._site, record.seqno, place, record.payload, self._outlets.start)

    def _take_own(self, now: Micros, outlet: Outlet) -> None:
        """This site is the primary destination of its own broadcasts."""
        if not self._places.is_counted(outlet.group):
            return
        outlet.on_ordered(self._places.following(outlet.group, self._site))
        while outlet.acked < outlet.end and self._primary.may_order() and self._may_submit(outlet, outlet.acked):
            record = outlet.take_next()
            self._primary.order(now, outlet.group, self._site, record.seqno, record.place, record.payload)
        outlet.settle(self._places.final(outlet.group, self._site))

    def _may_submit(self, outlet: Outlet, place: int) -> bool:
        """With causal order: what this site did before must be settled first, where another primary orders it."""
        if not self._causal:
            return True
        record = outlet.at(place)
        for other in self._outlets.by_group.values():
            if other is outlet or other.is_settled():
                continue
            if other.at(other.settled).seqno < record.seqno:
                return False
        number, index = outlet.barrier(place)
        stage = self._graphs.present
        if number != stage.number:
            return True  # every site takes an older graph's messages first
        for entry in stage.log[: max(0, index - stage.first)]:
            if entry is not None and entry.group != outlet.group and self._application.hears(stage, entry.group):
                return False
        return True

    # Time-outs and answers

    def on_timer(self, now: Micros, group: GroupId) -> None:
        outlet = self._outlets.outlet(group)
        outlet.armed = False
        primary = self._graphs.primary_of(group)
        if outlet.is_settled() or primary < 0 or primary == self._site:
            return
        if outlet.acked < outlet.next_send:
            self._outbox.send(primary, self._submit(outlet, outlet.acked))
        else:
            self._outbox.send(primary, Null(outlet.tree, group + 1, outlet.end, outlet.settled))
        outlet.armed = True
        self._outbox.set_timer(SUBMIT, group, now + (self._resend_us << outlet.tried_in_vain()))

    def on_ack(self, now: Micros, source: SiteId, ack: Ack) -> None:
        group = ack.stream - 1
        outlet = self._outlets.by_group.get(group)
        if outlet is None or ack.graph != outlet.tree or source != self._graphs.primary_of(group):
            return
        if ack.end > outlet.end or ack.settled > ack.end:
            return
        outlet.on_answer(ack)
        for place in wanted(ack.missing, outlet.acked, outlet.next_send, self._window):
            self._outbox.send(source, self._submit(outlet, place))
        outlet.settle(ack.settled)
        if outlet.is_settled() and outlet.armed:
            outlet.armed = False
            self._outbox.cancel_timer(SUBMIT, group)
        self.pump_all(now)
