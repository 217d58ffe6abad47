"""`optimistic_token`: deliver on receipt, let a token acknowledge whole batches later, roll back where it disagrees.

Paper: Chung, Liu, Lin, "Optimistic Token-Driven Reliable Sequenced Broadcast Protocols", ICPP 1990, as Chang and Hwang
describe it (sections 1, 4.3 and 5).

| what the paper says                                                      | here                                  |
|--------------------------------------------------------------------------|---------------------------------------|
| any node broadcasts at any time; receivers process messages at once      | `broadcast`, `_on_submit`, `_guess`   |
| a node acknowledges all it received when it owns the token               | HOLD, `_acknowledge_batch`, `Token`   |
| a message is committed when the order is determined by all               | `_commit` (a majority has it)         |
| a lost message shows itself when the token comes: roll back to the last  | `_append`, `_take_back`, `_guess_again` |
| committed state, request it, process again in the token's order          | `Lacks`, `Fill`                       |

The order, its repair and the making of a new token after a crash are those of `sequencer` with `rotate`: the owner of
the token gives places, here by name and for a whole batch. What a site has delivered is always the known part of the
order followed by its guesses, in the order of their receipt.

Deviations. Nobody sends rollback requests: every site compares the token's order with its own and takes back what
differs, newest first, back to the first difference and not to the last commit. What a majority has is committed (the
paper: all). The application hears every rollback.
"""

from typing import Final

from tocsin.core.data import Sent
from tocsin.core.machine import GroupId, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.protocols.baselines.optimistic_token.messages import Reference, Tentative, Token
from tocsin.protocols.baselines.optimistic_token.options import OptimisticTokenOptions
from tocsin.protocols.baselines.sequencer.keeper import EARLY_MAX
from tocsin.protocols.baselines.sequencer.machine import Sequencer
from tocsin.protocols.baselines.sequencer.messages import NO_GROUP, Appended, Item, Submit, Truncated
from tocsin.protocols.baselines.sequencer.options import SequencerOptions

HOLD: Final = "HOLD"  # the owner's time is over


class OptimisticToken(Sequencer):
    """Guess first, agree later."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, OptimisticTokenOptions)
        shared = SequencerOptions(
            delivery="ordered",
            rotate=True,
            resend_us=options.resend_us,
            suspect_after=options.suspect_after,
            election_us=options.election_us,
            window=options.window,
        )
        base = Setup(
            setup.site,
            setup.sites,
            setup.members,
            setup.groups,
            shared,
            setup.rng,
            setup.log,
            setup.topology,
        )
        super().__init__(base, outbox)
        self._hold_us: int = options.hold_us
        self._guesses: list[Item] = []  # delivered after all ordered items, in this order; durable
        self._guessed: list[int] = [0] * setup.sites  # by origin: guesses among `_guesses`
        self._withdrawn = False  # within a step: the guesses are taken back and not yet delivered again

    def quiet(self) -> bool:
        return not self._guesses and super().quiet()

    # Starting

    def on_start(self, now: Micros, records: list[Record]) -> None:
        super().on_start(now, records)
        for item in list(self._guesses) + list(self._pending.values()):
            self._submissions.add(self._order, item)
        self._order_waiting(now)

    def _recall(self, record: Record) -> None:
        if isinstance(record, Tentative):
            self._guesses.append(record.item)
            self._guessed[record.item.origin] += 1
        elif isinstance(record, Truncated):
            self._turn_into_guesses(record.position)
        else:
            if isinstance(record, Appended):
                self._drop_guess(record.item)
            super()._recall(record)

    # Broadcasts, mine and others'

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._numbers.take()
        self._records.persist(Sent(group, seqno, payload))
        item = Item(0, group, self._site, seqno, payload)
        self._pending[seqno] = item
        self._submissions.add(self._order, item)
        if self._others:
            self._submit(item)
        self._guess_waiting(self._site)
        self._order_waiting(now)
        self._arm(now)
        self._maybe_checkpoint()
        return seqno

    def _on_submit(self, now: Micros, source: SiteId, submit: Submit) -> None:
        if submit.origin != source or submit.group >= len(self._groups):
            return
        if submit.term > self._term:
            self._enter_term(submit.term, -1)
        self._submissions.add(self._order, Item(0, submit.group, source, submit.seqno, submit.payload))
        self._guess_waiting(source)
        if self._token and submit.seqno < self._order.next_seqnos[source]:
            self._outbox.send(source, self._status())
        self._order_waiting(now)

    def _guess_waiting(self, origin: SiteId) -> None:
        """Deliver at once what has come from an origin, in the order of its numbers."""
        following = self._order.next_seqnos[origin] + self._guessed[origin]
        item = self._submissions.waiting.get((origin, following))
        while item is not None:
            self._guess(item)
            following += 1
            item = self._submissions.waiting.get((origin, following))

    def _guess(self, item: Item) -> None:
        self._guesses.append(item)
        self._guessed[item.origin] += 1
        self._records.persist(Tentative(item))
        if not self._withdrawn:
            self._deliver(item)

    # The token

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Token):
            self._trust(source)
            if self._known_term(now, source, message.term):
                self._on_token(now, source, message)
            self._maybe_take_token(now)
            self._arm(now)
            self._maybe_checkpoint()
        else:
            super().on_message(now, source, message)
        self._guess_again()

    def _on_token(self, now: Micros, source: SiteId, token: Token) -> None:
        if not self._note_token(source, token.token, token.hop, token.have, token.absent):
            return
        for place in range(len(token.references)):
            reference = token.references[place]
            position = token.position + place
            item = self._submissions.waiting.get((reference.origin, reference.seqno))
            if item is not None and item.group == reference.group:
                if self._matched <= position < self._matched + EARLY_MAX:
                    self._early[position] = Item(self._term, item.group, item.origin, item.seqno, item.payload)
        end = token.position + len(token.references)
        self._known_end = max(self._known_end, min(end, self._matched + EARLY_MAX))
        self._take_early()
        self._commit(token.committed)
        if self._matched < end:
            self._ask(source)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == HOLD:
            if timer in self._timers:
                self._timers.remove(timer)
            self._acknowledge_batch(now)
            self._arm(now)
            self._maybe_checkpoint()
        else:
            super().on_timer(now, timer, key)
        self._guess_again()

    def _maybe_take_token(self, now: Micros) -> bool:
        if self._token or self._orderer != self._site or self._early or self._candidate or self._barred:
            return False
        if self._matched < max(max(self._have), self._known_end):
            return False
        self._token = True
        self._have[self._site] = self._matched
        self._maybe_commit(now)
        self._order_waiting(now)
        if HOLD not in self._timers and self._hop > 0:
            self._tell_taken()
        return True

    def _order_waiting(self, now: Micros) -> None:
        """The owner waits a little for more, when there is something to acknowledge or to spread."""
        if self._token and (self._guesses or self._everywhere() < self._order.end()):
            self._set(HOLD, now + self._hold_us)

    def _acknowledge_batch(self, now: Micros) -> None:
        """Give places to all that has come, and pass the token on with the list."""
        if not self._token:
            return
        position = self._order.end()
        references: list[Reference] = []
        for item in list(self._guesses):  # the owner's guesses become the order: it never rolls back itself
            self._append(Item(self._term, item.group, item.origin, item.seqno, item.payload))
            references.append(Reference(item.group, item.origin, item.seqno))
        self._matched = self._order.end()
        self._have[self._site] = self._matched
        self._maybe_commit(now)
        if not self._others:
            return
        if references:
            self._token = False
            self._hop += 1
            self._orderer = self._next_site()
            self._outbox.multicast(
                list(self._others),
                Token(
                    self._term,
                    position,
                    tuple(references),
                    self._committed,
                    self._orderer,
                    self._hop,
                    tuple(self._have),
                    tuple(self._absent),
                ),
            )
        elif self._everywhere() < self._order.end():
            self._pass_token()

    # Rolling back

    def _append(self, item: Item) -> None:
        """An item has its place. If it was the first guess, the guess was right; else all guesses are taken back."""
        self._submissions.drop(item)
        if item.group == NO_GROUP:
            right = True  # nobody's message is delivered to nobody
        else:
            first = self._guesses[0] if self._guesses else None
            right = first is not None and first.origin == item.origin and first.seqno == item.seqno
        if not right:
            self._take_back()
        self._order.append(item)
        self._records.persist(Appended(item))
        self._drop_guess(item)
        if self._withdrawn:
            self._deliver(item)

    def _truncate(self, position: int) -> None:
        """A new token's order may differ from the old one's: what stood there is a guess again, in the same place."""
        if self._order.end() > position:
            self._records.persist(Truncated(position))
            self._turn_into_guesses(position)

    def _turn_into_guesses(self, position: int) -> None:
        while self._order.end() > position:
            item = self._order.pop()
            if item.group != NO_GROUP:
                self._guesses.insert(0, item)
                self._guessed[item.origin] += 1
                self._submissions.waiting[(item.origin, item.seqno)] = item

    def _take_back(self) -> None:
        """Roll back all guesses, newest first."""
        if not self._withdrawn:
            self._withdrawn = True
            for item in reversed(self._guesses):
                self._undo(item)

    def _guess_again(self) -> None:
        """At the end of a step: the guesses that are left follow the order as it is now."""
        if self._withdrawn:
            self._withdrawn = False
            for item in self._guesses:
                self._deliver(item)

    def _undo(self, item: Item) -> None:
        if self._is_for_us(item):
            self._outbox.rollback(item.group, item.origin, item.seqno)

    def _drop_guess(self, item: Item) -> None:
        """It is ordered: no guess any more."""
        if item.group == NO_GROUP:
            return
        for place in range(len(self._guesses)):
            guess = self._guesses[place]
            if guess.origin == item.origin and guess.seqno == item.seqno:
                del self._guesses[place]
                self._guessed[item.origin] -= 1
                return

    # Keeping

    def _forget_term(self) -> None:
        waiting = dict(self._submissions.waiting)
        super()._forget_term()
        self._submissions.waiting.update(waiting)  # they are still here, and guessed

    def _revocable(self) -> list[Item]:
        return super()._revocable() + self._guesses

    def _more_records(self) -> list[Record]:
        return [Tentative(item) for item in self._guesses]
