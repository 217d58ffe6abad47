"""`sequencer`: one site gives every message its place; another does when it dies. Optionally the right moves on.

Papers: Chang, Maxemchuk, "Reliable Broadcast Protocols", TOCS 2(3), 1984; in the simplified, central form of
Garcia-Molina, Spauster 1988 (section 4, centralized) and Chang, Hwang (section 4.3, centralized).

| what the papers say                                                     | here                                    |
|-------------------------------------------------------------------------|-----------------------------------------|
| the source sends to the token site, and again until acknowledged        | `broadcast`, SUBMIT                     |
| the token site gives it the next number and broadcasts that             | `_order_waiting`, `Ordered`             |
| a gap in the numbers: negative acknowledgement, retransmission          | `_on_ordered`, GAP, `Lacks`, `Fill`     |
| the acknowledgement passes the token to the next site of the list,      | `rotate`, `_place`, `_pass_token`       |
| which accepts it when it has everything up to there                     | `_maybe_take_token`                     |
| a message is committed when the token has moved on L times              | `_maybe_commit`, L+1 = majority         |
| after R tries the site is taken for dead: reformation, …                | `suspect_after`, `_seek`, `_maybe_lead` |
| … a new token list without it                                           | `_absent`                               |

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

from tocsin.core.data import Sent
from tocsin.core.machine import GroupId, Micros, SiteId
from tocsin.core.message import Message, Record
from tocsin.protocols.baselines.sequencer.keeper import (
    AGAIN_MAX,
    BACKOFF_MAX,
    CHECK,
    EARLY_MAX,
    ELECT,
    FILL_BYTES_MAX,
    FILL_ITEMS_MAX,
    GAP,
    NOBODY,
    PASS,
    SUBMIT,
)
from tocsin.protocols.baselines.sequencer.messages import (
    NO_GROUP,
    Fill,
    Have,
    Item,
    Lacks,
    Newer,
    Ordered,
    Seek,
    Status,
    Submit,
    Vote,
)
from tocsin.protocols.baselines.sequencer.moving import Moving


class Sequencer(Moving):
    """One site orders at a time."""

    # Starting

    def on_start(self, now: Micros, records: list[Record]) -> None:
        for record in records:
            self._recall(record)
        self._records.recall(records)
        self._count_settled()
        for seqno in [seqno for seqno in self._pending if seqno < self._committed_seqno()]:
            del self._pending[seqno]
        if records:
            self._forget_term()
            self._barred = self._rotate
            self._in_step = False
            self._outbox.multicast(list(self._others), Lacks(self._term, self._matched))
        self._arm(now)

    # The application

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._numbers.take()
        self._records.persist(Sent(group, seqno, payload))
        item = Item(0, group, self._site, seqno, payload)
        self._pending[seqno] = item
        if self._token:
            self._submissions.add(self._order, item)
            self._order_waiting(now)
        else:
            self._submit(item)
        self._arm(now)
        self._maybe_checkpoint()
        return seqno

    def _submit(self, item: Item) -> None:
        message = Submit(self._term, item.group, self._site, item.seqno, self._matched, item.payload)
        if self._rotate or self._orderer == NOBODY:
            self._outbox.multicast(list(self._others), message)
        else:
            self._outbox.send(self._orderer, message)

    # Others

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        self._trust(source)
        if isinstance(message, Submit):
            self._on_submit(now, source, message)
        elif isinstance(message, Ordered):
            if self._known_term(now, source, message.term):
                self._on_ordered(now, source, message)
        elif isinstance(message, Status):
            if self._known_term(now, source, message.term):
                self._on_status(now, source, message)
        elif isinstance(message, Have):
            if self._known_term(now, source, message.term):
                self._on_have(source, message)
        elif isinstance(message, Lacks):
            if self._known_term(now, source, message.term):
                self._on_lacks(source, message.position)
        elif isinstance(message, Fill):
            if self._known_term(now, source, message.term):
                self._on_fill(source, message)
        elif isinstance(message, Seek):
            self._on_seek(now, source, message)
        elif isinstance(message, Vote):
            self._on_vote(now, source, message)
        elif isinstance(message, Newer):
            self._known_term(now, source, message.term)
        self._maybe_take_token(now)
        self._arm(now)
        self._maybe_checkpoint()

    def _known_term(self, now: Micros, source: SiteId, term: int) -> bool:
        """Follow into a newer term, refuse an older one."""
        if term > self._term:
            self._enter_term(term, NOBODY)
        elif term < self._term:
            self._outbox.send(source, Newer(self._term))
        return term == self._term

    def _on_submit(self, now: Micros, source: SiteId, submit: Submit) -> None:
        if submit.origin != source or submit.group >= len(self._groups):
            return
        if submit.term > self._term:
            self._enter_term(submit.term, NOBODY)
        if not self._rotate and not self._token:
            return
        item = Item(0, submit.group, submit.origin, submit.seqno, submit.payload)
        self._submissions.add(self._order, item)
        if submit.term == self._term and not self._rotate:
            self._have[source] = max(self._have[source], min(submit.matched, self._order.end()))
        if self._token and submit.seqno < self._order.next_seqnos[source]:
            self._outbox.send(source, self._status())  # ordered before: the acknowledgement was lost
        if self._token:
            self._order_waiting(now)

    # Ordering

    def _order_waiting(self, now: Micros) -> None:
        """Give places to what waits, while the token is here."""
        item = self._submissions.take(self._order) if self._token else None
        while item is not None:
            self._place(now, Item(self._term, item.group, item.origin, item.seqno, item.payload))
            item = self._submissions.take(self._order) if self._token else None

    def _place(self, now: Micros, item: Item) -> None:
        position = self._order.end()
        self._append(item)
        self._matched = position + 1
        self._have[self._site] = position + 1
        self._maybe_commit(now)
        token = self._site
        if self._rotate and self._next_site() != self._site:
            token = self._next_site()
            self._hop += 1
            self._token = False
            self._orderer = token
            self._unset(PASS)
        have = tuple(self._have) if self._rotate else ()
        if self._others:
            ordered = Ordered(self._term, position, item, self._committed, token, self._hop, have, tuple(self._absent))
            self._outbox.multicast(list(self._others), ordered)

    def _on_ordered(self, now: Micros, source: SiteId, ordered: Ordered) -> None:
        if not self._valid(ordered.item) or not self._note_token(
            source, ordered.token, ordered.hop, ordered.have, ordered.absent
        ):
            return
        position = ordered.position
        if self._matched <= position < self._matched + EARLY_MAX:
            self._early[position] = ordered.item
        self._take_early()
        self._commit(ordered.committed)
        if self._matched <= position:
            self._ask(source)
        elif not self._at_once and not self._rotate:
            self._outbox.send(source, Have(self._term, self._matched, 0))

    def _take_early(self) -> None:
        """Accept the items that follow what is here."""
        for position in [position for position in self._early if position < self._matched]:
            del self._early[position]
        item = self._early.pop(self._matched, None)
        while item is not None:
            if not self._accept(item):
                return
            item = self._early.pop(self._matched, None)

    def _accept(self, item: Item) -> bool:
        """An item of this term's order at the position `matched`: keep the one here if it is the same, else replace."""
        if self._order.term_at(self._matched) != item.term:
            self._truncate(self._matched)
            if not self._order.expects(item):
                return False  # no orderer orders so: drop it
            self._append(item)
        self._matched += 1
        return True

    def _valid(self, item: Item) -> bool:
        if item.group == NO_GROUP:
            return item.term <= self._term
        return item.group < len(self._groups) and item.origin < self._sites and item.term <= self._term

    def _on_status(self, now: Micros, source: SiteId, status: Status) -> None:
        if not self._note_token(source, status.token, status.hop, status.have, status.absent):
            return
        self._known_end = max(self._known_end, min(status.end, self._matched + EARLY_MAX))
        if status.end > self._matched:
            self._ask(source)
        elif status.ask:
            self._outbox.send(source, Have(self._term, self._matched, 0))
        elif status.token == self._site and status.hop < self._hop:
            self._outbox.send(source, Have(self._term, self._matched, self._hop))  # taken long ago
        self._commit(status.committed)

    def _on_have(self, source: SiteId, have: Have) -> None:
        matched = min(have.matched, self._matched)
        news = matched > self._have[source]
        self._have[source] = max(self._have[source], matched)
        if self._rotate:
            if have.hop >= self._hop and source == self._next_site():
                self._taken = have.hop
                self._unset(PASS)
            return
        if not self._token:
            return
        settled = self._maybe_commit(0)
        all_have = news and min(self._have) >= self._order.end()
        if all_have or (settled and not self._at_once):
            self._outbox.multicast(list(self._others), self._status())

    # Repair

    def _on_lacks(self, source: SiteId, position: int) -> None:
        if self._order.base <= position < self._matched:
            items = self._order.piece(position, min(FILL_ITEMS_MAX, self._matched - position), FILL_BYTES_MAX)
            self._outbox.send(source, Fill(self._term, position, items, self._matched, self._committed))
        elif self._token or (self._rotate and self._orderer not in (NOBODY, self._site)):
            if not self._rotate:
                self._have[source] = max(self._have[source], min(position, self._matched))
                self._maybe_commit(0)
            self._outbox.send(source, self._status())

    def _ask(self, source: SiteId) -> None:
        """Negative acknowledgement, once for a position; GAP asks again."""
        if self._asked != self._matched:
            self._asked = self._matched
            self._outbox.send(source, Lacks(self._term, self._matched))

    def _on_fill(self, source: SiteId, fill: Fill) -> None:
        if fill.position > self._matched or self._token:
            return
        for item in fill.items[self._matched - fill.position :]:
            if not self._valid(item) or not self._accept(item):
                return
        self._take_early()
        self._commit(fill.committed)
        if source == self._orderer:
            self._contact = True
            self._tries = 0
        if self._matched < fill.end:
            self._ask(source)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer in self._timers:
            self._timers.remove(timer)
        if timer == SUBMIT:
            self._on_submit_timer(now)
        elif timer == GAP:
            self._on_gap_timer(now)
        elif timer == CHECK:
            self._on_check_timer()
        elif timer == PASS:
            self._on_pass_timer(now)
        elif timer == ELECT and self._orderer == NOBODY:
            self._seek(now)
        self._arm(now)
        self._maybe_checkpoint()

    def _on_submit_timer(self, now: Micros) -> None:
        again = [item for item in self._pending.values() if item.seqno >= self._order.next_seqnos[self._site]]
        if self._token:
            for item in again:
                self._submissions.add(self._order, item)
            self._order_waiting(now)
        elif again and not self._candidate:
            for item in again[:AGAIN_MAX]:
                self._submit(item)
            self._count_try(now)

    def _on_gap_timer(self, now: Micros) -> None:
        if not self._lagging() or self._candidate:
            return
        if not self._contact or self._early or self._matched < max(self._order.end(), self._known_end):
            self._asked = self._matched
            message = Lacks(self._term, self._matched)
            if self._orderer == NOBODY or self._orderer == self._site:
                self._outbox.multicast(list(self._others), message)
            else:
                self._outbox.send(self._orderer, message)
            self._count_try(now)
        self._contact = False

    def _count_try(self, now: Micros) -> None:
        self._tries += 1
        if self._tries > self._suspect_after:
            if self._orderer == NOBODY:
                self._set_election(now, 1)  # an election is under way: asking at once would stop it, again and again
            else:
                self._suspect(self._orderer)
                self._seek(now)

    def _to_check(self) -> list[SiteId]:
        """Who has to be asked what it has: everybody, or, where the token moves, those it does not come to."""
        return self._absent if self._rotate else self._others

    def _on_check_timer(self) -> None:
        """The orderer asks those who have not said that they have what was there at the last look."""
        behind = [site for site in self._to_check() if self._have[site] < self._checked_end]
        self._checked_end = self._order.end()
        if behind and self._token:
            self._outbox.multicast(behind, self._status(True))

    def _arm(self, now: Micros) -> None:
        """Set the timers that are needed; questions in vain come ever more slowly, the network may be slow."""
        patience_us = self._resend_us << min(self._tries, BACKOFF_MAX)
        if self._pending:
            self._set(SUBMIT, now + patience_us)
        if self._lagging() and not self._candidate and self._others:
            in_a_hurry = len(self._early) > 0 or self._matched < self._known_end
            self._set(GAP, now + (patience_us if in_a_hurry else 2 * patience_us))
        if self._token and min([self._have[site] for site in self._to_check()], default=self._matched) < self._matched:
            self._set(CHECK, now + self._resend_us)
        if self._hop > self._taken and not self._token and self._orderer == self._next_site():
            self._set(PASS, now + patience_us)
