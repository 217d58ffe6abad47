"""The token's way round: arrival, turn, passing, loss (sections 2.2 to 3.3 of the paper)."""

from typing import Final

from tocsin.core.machine import Micros, SiteId
from tocsin.protocols.counter_token.archive import Archive
from tocsin.protocols.counter_token.context import ACTIVE, Changes, Context
from tocsin.protocols.counter_token.flow import Flow
from tocsin.protocols.counter_token.messages import Holding, Hurry, StateEntry, Token
from tocsin.protocols.counter_token.order import Order
from tocsin.protocols.counter_token.patience import Patience
from tocsin.protocols.counter_token.receiving import Receiving
from tocsin.protocols.counter_token.records import Turn, TurnSlot
from tocsin.protocols.counter_token.relay import Relay
from tocsin.protocols.counter_token.resting import Resting
from tocsin.protocols.counter_token.ring import CARRIED_CYCLE, STATE_ENTRIES_MAX, Slot
from tocsin.protocols.counter_token.sending import Sending
from tocsin.protocols.counter_token.store import Store

HOLD: Final = "HOLD"  # the token-owner timer
REISSUE: Final = "REISSUE"  # the next owner has not passed the token
LOST: Final = "LOST"  # nobody has
ROUND_REISSUE: Final = 2  # the second time, the token goes by all ways


class Circulation:
    """The token at this member."""

    def __init__(
        self,
        context: Context,
        store: Store,
        order: Order,
        relay: Relay,
        sending: Sending,
        receiving: Receiving,
        archive: Archive,
    ) -> None:
        options = context.options
        self._context = context
        self._outbox = context.outbox
        self._site = context.site
        self._store = store
        self._order = order
        self._relay = relay
        self._sending = sending
        self._receiving = receiving
        self._archive = archive
        self._options = options
        self._flow = Flow(context, sending, receiving)
        self._changes: Changes | None = None
        self._resting = Resting(context, relay, sending, receiving)
        self._to_all = options.token_to == "all"
        self.holding = False  # it is this site's turn
        self._passed: Token | None = None  # the token this site passed, until a newer one is seen
        self._unanswered = 0  # reissues of it
        self._hurried = False  # somebody asked for the token, or sent data while it rested: pass it round at once
        self._patience = Patience(options.reissue_us)

    def attach(self, changes: Changes) -> None:
        """Who changes views."""
        self._changes = changes

    # Views

    def start_view(self, now: Micros) -> None:
        """The head of the list makes the first token."""
        ring = self._context.ring
        self._patience.start_view(ring.members)
        self._hurried = False
        self._resting.start_view()
        self._relay.start_view()
        if ring.size > 1:
            self._outbox.set_timer(LOST, 0, now + self._lost_us())
        first = ring.members[0] == self._site
        if first:
            ring.turn = ring.size
        self.send_waiting(now)
        if first and ring.turn == ring.size and not self.holding:
            self._begin_turn(now)

    def stop(self) -> None:
        """Take no more part in the view."""
        self.holding = False
        self._passed = None
        for timer in (HOLD, REISSUE, LOST):
            self._outbox.cancel_timer(timer, 0)
        self._resting.stop()

    # Arrival

    def on_token(self, now: Micros, source: SiteId, token: Token, direct: bool) -> None:
        """A token of this view."""
        ring = self._context.ring
        if self._context.status != ACTIVE:
            return
        turn = token.cycle * ring.size + token.position
        if source not in ring.place_of or token.position >= ring.size or len(token.state) > STATE_ENTRIES_MAX:
            self._context.stat_dropped += 1
            return
        if turn <= ring.turn:
            self._on_old_token(source, token, direct)
            return
        self._take_over(now, token)
        if direct:
            self._relay.note_heard(source)
        if ring.owner() == self._site and ring.turn == turn:
            if not self._to_all:
                self._relay.answer(source, Holding(ring.view, token.cycle, token.position), not direct)
            self._begin_turn(now)

    def _on_old_token(self, source: SiteId, token: Token, direct: bool) -> None:
        """Late, a copy, or reissued because its passer has not heard of this site's turn: tell it."""
        ring = self._context.ring
        passer = ring.members[(token.position - 1) % ring.size]
        if ring.members[token.position] == self._site and source == passer:
            self._relay.answer(source, Holding(ring.view, token.cycle, token.position), not direct)

    def _take_over(self, now: Micros, token: Token) -> bool:
        """A newer token, or the one this site passes: update, commit, look for what is missing."""
        ring = self._context.ring
        before = ring.turn
        fresh = ring.absorb(token)
        if fresh is None:
            self._context.stat_dropped += 1
            return False
        if self._passed is not None and self._passed is not token:
            self._passed = None
            self._outbox.cancel_timer(REISSUE, 0)
        self._resting.note_moved()
        if ring.size > 1:
            self._patience.note_turn(ring.turn // ring.size)
            self._outbox.set_timer(LOST, 0, now + self._lost_us())
            if self._to_all:
                for turn in range(max(before, ring.turn - ring.size, ring.size), ring.turn):
                    self._relay.note_turn(ring.members[turn % ring.size])
                self._relay.learn(token.deaf)
        self._sending.read_flags(token)
        if fresh:
            self._receiving.note_entries(now, fresh)
        if ring.slots:
            self.commit()
        self._order.maybe_trim(token.stable)
        self._archive.release(token.stable)
        self.send_waiting(now)
        if self._sending.unannounced:
            self._resting.maybe_hurry(now, False)  # it moved, but rests again
        return True

    def commit(self) -> None:
        """Commit what the ring allows."""
        ring = self._context.ring
        for slot in ring.committable():
            self.settle(slot, ring.view)
            ring.drop(slot)
        self._order.note_ordered()

    def settle(self, slot: Slot, view: int) -> None:
        """An entry is ordered."""
        messages = self._receiving.take(slot)
        if slot.destination and not messages:
            slot.bare = True  # its messages are not here: they are fetched
        position = self._order.positions[slot.group]
        self._order.settle(slot, view, messages)
        if slot.sender == self._site:
            own = self._sending.forget(slot)
            if own and not slot.destination:
                self._archive.add(slot.place, slot.group, position, own)
            self._receiving.forget_resent(slot)
        elif slot.keeper and messages:
            self._archive.add(slot.place, slot.group, position, messages)

    def send_waiting(self, now: Micros) -> None:
        if self._sending.unsent and self._sending.send_waiting():
            self.on_own_data(now)

    # Turn

    def _begin_turn(self, now: Micros) -> None:
        self.holding = True
        changes = self._changes
        assert changes is not None
        if changes.wanted():
            changes.start(now, [])
            return
        hold_us = self._resting.hold_us()
        if hold_us <= 0:
            self.end_turn(now)
        else:
            self._outbox.set_timer(HOLD, 0, now + hold_us)

    def on_own_data(self, now: Micros) -> None:
        """Own messages wait to be announced."""
        if self._context.ring.size == 1:
            self._begin_turn(now)
        elif self.holding:
            self.on_work(now)
        else:
            self._resting.maybe_hurry(now, self._resting.owner_has_data())

    def on_repaired(self, now: Micros) -> None:
        """An entry that the token waits for can now be counted."""
        if not self.holding:
            self._resting.maybe_hurry(now, False)

    def on_work(self, now: Micros) -> None:
        """Something arrived that the token should know of; the owner passes it on."""
        if self.holding and self._resting.passes_at_once and self._context.status == ACTIVE:
            self._hurried = True  # its sender counts on a token that goes round at once
            self._outbox.cancel_timer(HOLD, 0)
            self.end_turn(now)

    def on_hurry_timer(self, now: Micros) -> None:
        self._resting.on_timer(now)

    def on_hurry(self, now: Micros, source: SiteId, hurry: Hurry) -> None:
        ring = self._context.ring
        if self._context.status != ACTIVE or hurry.view != ring.view or source not in ring.place_of:
            return
        if self.holding and self._resting.passes_at_once:
            self.on_work(now)
        elif self._to_all and hurry.turn < ring.turn and ring.newest is not None:
            self._relay.send(source, ring.newest)  # it has missed that the token moved

    def end_turn(self, now: Micros) -> None:
        """The token-owner timer has expired: count, announce, pass (section 3.1)."""
        ring = self._context.ring
        old = ring.newest
        turn = ring.turn if ring.turn >= 0 else ring.size
        changed = turn + 1 if self._hurried or old is None else old.changed
        deleted = False
        state: list[StateEntry] = []
        noted: list[TurnSlot] = []
        for entry in self._carried_state() if old is None else old.state:
            if ring.announcer(entry) == self._site and self._is_full(entry):
                changed = turn + 1
                deleted = True
            elif self._maybe_count(entry, noted):
                changed = turn + 1
                state.append(_with_one_more(entry))
            else:
                state.append(entry)
        if deleted and not state and not self._hurried:
            changed = turn + 1 - ring.size  # all done: idle from here on, without another round
        if self._sending.announce(turn // ring.size, state, noted):
            changed = turn + 1
        if noted:
            self._store.persist(Turn(ring.view, tuple(noted)))
        self.holding = False
        self._hurried = False
        token = self._next_token(old, turn, state, changed)
        self._passed = token if ring.size > 1 else None
        self._unanswered = 0
        if ring.size > 1:
            self._send_token(token)
            self._outbox.set_timer(REISSUE, 0, now + self._patience.reissue_us + self._resting.next_hold_us(token))
        self._take_over(now, token)

    def _carried_state(self) -> tuple[StateEntry, ...]:
        """What the head of the list announces first: the entries that the view takes over."""
        carried = self._context.view.carried
        return tuple(
            [
                StateEntry(entry.sender, CARRIED_CYCLE, run, entry.group, 0, entry.ranges)
                for run, entry in enumerate(carried)
            ]
        )

    def _send_token(self, token: Token) -> None:
        following = self._context.ring.members[token.position]
        if not self._to_all:
            self._relay.send(following, token)
        elif token.state:
            self._relay.multicast(self._context.others, token)
        else:
            self._outbox.multicast(self._context.others, token)
            members = self._context.ring.members
            self._relay.send_round(following, token)
            if len(members) > 2:
                self._relay.send_round(members[(token.position - 2) % len(members)], token)  # it waits to see it passed

    def _is_full(self, entry: StateEntry) -> bool:
        slot = self._context.ring.slots.get(self._context.ring.place_of_entry(entry))
        return slot is None or slot.full  # not known any more: committed, so it was full

    def _maybe_count(self, entry: StateEntry, noted: list[TurnSlot]) -> bool:
        """Count an entry, once, when all its messages are here, or are with all who need them; whether that was now."""
        ring = self._context.ring
        slot = ring.slots.get(ring.place_of_entry(entry))
        if slot is None or slot.counted:
            return False
        if slot.missing or (not slot.destination and entry.counter < slot.first):
            if not slot.kept:
                slot.kept = True
                noted.append(TurnSlot(slot.place, slot.group, slot.sender, False, slot.ranges))
            return False
        if (slot.destination or slot.keeper) and not slot.bare:
            self._receiving.keep(slot)
        slot.counted = True
        slot.kept = True
        noted.append(TurnSlot(slot.place, slot.group, slot.sender, True, slot.ranges))
        return True

    def _next_token(self, old: Token | None, turn: int, state: list[StateEntry], changed: int) -> Token:
        """The token for the next owner, with this site's part of the flow control."""
        ring = self._context.ring
        entries = tuple(state)
        cycle = turn // ring.size
        local = self._flow.local_flags(old, cycle)
        overload = self._flow.overload(entries, cycle)
        window, shrunk = self._flow.next_window(old, turn, cycle, local)
        used = self._sending.take_pool(old, window, entries)
        mine = 0 if self._order.lagging else self._order.limit
        low = mine if old is None or turn % ring.size == 0 else min(old.low, mine)
        stable = old.stable if old is not None else 0
        if (turn + 1) % ring.size == 0:
            stable = max(stable, low)
        following = turn + 1
        return Token(
            ring.view,
            following // ring.size,
            following % ring.size,
            entries,
            local,
            overload,
            window,
            used,
            shrunk,
            max(0, changed),
            low,
            stable,
            self._relay.complaints(old.deaf if old is not None else ()),
        )

    def _lost_us(self) -> int:
        """When the token must have been seen: the longest hold, and all reissues."""
        options = self._options
        turns = 1 if self._to_all else self._context.ring.size  # seen at every turn, or only at one's own
        reissue_us = self._patience.reissue_us
        return turns * (self._resting.longest_hold_us() + (reissue_us << (options.reissues + 1)) + reissue_us)

    # Loss

    def on_holding(self, now: Micros, source: SiteId, holding: Holding) -> None:
        """The next owner has the token: be patient."""
        token = self._passed
        if token is None or self._context.status != ACTIVE or holding.view != token.view:
            return
        if holding.cycle != token.cycle or holding.position != token.position:
            return
        if self._context.ring.members[token.position] == source:
            if not self._to_all:
                self._passed = None
                self._outbox.cancel_timer(REISSUE, 0)
                return
            self._unanswered = 0
            self._outbox.set_timer(REISSUE, 0, now + self._patience.reissue_us + self._resting.next_hold_us(token))
            self._outbox.set_timer(LOST, 0, now + self._lost_us())

    def on_reissue(self, now: Micros) -> None:
        """The next owner has not passed the token: send it again, by all ways, L times; then it has failed."""
        token = self._passed
        if token is None or self._context.status != ACTIVE:
            return
        following = self._context.ring.members[token.position]
        if self._unanswered >= self._options.reissues:
            assert self._changes is not None
            self._changes.start(now, [following])
            return
        self._unanswered += 1
        if self._unanswered == ROUND_REISSUE:
            self._relay.flood([following], token)
        else:
            self._send_token(token)
        self._outbox.set_timer(REISSUE, 0, now + (self._patience.reissue_us << self._unanswered))

    def on_lost(self, now: Micros) -> None:
        if self._context.status == ACTIVE:
            assert self._changes is not None
            self._changes.start(now, [])


def _with_one_more(entry: StateEntry) -> StateEntry:
    return StateEntry(entry.sender, entry.cycle, entry.run, entry.group, entry.counter + 1, entry.ranges)
