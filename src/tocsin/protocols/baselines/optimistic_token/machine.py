"""`optimistic_token`: deliver on receipt, let a token acknowledge whole batches later, roll back where it disagrees.

Paper: Chung, Liu, Lin, "Optimistic Token-Driven Reliable Sequenced Broadcast Protocols", ICPP 1990, as Chang and Hwang
describe it (sections 1, 4.3 and 5).

| what the paper says                                                      | here                                  |
|--------------------------------------------------------------------------|---------------------------------------|
| any node broadcasts at any time; receivers process messages at once      | `broadcast`, `_on_submit`, `Guesses`  |
| a node acknowledges all it received when it owns the token               | HOLD, `_acknowledge_batch`, `Token`   |
| a message is committed when the order is determined by all               | `Commits` (a majority has it)         |
| a lost message shows itself when the token comes: roll back to the last  | `Guesses.append`, `deliver_again`     |
| committed state, request it, process again in the token's order          | `Repair`: `Lacks`, `Fill`             |

The order, its repair and the making of a new token after a crash are those of `sequencer` with `rotate`
(`OrderingSite`): the owner of the token gives places, here by name and for a whole batch. What a site has delivered is
always the known part of the order followed by its guesses, in the order of their receipt.

Deviations. Nobody sends rollback requests: every site compares the token's order with its own and takes back what
differs, newest first, back to the first difference and not to the last commit. What a majority has is committed (the
paper: all). The application hears every rollback.
"""

from typing import Final

from tocsin.core.machine import GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.records import Records
from tocsin.protocols.baselines.optimistic_token.guesses import Guesses
from tocsin.protocols.baselines.optimistic_token.messages import Reference, Token
from tocsin.protocols.baselines.optimistic_token.options import OptimisticTokenOptions
from tocsin.protocols.baselines.sequencer.application import Application
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.messages import Item, Submit
from tocsin.protocols.baselines.sequencer.options import SequencerOptions
from tocsin.protocols.baselines.sequencer.ordering_site import OrderingSite

HOLD: Final = "HOLD"  # the owner's time is over


class OptimisticToken(Machine):
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
            retain=options.retain,
        )
        records = Records(outbox, options.records_max)
        log = Log(setup.sites, len(setup.groups), options.window, options.retain, records)
        application = Application(setup.site, setup.groups, setup.log, outbox)
        self._guesses = Guesses(setup.sites, records, log, application)
        self._site = OrderingSite(setup, shared, records, log, application, self._guesses, outbox)
        self._log = log
        self._token = self._site.token
        self._outbox = outbox
        self._hold_us: int = options.hold_us

    def room(self) -> int:
        return self._site.room()

    def quiet(self) -> bool:
        return not self._guesses.items and self._site.quiet()

    def on_start(self, now: Micros, records: list[Record]) -> None:
        self._site.start(now, records)
        for item in self._guesses.items + list(self._site.source.pending.values()):
            self._log.submissions.add(self._log.order, item)
        self._order_waiting(now)

    # Broadcasts, mine and others'

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        item = self._site.source.add(group, payload)
        self._log.submissions.add(self._log.order, item)
        if self._site.peers:
            self._site.source.submit(item)
        self._guesses.guess_waiting(item.origin)
        self._order_waiting(now)
        self._site.end_step(now)
        return item.seqno

    def _on_submit(self, now: Micros, source: SiteId, submit: Submit) -> None:
        self._log.submissions.add(self._log.order, Item(0, submit.group, source, submit.seqno, submit.payload))
        self._guesses.guess_waiting(source)
        if self._token.here and submit.seqno < self._log.order.next_seqnos[source]:
            self._outbox.send(source, self._token.status())
        self._order_waiting(now)

    # The token

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Submit):
            if self._site.accepts(source, message):
                self._on_submit(now, source, message)
        elif isinstance(message, Token):
            self._site.election.trust(source)
            if self._site.is_current(source, message.term):
                self._on_token(source, message)
        elif self._site.on_message(now, source, message):
            self._order_waiting(now)
        self._maybe_take_token(now)
        self._site.end_step(now)
        self._guesses.deliver_again()

    def on_peer_renewed(self, now: Micros, site: SiteId, incarnation: int) -> None:
        self._site.on_peer_renewed(site)
        self._order_waiting(now)
        self._site.end_step(now)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == HOLD:
            self._site.timers.fired(HOLD)
            self._acknowledge_batch()
        elif self._site.on_timer(now, timer):
            self._order_waiting(now)
        self._site.end_step(now)
        self._guesses.deliver_again()

    def _on_token(self, source: SiteId, token: Token) -> None:
        if not self._site.note_token(source, token.token, token.hop, token.have, token.absent):
            return
        repair = self._site.repair
        for place in range(len(token.references)):
            reference = token.references[place]
            item = self._log.submissions.waiting.get((reference.origin, reference.seqno))
            if item is not None and item.group == reference.group:
                placed = Item(token.term, item.group, item.origin, item.seqno, item.payload)
                repair.hold(token.position + place, placed)
        end = token.position + len(token.references)
        repair.note_end(end)
        repair.take_early()
        self._site.commits.commit(token.committed)
        self._log.note_stable(token.stable)
        if self._log.matched < end:
            repair.ask(source)

    def _maybe_take_token(self, now: Micros) -> bool:
        if not self._site.may_take_token() or self._log.matched < self._site.repair.known_end:
            return False
        self._token.take()
        self._site.commits.maybe_commit()
        self._order_waiting(now)
        if not self._site.timers.is_set(HOLD) and self._token.hop > 0:
            self._token.tell_taken()
        return True

    def _order_waiting(self, now: Micros) -> None:
        """The owner waits a little for more, when there is something to acknowledge or to spread."""
        if self._token.here and (self._guesses.items or self._token.everywhere() < self._log.end()):
            self._site.timers.set(HOLD, now + self._hold_us)

    def _acknowledge_batch(self) -> None:
        """Give places to all that has come, and pass the token on with the list."""
        token = self._token
        if not token.here:
            return
        term = self._site.terms.term
        position = self._log.end()
        references: list[Reference] = []
        for item in list(self._guesses.items):  # the owner's guesses become the order: it never rolls back itself
            self._guesses.append(Item(term, item.group, item.origin, item.seqno, item.payload))
            references.append(Reference(item.group, item.origin, item.seqno))
        self._log.match_all()
        token.note_own()
        self._site.commits.maybe_commit()
        if not self._site.peers:
            return
        if references:
            token.give()
            batch = Token(
                term,
                position,
                tuple(references),
                self._log.committed,
                self._log.stable,
                token.orderer,
                token.hop,
                tuple(token.have),
                tuple(token.absent),
            )
            self._outbox.multicast(list(self._site.peers), batch)
        elif token.everywhere() < self._log.end():
            token.pass_on()
