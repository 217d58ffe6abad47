"""How long an owner keeps the token, and what makes a resting one move (beyond the paper, whose T is always the same).

While anything goes on the token is passed at once. In an idle group it rests longer and longer, up to a limit. Who has
something to announce then relies on its data, which makes the owner pass the token; if it did not go there, or was
lost, the owner is asked (`Hurry`).
"""

from typing import Final

from tocsin.core.machine import Micros
from tocsin.protocols.counter_token.context import ACTIVE, Context
from tocsin.protocols.counter_token.messages import Hurry, Token
from tocsin.protocols.counter_token.receiving import Receiving
from tocsin.protocols.counter_token.relay import Relay
from tocsin.protocols.counter_token.sending import Sending

HURRY: Final = "HURRY"  # ask the owner again
LOOSE_ROUNDS: Final = 3  # so many idle rounds, data that nobody announces keeps the token moving


class Resting:
    """The token's rest, as seen from this member."""

    def __init__(self, context: Context, relay: Relay, sending: Sending, receiving: Receiving) -> None:
        options = context.options
        self._context = context
        self._outbox = context.outbox
        self._site = context.site
        self._options = options
        self._relay = relay
        self._sending = sending
        self._receiving = receiving
        self._to_all = options.token_to == "all"
        self._idle_hold_us: int = options.idle_hold_us_max()
        self.passes_at_once: bool = options.passes_at_once()
        self._asked = False  # for the token, and it has not been seen to move since

    # How long

    def hold_us(self) -> int:
        """How long to keep the token: not at all while something goes on, up to the idle limit when nothing does."""
        token = self._context.ring.newest
        options = self._options
        busy_us = 0 if self.passes_at_once else options.token_hold_us
        if token is None:
            return busy_us if self._sending.unannounced or self._context.ring.slots else options.token_hold_us
        rounds = self._idle_rounds(token)
        if rounds < 1 or self._has_work(rounds):
            return busy_us
        return self._resting_us(token, rounds)

    def next_hold_us(self, token: Token) -> int:
        """How long the next owner may keep the token."""
        rounds = self._idle_rounds(token)
        if rounds < 1 and self.passes_at_once:
            return 0
        return self._resting_us(token, rounds)

    def longest_hold_us(self) -> int:
        return max(self._options.token_hold_us, self._idle_hold_us)

    def _idle_rounds(self, token: Token) -> int:
        ring = self._context.ring
        return (token.cycle * ring.size + token.position - token.changed) // ring.size

    def _resting_us(self, token: Token, rounds: int) -> int:
        """T * 2^(2k - 1) after k idle rounds, up to the limit; T while entries wait for somebody."""
        hold_us: int = self._options.token_hold_us
        if rounds < 1 or token.state or self._idle_hold_us <= hold_us:
            return hold_us
        return min(self._idle_hold_us, hold_us << min(2 * rounds - 1, 24))

    def _has_work(self, rounds: int) -> bool:
        """Whether this turn can change the state, or data says that another's soon will."""
        if self._sending.unannounced or (self._receiving.loose > 0 and rounds < LOOSE_ROUNDS):
            return True
        slots = self._context.ring.slots.values()
        return len([slot for slot in slots if slot.destination and not slot.counted and not slot.missing]) > 0

    # Asking for it

    def maybe_hurry(self, now: Micros, patient: bool) -> bool:
        """Ask for a token that is being held because nothing went on; with patience, only if it stays there."""
        if not self.passes_at_once or self._asked or self._context.status != ACTIVE:
            return False
        token = self._context.ring.newest
        if token is None or self._idle_rounds(token) < 1 or self._context.ring.owner() == self._site:
            return False
        self._asked = True
        if patient:
            self._outbox.set_timer(HURRY, 0, now + self._options.reissue_us // 4)
        else:
            self._send_hurry(now)
        return True

    def _send_hurry(self, now: Micros) -> None:
        """Ask the owner of an idle token for it."""
        ring = self._context.ring
        hurry = Hurry(ring.view, ring.turn)
        if self._to_all:
            self._relay.send(ring.owner(), hurry)
        else:
            self._relay.multicast(self._context.others, hurry)  # where the token is, is not known
        self._outbox.set_timer(HURRY, 0, now + self._options.reissue_us)

    def on_timer(self, now: Micros) -> None:
        if self._asked and self._context.status == ACTIVE:
            self._send_hurry(now)

    def owner_has_data(self) -> bool:
        """Whether what is unannounced was sent to the owner, too: unless it is lost, it makes the token move."""
        if not self.passes_at_once or not self._to_all:
            return False
        ring = self._context.ring
        owner = ring.owner()
        for seqno in self._sending.unannounced:  # noqa: SIM110  (a generator would not compile to plain code)
            if owner in ring.destinations[self._sending.own[seqno].group]:
                return True
        return False

    def note_moved(self) -> None:
        """A newer token was seen."""
        if self._asked:
            self._asked = False
            self._outbox.cancel_timer(HURRY, 0)

    def start_view(self) -> None:
        self._asked = False

    def stop(self) -> None:
        self._outbox.cancel_timer(HURRY, 0)
