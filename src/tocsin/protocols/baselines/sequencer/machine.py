"""`sequencer`: one site gives every message its place; another does when it dies. Optionally the right moves on.

Papers: Chang, Maxemchuk, "Reliable Broadcast Protocols", TOCS 2(3), 1984; in the simplified, central form of
Garcia-Molina, Spauster 1988 (section 4, centralized) and Chang, Hwang (section 4.3, centralized).

| what the papers say                                                     | here                                    |
|-------------------------------------------------------------------------|-----------------------------------------|
| the source sends to the token site, and again until acknowledged        | `broadcast`, SUBMIT                     |
| the token site gives it the next number and broadcasts that             | `_order_waiting`, `Ordered`             |
| a gap in the numbers: negative acknowledgement, retransmission          | `_on_ordered`, GAP, `Lacks`, `Fill`     |
| the acknowledgement passes the token to the next site of the list,      | `rotate`, `_pass_token`                 |
| which accepts it when it has everything up to there                     | `_maybe_take_token`                     |
| a message is committed when the token has moved on L times              | `_commit_by_majority`, L+1 = majority   |
| after R tries the site is taken for dead: reformation, new token list   | `suspect_after`, `_seek`, `_lead`       |

Deviations. The reformation phase is an election: a term is led by whoever a majority voted for, and nobody votes for a
site whose order is behind its own (Ongaro, Ousterhout 2014), so that what was committed stays; this is also what makes
partitions harmless. An ordering message carries the message it orders, so one loss costs one repair. Central form, as
the papers simplify it: deliver when ordered. Then a sequencer that dies may leave a site with an order that nobody else
knows: that site takes it back (`rollback`) when it meets the new sequencer (level R2). With `delivery = "committed"`,
by acknowledgements or by the moving token, nothing is ever taken back (R3). Every site gets every message, whatever its
group.
"""

from typing import Final

from tocsin.core.machine import GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.protocols.baselines.sequencer.log import Order, Submissions, held_by
from tocsin.protocols.baselines.sequencer.messages import (
    NO_GROUP,
    Appended,
    Committed,
    Fill,
    Have,
    Item,
    Lacks,
    Newer,
    Ordered,
    Seek,
    Sent,
    SequencerOptions,
    Status,
    Submit,
    Summary,
    Termed,
    Truncated,
    Vote,
)

SUBMIT: Final = "SUBMIT"  # own messages are not committed
GAP: Final = "GAP"  # something is missing here, or nothing was heard of the orderer for long
CHECK: Final = "CHECK"  # the orderer does not know that everybody has everything
PASS: Final = "PASS"  # nobody has said that it took the token
ELECT: Final = "ELECT"  # a candidate's patience

NOBODY: Final = -1
BACKOFF_MAX: Final = 4  # waiting grows up to 2^4 times: an election must be slower than the slowest network
AGAIN_MAX: Final = 8  # own messages sent again at a time: the first ones, the rest waits for them anyway
EARLY_MAX: Final = 4096  # ordered items held beyond a gap
FILL_ITEMS_MAX: Final = 64
FILL_BYTES_MAX: Final = 32 * 1024
RECORDS_MAX: Final = 4096  # records on disk before a checkpoint


class Sequencer(Machine):
    """One site orders at a time."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, SequencerOptions)
        self._site = setup.site
        self._sites = setup.sites
        self._majority = setup.sites // 2 + 1
        self._groups = setup.groups
        self._others: list[SiteId] = [site for site in range(setup.sites) if site != setup.site]
        self._outbox = outbox
        self._rng = setup.rng
        self._at_once: bool = options.delivery == "ordered"
        self._rotate: bool = options.rotate
        self._resend_us: int = options.resend_us
        self._suspect_after: int = options.suspect_after
        self._election_us: int = options.election_us
        self._window: int = options.window
        # Durable
        self._term = 0
        self._voted: SiteId = 0  # in this term; term 0 is led by site 0 without an election
        self._next_seqno = 0  # next to assign; every smaller number is persisted
        self._pending: dict[int, Item] = {}  # own messages that are not committed, by number; their term means nothing
        self._order = Order(setup.sites)
        self._committed = 0  # items below this position stay for ever
        # Of this life and term
        self._matched = 0  # below this position the order here is the order of this term; >= committed
        self._orderer: SiteId = 0  # who may order now, as far as known; NOBODY: unknown
        self._token = setup.site == 0  # the right to order is here
        self._barred = (
            False  # after a restart: it may have passed the token on already, so this term goes on without it
        )
        self._hop = 0  # of the newest token seen in this term
        self._taken = 0  # the newest hop of ours that the next site is known to have taken
        self._have: list[int] = [0] * setup.sites  # by site: what it surely has of this term's order
        self._votes: list[SiteId] = []  # of a candidate: who follows
        self._candidate = False
        self._early: dict[int, Item] = {}  # ordered items beyond a gap, by position
        self._submissions = Submissions(options.window)
        self._asked = -1  # the position last asked for
        self._known_end = 0  # the order of this term goes at least so far
        self._contact = True  # the orderer was heard since the last look
        self._in_step = True  # False after a restart, until the orderer was heard
        self._tries = 0  # questions without an answer
        self._failures = 0  # elections without a winner
        self._checked_end = 0  # the end at the orderer's last CHECK
        self._timers: list[str] = []  # those that are set
        self.stat_records = 0  # on disk since the last checkpoint

    def room(self) -> int:
        return self._window - len(self._pending)

    def quiet(self) -> bool:
        if self._pending or self._lagging():
            return False
        return not self._token or min(self._have) >= self._order.end()

    # Starting

    def on_start(self, now: Micros, records: list[Record]) -> None:
        for record in records:
            self._recall(record)
        self.stat_records = len(records)
        for seqno in [seqno for seqno in self._pending if seqno < self._committed_seqno()]:
            del self._pending[seqno]
        if records:
            self._forget_term()
            self._barred = self._rotate
            self._in_step = False
            self._outbox.multicast(list(self._others), Lacks(self._term, self._matched))
        self._arm(now)

    def _recall(self, record: Record) -> None:
        if isinstance(record, Summary):
            self._term = record.term
            self._voted = record.voted
            self._next_seqno = record.next_seqno
            self._order.base = record.base
            self._order.base_term = record.base_term
            self._order.next_seqnos = list(record.next_seqnos)
            self._committed = record.committed
        elif isinstance(record, Sent):
            self._next_seqno = max(self._next_seqno, record.seqno + 1)
            self._pending[record.seqno] = Item(0, record.group, self._site, record.seqno, record.payload)
        elif isinstance(record, Appended):
            self._order.append(record.item)
        elif isinstance(record, Truncated):
            while self._order.end() > record.position:
                self._order.pop()
        elif isinstance(record, Committed):
            self._committed = record.position
        elif isinstance(record, Termed):
            self._term = record.term
            self._voted = record.voted

    def _committed_seqno(self) -> int:
        """Own messages with smaller numbers are committed."""
        seqno = self._order.next_seqnos[self._site]
        for place in range(max(0, self._committed - self._order.base), len(self._order.items)):
            item = self._order.items[place]
            if item.group != NO_GROUP and item.origin == self._site:
                return min(seqno, item.seqno)
        return seqno

    # The application

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._next_seqno
        self._next_seqno = seqno + 1
        self._persist(Sent(group, seqno, payload))
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
        if self._rotate and self._sites > 1:
            token = self._next_site()
            self._hop += 1
            self._token = False
            self._orderer = token
            self._unset(PASS)
        have = tuple(self._have) if self._rotate else ()
        if self._others:
            ordered = Ordered(self._term, position, item, self._committed, token, self._hop, have)
            self._outbox.multicast(list(self._others), ordered)

    def _next_site(self) -> SiteId:
        return (self._site + 1) % self._sites

    def _status(self, ask: bool = False) -> Status:
        have = tuple(self._have) if self._rotate else ()
        orderer = self._orderer if self._orderer != NOBODY else self._site
        return Status(self._term, self._matched, self._committed, orderer, self._hop, have, ask)

    def _on_ordered(self, now: Micros, source: SiteId, ordered: Ordered) -> None:
        if not self._valid(ordered.item) or not self._note_token(source, ordered.token, ordered.hop, ordered.have):
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

    def _note_token(self, source: SiteId, token: SiteId, hop: int, have: tuple[int, ...]) -> bool:
        """Who orders now; an old token changes nothing. Without rotation the orderer is the sender."""
        if token >= self._sites or (self._rotate and len(have) != self._sites) or self._token:
            return self._token and token == self._site
        if not self._rotate or hop > self._hop or token == source:  # a repeated old word is no sign of life
            self._contact = True
            self._tries = 0
        self._in_step = True
        self._candidate = False  # another has won this term
        self._failures = 0
        self._unset(ELECT)
        if self._rotate:
            for site in range(self._sites):
                self._have[site] = max(self._have[site], have[site])
            if hop >= self._hop:
                self._hop = hop
                self._orderer = token
                if token != self._next_site():
                    self._unset(PASS)
        else:
            self._orderer = source
        return True

    def _on_status(self, now: Micros, source: SiteId, status: Status) -> None:
        if not self._note_token(source, status.token, status.hop, status.have):
            return
        self._known_end = max(self._known_end, min(status.end, self._matched + EARLY_MAX))
        if status.end > self._matched:
            self._ask(source)
        elif status.ask and not self._rotate:
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

    # Moving the token

    def _maybe_take_token(self, now: Micros) -> bool:
        """Accept the token when everything ordered before it is here; use it, pass it on, or let it rest."""
        if not self._rotate or self._token or self._orderer != self._site or self._early:
            return False
        if self._matched < max(self._have) or self._candidate or self._barred:
            return False
        self._token = True
        self._have[self._site] = self._matched
        self._maybe_commit(now)
        self._order_waiting(now)
        if self._token and min(self._have) < self._order.end():
            self._pass_token()
        elif self._token and self._hop > 0:
            self._outbox.send((self._site - 1) % self._sites, Have(self._term, self._matched, self._hop))
        return True

    def _pass_token(self) -> None:
        """Nothing to order, and not everything is known to be everywhere: the token goes round by itself."""
        self._token = False
        self._hop += 1
        self._orderer = self._next_site()
        self._outbox.multicast(list(self._others), self._status())

    # What is settled

    def _maybe_commit(self, now: Micros) -> bool:
        """Commit what a majority has, if its last item is of this term (an older one could still be overruled)."""
        settled = min(held_by(self._have, self._majority), self._matched)
        if settled <= self._committed or self._order.term_at(settled - 1) != self._term:
            return False
        self._commit(settled)
        return True

    def _commit(self, position: int) -> None:
        position = min(position, self._matched)
        if position <= self._committed:
            return
        for place in range(self._committed - self._order.base, position - self._order.base):
            item = self._order.items[place]
            if not self._at_once:
                self._deliver(item)
            if item.group != NO_GROUP and item.origin == self._site:
                self._pending.pop(item.seqno, None)
        self._committed = position
        self._persist(Committed(position))

    def _append(self, item: Item) -> None:
        self._order.append(item)
        self._persist(Appended(item))
        if self._at_once:
            self._deliver(item)

    def _truncate(self, position: int) -> None:
        """What stands from here on is not in this term's order: take it back, newest first."""
        if self._order.end() <= position:
            return
        self._persist(Truncated(position))
        while self._order.end() > position:
            item = self._order.pop()
            if self._at_once and item.group != NO_GROUP and self._site in self._groups[item.group]:
                self._outbox.rollback(item.group, item.origin, item.seqno)

    def _deliver(self, item: Item) -> None:
        if item.group != NO_GROUP and self._site in self._groups[item.group]:
            self._outbox.deliver(item.group, item.origin, item.seqno, item.payload)

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

    def _lagging(self) -> bool:
        """Whether this site needs to hear something."""
        if not self._in_step or self._early or self._candidate or self._matched < self._known_end:
            return True
        return self._matched < self._order.end() or (self._committed < self._order.end() and not self._token)

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
            self._seek(now)

    def _on_check_timer(self) -> None:
        """The orderer asks those who have not said that they have what was there at the last look."""
        behind = [site for site in self._others if self._have[site] < self._checked_end]
        self._checked_end = self._order.end()
        if behind:
            self._outbox.multicast(behind, self._status(True))

    def _on_pass_timer(self, now: Micros) -> None:
        if self._orderer == self._next_site() and not self._token:
            self._outbox.send(self._orderer, self._status())
            self._count_try(now)

    def _arm(self, now: Micros) -> None:
        """Set the timers that are needed; questions in vain come ever more slowly, the network may be slow."""
        patience_us = self._resend_us << min(self._tries, BACKOFF_MAX)
        if self._pending:
            self._set(SUBMIT, now + patience_us)
        if self._lagging() and not self._candidate and self._others:
            in_a_hurry = len(self._early) > 0 or self._matched < self._known_end
            self._set(GAP, now + (patience_us if in_a_hurry else 2 * patience_us))
        if self._token and not self._rotate and min(self._have) < self._order.end():
            self._set(CHECK, now + self._resend_us)
        if self._hop > self._taken and not self._token and self._orderer == self._next_site():
            self._set(PASS, now + patience_us)

    def _set(self, timer: str, deadline: Micros) -> None:
        if timer not in self._timers:
            self._timers.append(timer)
            self._timers.sort()
            self._outbox.set_timer(timer, 0, deadline)

    def _unset(self, timer: str) -> None:
        if timer in self._timers:
            self._timers.remove(timer)
            self._outbox.cancel_timer(timer, 0)

    # A new sequencer

    def _enter_term(self, term: int, voted: SiteId) -> None:
        self._term = term
        self._voted = voted
        self._persist(Termed(term, voted))
        self._forget_term()

    def _forget_term(self) -> None:
        """What was known of the last term's order is not known of this one's, but what was committed."""
        self._matched = self._committed
        self._orderer = NOBODY
        self._token = False
        self._candidate = False
        self._votes = []
        self._hop = 0
        self._taken = 0
        self._have = [0] * self._sites
        self._early.clear()
        self._submissions.waiting.clear()
        self._tries = 0
        self._in_step = False
        self._contact = False
        self._asked = -1
        self._known_end = 0
        self._checked_end = 0
        self._barred = False
        self._unset(ELECT)
        self._unset(PASS)

    def _seek(self, now: Micros) -> None:
        """Ask everybody for the right to order in a new term."""
        self._enter_term(self._term + 1, self._site)
        self._candidate = True
        self._votes = [self._site]
        if self._others:
            self._outbox.multicast(list(self._others), Seek(self._term, self._order.last_term(), self._order.end()))
        self._set_election(now, 1)
        self._failures += 1
        self._maybe_lead(now)

    def _set_election(self, now: Micros, share: int) -> None:
        patience_us = self._election_us << min(self._failures, BACKOFF_MAX)
        self._set(ELECT, now + (patience_us + self._rng.below(patience_us)) // share)

    def _on_seek(self, now: Micros, source: SiteId, seek: Seek) -> None:
        if seek.term < self._term:
            self._outbox.send(source, Newer(self._term))
            return
        if seek.term > self._term:
            self._enter_term(seek.term, NOBODY)
        ahead = (seek.last_term, seek.end) >= (self._order.last_term(), self._order.end())
        if self._voted in (NOBODY, source) and ahead and not self._candidate and not self._token:
            if self._voted == NOBODY:
                self._voted = source
                self._persist(Termed(self._term, source))
            self._outbox.send(source, Vote(self._term))
        elif not ahead and self._orderer == NOBODY:
            self._set_election(now, 2)  # it may not win, and we know more: try before it does again

    def _on_vote(self, now: Micros, source: SiteId, vote: Vote) -> None:
        if vote.term == self._term and self._candidate and source not in self._votes:
            self._votes.append(source)
            self._votes.sort()
            self._maybe_lead(now)

    def _maybe_lead(self, now: Micros) -> bool:
        """A majority follows: order from here on, beginning with an item of the new term."""
        if not self._candidate or len(self._votes) < self._majority:
            return False
        self._candidate = False
        self._unset(ELECT)
        self._matched = self._order.end()
        self._orderer = self._site
        self._token = True
        self._in_step = True
        self._tries = 0
        self._failures = 0
        for item in self._pending.values():
            self._submissions.add(self._order, item)
        self._place(now, Item(self._term, NO_GROUP, self._site, self._term, b""))
        self._order_waiting(now)
        return True

    # Keeping

    def _persist(self, record: Record) -> None:
        self._outbox.persist(record)
        self.stat_records += 1

    def _maybe_checkpoint(self) -> bool:
        """Forget what everybody has, and fold the records, once they are many."""
        if self.stat_records < RECORDS_MAX + 3 * len(self._order.items) + len(self._pending):
            return False
        stable = min(min(self._have), self._committed)
        self._order.forget_below(stable)
        records: list[Record] = [
            Summary(
                self._term,
                self._voted,
                self._next_seqno,
                self._order.base,
                self._order.base_term,
                tuple(self._seqnos_at_base()),
                self._committed,
            )
        ]
        for item in self._pending.values():
            records.append(Sent(item.group, item.seqno, item.payload))
        for item in self._order.items:
            records.append(Appended(item))
        records.extend(self._more_records())
        self._outbox.checkpoint(records)
        self.stat_records = len(records)
        for group in range(len(self._groups)):
            self._outbox.trim(group, 1 << 62)  # nothing here reads the log
        return True

    def _more_records(self) -> list[Record]:
        """What a deriving protocol keeps besides."""
        return []

    def _seqnos_at_base(self) -> list[int]:
        """By origin, the number expected after the items below the base."""
        seqnos = list(self._order.next_seqnos)
        for item in self._order.items:
            if item.group != NO_GROUP:
                seqnos[item.origin] -= 1
        return seqnos
