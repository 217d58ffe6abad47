"""What a site of `sequencer` keeps: the order, what is settled of it, what is durable; and its timers."""

from typing import Final

from tocsin.core.data import Sent
from tocsin.core.machine import Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Record
from tocsin.core.own_messages import OwnNumbers
from tocsin.core.records import Records
from tocsin.protocols.baselines.sequencer.log import Order, Submissions, held_by
from tocsin.protocols.baselines.sequencer.messages import (
    NO_GROUP,
    Appended,
    Committed,
    Item,
    Summary,
    Termed,
    Truncated,
)
from tocsin.protocols.baselines.sequencer.options import SequencerOptions

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


class OrderKeeper(Machine):
    """The state of a site and the steps that change what is durable; `Sequencer` decides when."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, SequencerOptions)
        self._site = setup.site
        self._sites = setup.sites
        self._majority = setup.sites // 2 + 1
        self._groups = setup.groups
        self._others: list[SiteId] = [site for site in range(setup.sites) if site != setup.site]
        self._outbox = outbox
        self._log = setup.log
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
        self._numbers = OwnNumbers()
        self._pending: dict[int, Item] = {}  # own messages that are not committed, by number; their term means nothing
        self._order = Order(setup.sites)
        self._committed = 0  # items below this position stay for ever
        self._settled: list[int] = [0] * len(setup.groups)  # by group: deliveries here that stay for ever
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
        self._absent: list[SiteId] = []  # a minority that is not on this term's token list: its leader suspects them
        self._suspects: list[SiteId] = []  # sorted; they did not answer, and were not heard since
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
        self._records = Records(outbox)

    def room(self) -> int:
        return self._window - len(self._pending)

    def quiet(self) -> bool:
        if self._pending or self._lagging():
            return False
        return not self._token or self._everywhere() >= self._order.end()

    def _everywhere(self) -> int:
        """Below this position every site on the token list is known to have the order."""
        return min([self._have[site] for site in range(self._sites) if site not in self._absent])

    def _lagging(self) -> bool:
        """Whether this site needs to hear something."""
        if not self._in_step or self._early or self._candidate or self._matched < self._known_end:
            return True
        if self._barred and self._orderer == self._site:
            return True  # the token is here and may not be used: the term cannot go on
        return self._matched < self._order.end() or (self._committed < self._order.end() and not self._token)

    def _recall(self, record: Record) -> None:
        if isinstance(record, Summary):
            self._term = record.term
            self._voted = record.voted
            self._numbers.resume(record.next_seqno)
            self._order.base = record.base
            self._order.base_term = record.base_term
            self._order.next_seqnos = list(record.next_seqnos)
            self._committed = record.committed
        elif isinstance(record, Sent):
            self._numbers.recall(record.seqno)
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

    def _revocable(self) -> list[Item]:
        """What is delivered here and may be taken back."""
        return self._order.items[max(0, self._committed - self._order.base) :] if self._at_once else []

    def _count_settled(self) -> None:
        """After a start: all that is in the log, but what may be taken back."""
        self._settled = [self._log.end(group) for group in range(len(self._groups))]
        for item in self._revocable():
            if self._is_for_us(item):
                self._settled[item.group] -= 1

    def _committed_seqno(self) -> int:
        """Own messages with smaller numbers are committed."""
        seqno = self._order.next_seqnos[self._site]
        for place in range(max(0, self._committed - self._order.base), len(self._order.items)):
            item = self._order.items[place]
            if item.group != NO_GROUP and item.origin == self._site:
                return min(seqno, item.seqno)
        return seqno

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
            if self._is_for_us(item):
                self._settled[item.group] += 1
        self._committed = position
        self._records.persist(Committed(position))

    def _append(self, item: Item) -> None:
        self._submissions.drop(item)
        self._order.append(item)
        self._records.persist(Appended(item))
        if self._at_once:
            self._deliver(item)

    def _truncate(self, position: int) -> None:
        """What stands from here on is not in this term's order: take it back, newest first."""
        if self._order.end() <= position:
            return
        self._records.persist(Truncated(position))
        while self._order.end() > position:
            item = self._order.pop()
            if self._at_once and self._is_for_us(item):
                self._outbox.rollback(item.group, item.origin, item.seqno)

    def _is_for_us(self, item: Item) -> bool:
        return item.group != NO_GROUP and self._site in self._groups[item.group]

    def _deliver(self, item: Item) -> None:
        if self._is_for_us(item):
            self._outbox.deliver(item.group, item.origin, item.seqno, item.payload)

    def _set(self, timer: str, deadline: Micros) -> None:
        if timer not in self._timers:
            self._timers.append(timer)
            self._timers.sort()
            self._outbox.set_timer(timer, 0, deadline)

    def _unset(self, timer: str) -> None:
        if timer in self._timers:
            self._timers.remove(timer)
            self._outbox.cancel_timer(timer, 0)

    # Keeping

    def _maybe_checkpoint(self) -> bool:
        """Forget what everybody has, and fold the records, once they are many."""
        if not self._records.are_many(3 * len(self._order.items) + len(self._pending)):
            return False
        stable = min(min(self._have), self._committed)
        self._order.forget_below(stable)
        records: list[Record] = [
            Summary(
                self._term,
                self._voted,
                self._numbers.following,
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
        self._records.fold(records)
        for group in range(len(self._groups)):
            self._outbox.trim(group, self._settled[group])  # what may be taken back must stay
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
