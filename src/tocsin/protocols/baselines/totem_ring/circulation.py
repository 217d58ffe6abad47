"""The ring at work: the token numbers, acknowledges, asks and limits (section 4 of the paper)."""

from typing import Final

from tocsin.core.machine import Micros, Outbox, SiteId
from tocsin.core.rangeset import RangeSet
from tocsin.protocols.baselines.totem_ring.messages import Data, Item, Token
from tocsin.protocols.baselines.totem_ring.options import TotemRingOptions
from tocsin.protocols.baselines.totem_ring.passing import Passing
from tocsin.protocols.baselines.totem_ring.places import AHEAD_MAX, RESEND_MAX, ranges_of
from tocsin.protocols.baselines.totem_ring.store import Store

HOLD: Final = "HOLD"  # an idle token is held

# Places beyond what is safe, in windows. Without losses a place is safe two rotations later; then a window is free in
# every visit. Others know what is safe one rotation later, so a member holds at most one window more.
WINDOWS_UNSAFE: Final = 3


class Circulation:
    """The token of the present ring, as this member saw it last; only while a ring is installed."""

    def __init__(self, site: SiteId, options: TotemRingOptions, store: Store, passing: Passing, outbox: Outbox) -> None:
        self._site = site
        self._agreed: bool = options.delivery == "agreed"
        self._idle_us: int = options.idle_us
        self._burst: int = options.burst
        self._window: int = options.window
        self._store = store
        self._passing = passing
        self._outbox = outbox
        self._held: Token | None = None  # an idle token that waits here
        self._hop = 0  # of the last token taken; 0: none yet on this ring
        self._last_aru = 0  # of the token when it was last here
        self._last_end = 0  # of the token when it was last here: older gaps are losses
        self._sent_last = 0  # own messages in the last rotation

    def has_begun(self) -> bool:
        """Whether a token of this ring was here."""
        return self._hop > 0

    # A ring begins and ends

    def start(self, now: Micros) -> None:
        """A ring is installed here."""
        self._hop = 0
        self._last_aru = 0
        self._last_end = 0
        self._sent_last = 0
        members = len(self._store.ring.members)
        if members == 1:
            self._run_alone()
        else:
            self._passing.expect_return(now, members, self._held_us())

    def make_token(self, now: Micros) -> None:
        """The representative begins the circulation."""
        ring = self._store.ring
        self._use_token(now, Token(ring.number, ring.root, 1, 0, 0, -1, (), 0))

    def stop(self) -> None:
        """The ring is no more."""
        self._held = None
        self._outbox.cancel_timer(HOLD, 0)

    def _run_alone(self) -> None:
        """A ring of one needs no token."""
        ring = self._store.ring
        queue = self._store.queue
        for item in queue.take(len(queue.waiting)):
            self._store.store(ring.reached(), item)
        ring.note_safe(ring.reached())
        self._store.deliver_ready()
        ring.drop_below(ring.safe)

    # What happens

    def on_broadcast(self, now: Micros) -> None:
        """There is something to send: an idle token need not wait any longer."""
        if len(self._store.ring.members) == 1:
            self._run_alone()
        else:
            self.release(now)

    def on_data(self, place: int, item: Item) -> None:
        """A message that was not here."""
        self._store.store(place, item)
        if self._agreed:
            self._store.deliver_ready()
        if place >= self._last_end:
            self._passing.arrived()  # somebody after us has the token, or had it

    def on_token(self, now: Micros, source: SiteId, token: Token) -> None:
        ring = self._store.ring
        if not ring.is_named(token.ring, token.root) or token.hop <= self._hop:
            return
        if source not in ring.members or token.aru > token.end or token.end > ring.reached() + AHEAD_MAX:
            return
        if self._held is not None:
            return
        self._passing.arrived()
        self._passing.expect_return(now, len(ring.members), self._held_us())
        news = token.end != self._last_end or token.aru != self._last_aru or min(self._last_aru, token.aru) > ring.safe
        if not news and not self._store.queue.waiting and self._idle_us > 0:  # the token need not hurry
            self._held = token
            self._outbox.set_timer(HOLD, 0, now + self._idle_us)
        else:
            self._use_token(now, token)

    def release(self, now: Micros) -> None:
        """Use a token that was held."""
        token = self._held
        if token is not None:
            self.stop()
            self._use_token(now, token)

    def _held_us(self) -> int:
        """So long the others may hold an idle token in one rotation, all together."""
        return (len(self._store.ring.members) - 1) * self._idle_us

    # The token is here

    def _use_token(self, now: Micros, token: Token) -> None:
        """Send again what is asked for, broadcast, ask, acknowledge, and pass the token on."""
        ring = self._store.ring
        self._hop = token.hop
        others = [site for site in ring.members if site != self._site]
        wanted = self._answer_wanted(token, others)
        ring.note_safe(min(self._last_aru, token.aru))
        end = max(token.end, ring.reached())
        before = max(0, token.sent - self._sent_last)
        taken = self._store.queue.take(max(0, min(self._burst, self._window - before, self._unsafe_room(end))))
        for item in taken:
            self._store.store(end, item)
            self._outbox.multicast(list(others), Data(ring.number, ring.root, end, item))
            end += 1
        self._sent_last = len(taken)
        wanted.update(ring.have.gaps_below(min(self._last_end, end), ring.kept_from))
        self._last_end = end
        aru, aru_site = self._acknowledge(token, end)
        self._last_aru = aru
        self._store.deliver_ready()
        ring.drop_below(ring.safe)
        sent = before + len(taken)
        passed = Token(ring.number, ring.root, token.hop + 1, end, aru, aru_site, wanted.to_wire(), sent)
        self._passing.pass_on(now, ring.next_after(self._site), passed, self._held_us())

    def _unsafe_room(self, end: int) -> int:
        """How many more places may be taken while those before are not known to be safe."""
        return self._store.ring.safe + WINDOWS_UNSAFE * self._window - end

    def _answer_wanted(self, token: Token, others: list[SiteId]) -> RangeSet:
        """Send again what is here of the wanted; what remains wanted."""
        ring = self._store.ring
        wanted = ranges_of(token.wanted)
        sent = 0
        for start, stop in wanted.intersection(ring.have).ranges():
            for place in range(start, stop):
                item = ring.items.get(place)
                if item is not None and sent < RESEND_MAX:
                    sent += 1
                    self._outbox.multicast(list(others), Data(ring.number, ring.root, place, item))
                    wanted.remove(place)
        return wanted

    def _acknowledge(self, token: Token, end: int) -> tuple[int, int]:
        """All-received-up-to: whoever has less lowers it, whoever lowered it raises it again."""
        mine = min(self._store.ring.reached(), end)
        if mine < token.aru or token.aru_site in (self._site, -1):
            return mine, (self._site if mine < end else -1)
        return token.aru, token.aru_site
