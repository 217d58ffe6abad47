"""`sequencer`: one site gives every message its place; another does when it dies. Optionally the right moves on.

Papers: Chang, Maxemchuk, "Reliable Broadcast Protocols", TOCS 2(3), 1984; in the simplified, central form of
Garcia-Molina, Spauster 1988 (section 4, centralized) and Chang, Hwang (section 4.3, centralized).

| what the papers say                                                     | here                                    |
|-------------------------------------------------------------------------|-----------------------------------------|
| the source sends to the token site, and again until acknowledged        | `Source`, SUBMIT                        |
| the token site gives it the next number and broadcasts that             | `_order_waiting`, `OrderingSite.place`  |
| a gap in the numbers: negative acknowledgement, retransmission          | `Repair`, GAP, `Lacks`, `Fill`          |
| the acknowledgement passes the token to the next site of the list,      | `rotate`, `TokenSite`                   |
| which accepts it when it has everything up to there                     | `OrderingSite.may_take_token`           |
| a message is committed when the token has moved on L times              | `Commits`, L+1 = majority               |
| after R tries the site is taken for dead: reformation, …                | `Contact`, `Election`, `Terms`          |
| … a new token list without it                                           | `TokenSite.absent`                      |

Deviations. The reformation phase is an election: a term is led by whoever a majority voted for, and nobody votes for a
site whose order is behind its own (Ongaro, Ousterhout 2014), so that what was committed stays; this is also what makes
partitions harmless. A site that comes back is on the token list again from the next term on; until then it gets and
submits everything, and only does not order. An ordering message carries the message it orders, so one loss costs one
repair. Central form, as the papers simplify it: deliver when ordered. Then a sequencer that dies may leave a site with
an order that nobody else knows: that site takes it back (`rollback`) when it meets the new sequencer (level R2). With
`delivery = "committed"`, by acknowledgements or by the moving token, nothing is ever taken back (R3).

Every site gets every message, whatever its group. Chang and Maxemchuk have one broadcast group, and their protocol
rests on it: a loss is seen by a gap in the numbers, so everybody must see every number, and any site may have to order
next, so everybody must keep the order. Groups only decide who delivers.
"""

from tocsin.core.machine import GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.records import Records
from tocsin.protocols.baselines.sequencer.application import Application
from tocsin.protocols.baselines.sequencer.delivery import Delivery, WhenCommitted, WhenOrdered
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.messages import Item, Submit
from tocsin.protocols.baselines.sequencer.options import SequencerOptions
from tocsin.protocols.baselines.sequencer.ordering_site import OrderingSite


class Sequencer(Machine):
    """One site orders at a time, message by message."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, SequencerOptions)
        records = Records(outbox, options.records_max)
        log = Log(setup.sites, len(setup.groups), options.window, options.retain, records)
        application = Application(setup.site, setup.groups, setup.log, outbox)
        delivery: Delivery = WhenOrdered(log, application)
        if options.delivery == "committed":
            delivery = WhenCommitted(log, application)
        self._site = OrderingSite(setup, options, records, log, application, delivery, outbox)
        self._log = log
        self._token = self._site.token
        self._outbox = outbox

    def room(self) -> int:
        return self._site.room()

    def quiet(self) -> bool:
        return self._site.quiet()

    def on_start(self, now: Micros, records: list[Record]) -> None:
        self._site.start(now, records)

    # The application

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        item = self._site.source.add(group, payload)
        if self._token.here:
            self._log.submissions.add(self._log.order, item)
            self._order_waiting()
        else:
            self._site.source.submit(item)
        self._site.end_step(now)
        return item.seqno

    # Others

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Submit):
            if self._site.accepts(source, message):
                self._on_submit(source, message)
        elif self._site.on_message(now, source, message):
            self._order_waiting()
        self._maybe_take_token()
        self._site.end_step(now)

    def on_peer_renewed(self, now: Micros, site: SiteId, incarnation: int) -> None:
        self._site.on_peer_renewed(site)
        if self._token.rotate and self._token.here and self._token.everywhere() < self._log.end():
            self._token.pass_on()  # it goes round once more
        self._site.end_step(now)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if self._site.on_timer(now, timer):
            self._order_waiting()
        self._site.end_step(now)

    def _on_submit(self, source: SiteId, submit: Submit) -> None:
        if not self._token.rotate and not self._token.here:
            return
        self._log.submissions.add(self._log.order, Item(0, submit.group, submit.origin, submit.seqno, submit.payload))
        if submit.term == self._site.terms.term and not self._token.rotate:
            self._token.note_have(source, submit.matched)
        if self._token.here and submit.seqno < self._log.order.next_seqnos[source]:
            self._outbox.send(source, self._token.status())  # ordered before: the acknowledgement was lost
        self._order_waiting()

    # Ordering

    def _order_waiting(self) -> None:
        """Give places to what waits, while the token is here."""
        term = self._site.terms.term
        item = self._log.submissions.take(self._log.order) if self._token.here else None
        while item is not None:
            self._site.place(Item(term, item.group, item.origin, item.seqno, item.payload))
            item = self._log.submissions.take(self._log.order) if self._token.here else None

    def _maybe_take_token(self) -> bool:
        """Accept the token when everything ordered before it is here; use it, pass it on, or let it rest."""
        token = self._token
        if not token.rotate or not self._site.may_take_token():
            return False
        token.take()
        self._site.commits.maybe_commit()
        self._order_waiting()
        if token.here and token.everywhere() < self._log.end():
            token.pass_on()
        elif token.here and token.hop > 0:
            token.tell_taken()
        return True
