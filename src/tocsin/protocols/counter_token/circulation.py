"""The token's way round: arrival, turn, passing, loss (sections 2.2 to 3.3 of the paper)."""

from abc import abstractmethod
from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.core.rangeset import RangeSet
from tocsin.protocols.counter_token.foundation import (
    ACTIVE,
    HOLD,
    HURRY,
    LOST,
    REISSUE,
)
from tocsin.protocols.counter_token.messages import Holding, Hurry, StateEntry, Token, Turn, TurnSlot
from tocsin.protocols.counter_token.ring import (
    ENTRY_MESSAGES_MAX,
    ENTRY_RANGES_MAX,
    RUNS_MAX,
    STATE_ENTRIES_MAX,
    messages_in,
)
from tocsin.protocols.counter_token.sending import Sending

MARKS_MAX: Final = 1024  # commits remembered for trimming; forgetting one trims a little later


class Circulation(Sending):
    """The token."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        super().__init__(setup, outbox)
        self._to_all = self._options.token_to == "all"
        self._holding = False  # it is this site's turn
        self._passed: Token | None = None  # the token this site passed, until a newer one is seen
        self._unanswered = 0  # reissues of it
        self._hurried = False  # somebody asked for the token, or sent data while it rested: pass it round at once
        self._asked_hurry = False  # this site did, and has not seen the token move since
        self._marks: list[tuple[int, list[int]]] = []  # (place, positions after it): for trimming
        self._trimmed: list[int] = [0] * len(setup.groups)

    @abstractmethod
    def _start_change(self, now: Micros, suspects: list[SiteId]) -> None:
        """Ask the members for a new view."""

    @abstractmethod
    def _wants_change(self) -> bool:
        """Whether the owner should change the view instead of passing the token: a join or its own leave."""

    @abstractmethod
    def _on_other_view(self, now: Micros, source: SiteId, view: int) -> None:
        """A member of another view circulates a token."""

    # Arrival

    def _on_token(self, now: Micros, source: SiteId, token: Token) -> None:
        ring = self._ring
        if token.view != ring.view:
            self._on_other_view(now, source, token.view)
            return
        if self._status != ACTIVE:
            return
        turn = token.cycle * ring.size + token.position
        if source not in ring.place_of or token.position >= ring.size or len(token.state) > STATE_ENTRIES_MAX:
            self.stat_dropped += 1
            return
        if turn <= ring.turn:
            self._on_old_token(source, token)
            return
        self._take_over(now, token)
        if ring.owner() == self._site and ring.turn == turn:
            if not self._to_all:
                self._outbox.send(source, Holding(ring.view, token.cycle, token.position))
            self._begin_turn(now)

    def _on_old_token(self, source: SiteId, token: Token) -> None:
        """Late, a copy, or reissued because its passer has not heard of this site's turn: tell it."""
        ring = self._ring
        passer = ring.members[(token.position - 1) % ring.size]
        if ring.members[token.position] == self._site and source == passer:
            self._outbox.send(source, Holding(ring.view, token.cycle, token.position))

    def _take_over(self, now: Micros, token: Token) -> bool:
        """A newer token, or the one this site passes: update, commit, look for what is missing."""
        fresh = self._ring.absorb(token)
        if fresh is None:
            self.stat_dropped += 1
            return False
        if self._passed is not None and self._passed is not token:
            self._passed = None
            self._outbox.cancel_timer(REISSUE, 0)
        if self._asked_hurry:
            self._asked_hurry = False
            self._outbox.cancel_timer(HURRY, 0)
        if self._ring.size > 1:
            self._outbox.set_timer(LOST, 0, now + self._lost_us())
        self._read_flags(token)
        self._note_entries(now, fresh)
        before = self._ring.committed
        self._commit(now)
        if self._ring.committed > before:
            self._marks.append((self._ring.committed, list(self._positions)))
            if len(self._marks) > MARKS_MAX:
                del self._marks[0]
        self._maybe_trim(token.stable)
        self._send_waiting(now)
        if self._unannounced:
            self._maybe_hurry(now)  # it moved, but rests again
        return True

    def _read_flags(self, token: Token) -> None:
        """Section 3.2: who may send. A flag counts from the token that carries it to the one that does not."""
        self._overloaded = token.overload > 0
        if token.local or self._blocked_sites:
            self._blocked_sites = [site for site, _ in token.local]
        self._window = token.window

    # Turn

    def _begin_turn(self, now: Micros) -> None:
        self._holding = True
        if self._wants_change():
            self._start_change(now, [])
            return
        hold_us = self._hold_us()
        if hold_us <= 0:
            self._end_turn(now)
        else:
            self._outbox.set_timer(HOLD, 0, now + hold_us)

    def _hold_us(self) -> int:
        """How long to keep the token: not at all while something goes on, up to the idle limit when nothing does."""
        token = self._ring.newest
        options = self._options
        busy_us = 0 if self._pass_at_once else options.token_hold_us
        if token is None:
            return busy_us if self._unannounced else options.token_hold_us
        rounds = self._idle_rounds(token)
        if rounds < 1 or self._has_work(rounds):
            return busy_us
        return self._resting_us(token, rounds)

    def _idle_rounds(self, token: Token) -> int:
        return (token.cycle * self._ring.size + token.position - token.changed) // self._ring.size

    def _resting_us(self, token: Token, rounds: int) -> int:
        """T * 2^(2k - 1) after k idle rounds, up to the limit; T while entries wait for somebody."""
        hold_us: int = self._options.token_hold_us
        if rounds < 1 or token.state or self._idle_hold_us <= hold_us:
            return hold_us
        return min(self._idle_hold_us, hold_us << min(2 * rounds - 1, 24))

    def _has_work(self, rounds: int) -> bool:
        """Whether this turn can change the state, or data says that another's soon will."""
        if self._unannounced or (self._loose > 0 and rounds < 3):
            return True
        slots = self._ring.slots.values()
        return len([slot for slot in slots if slot.destination and not slot.counted and not slot.missing]) > 0

    def _on_own_data(self, now: Micros) -> None:
        if self._ring.size == 1:
            self._begin_turn(now)
        elif self._holding:
            self._on_work(now)
        else:
            self._maybe_hurry(now, self._owner_has_data())

    def _on_repaired(self, now: Micros) -> None:
        """An entry that the token waits for can now be counted."""
        if not self._holding:
            self._maybe_hurry(now)

    def _maybe_hurry(self, now: Micros, patient: bool = False) -> bool:
        """Ask for a token that is being held because nothing went on; with patience, only if it stays there."""
        if not self._pass_at_once or self._asked_hurry or self._status != ACTIVE:
            return False
        token = self._ring.newest
        if token is None or self._idle_rounds(token) < 1 or self._ring.owner() == self._site:
            return False
        self._asked_hurry = True
        if patient:
            self._outbox.set_timer(HURRY, 0, now + self._options.reissue_us // 4)
        else:
            self._send_hurry(now)
        return True

    def _owner_has_data(self) -> bool:
        """Whether what is unannounced was sent to the owner, too: unless it is lost, it makes the token move."""
        if not self._pass_at_once or not self._to_all:
            return False
        owner = self._ring.owner()
        for seqno in self._unannounced:  # noqa: SIM110  (a generator would not compile to plain code)
            if owner in self._ring.destinations[self._own[seqno].group]:
                return True
        return False

    def _on_work(self, now: Micros) -> None:
        if self._holding and self._pass_at_once and self._status == ACTIVE:
            self._hurried = True  # its sender counts on a token that goes round at once
            self._outbox.cancel_timer(HOLD, 0)
            self._end_turn(now)

    def _on_hurry(self, now: Micros, source: SiteId, hurry: Hurry) -> None:
        if self._status != ACTIVE or hurry.view != self._ring.view or source not in self._ring.place_of:
            return
        if self._holding and self._pass_at_once:
            self._hurried = True
            self._outbox.cancel_timer(HOLD, 0)
            self._end_turn(now)
        elif self._to_all and hurry.turn < self._ring.turn and self._ring.newest is not None:
            self._outbox.send(source, self._ring.newest)  # it has missed that the token moved

    def _end_turn(self, now: Micros) -> None:
        """The token-owner timer has expired: count, announce, pass (section 3.1)."""
        ring = self._ring
        old = ring.newest
        turn = ring.turn if ring.turn >= 0 else ring.size
        cycle = turn // ring.size
        changed = turn + 1 if self._hurried or old is None else old.changed
        deleted = False
        state: list[StateEntry] = []
        noted: list[TurnSlot] = []
        if old is not None:
            for entry in old.state:
                if entry.sender == self._site and self._is_full(entry):
                    changed = turn + 1
                    deleted = True
                elif self._maybe_count(entry, noted):
                    changed = turn + 1
                    state.append(_with_one_more(entry))
                else:
                    state.append(entry)
        if deleted and not state and not self._hurried:
            changed = turn + 1 - ring.size  # all done: idle from here on, without another round
        if self._announce(cycle, state, noted):
            changed = turn + 1
        if noted:
            self._records.persist(Turn(ring.view, tuple(noted)))
        self._holding = False
        self._hurried = False
        token = self._next_token(old, turn, state, changed)
        self._passed = token if ring.size > 1 else None
        self._unanswered = 0
        if ring.size > 1:
            self._send_token(token)
            self._outbox.set_timer(REISSUE, 0, now + self._options.reissue_us + self._next_hold_us(token))
        self._take_over(now, token)
        self._maybe_checkpoint()

    def _send_token(self, token: Token) -> None:
        if self._to_all:
            self._multicast(token)
        else:
            self._outbox.send(self._ring.members[token.position], token)

    def _is_full(self, entry: StateEntry) -> bool:
        position = self._ring.place_of[entry.sender]
        slot = self._ring.slots.get(self._ring.place(entry.cycle, position, entry.run))
        return slot is None or slot.full  # not known any more: committed, so it was full

    def _maybe_count(self, entry: StateEntry, noted: list[TurnSlot]) -> bool:
        """Count an entry, once, when all its messages are here; whether that was now."""
        ring = self._ring
        slot = ring.slots.get(ring.place(entry.cycle, ring.place_of[entry.sender], entry.run))
        if slot is None or not slot.destination or slot.counted:
            return False
        if slot.missing:
            if not slot.kept:
                slot.kept = True
                noted.append(TurnSlot(slot.place, slot.group, slot.sender, False, slot.ranges))
            return False
        held = self._held[slot.sender]
        for start, end in slot.numbers:
            for seqno in range(start, end):
                self._persist_kept(held[seqno])
        slot.counted = True
        slot.kept = True
        noted.append(TurnSlot(slot.place, slot.group, slot.sender, True, slot.ranges))
        return True

    def _announce(self, cycle: int, state: list[StateEntry], noted: list[TurnSlot]) -> bool:
        """Append what this site has sent since its last turn: one entry for each run of messages to one group."""
        ring = self._ring
        pending = self._unannounced
        if not pending:
            return False
        start = 0
        run = 0
        while start < len(pending) and run < RUNS_MAX:
            group = self._own[pending[start]].group
            numbers = RangeSet()
            end = start
            while end < len(pending) and end - start < ENTRY_MESSAGES_MAX and self._own[pending[end]].group == group:
                if numbers.range_count() >= ENTRY_RANGES_MAX - 1:
                    break
                numbers.add(pending[end])
                end += 1
            slot = ring.make_slot(cycle, self._site, run, group, numbers.to_wire(ENTRY_RANGES_MAX))
            assert slot is not None, "an own entry is well formed"
            slot.counted = True
            slot.kept = slot.destination
            ring.slots[slot.place] = slot
            state.append(StateEntry(self._site, cycle, run, group, 0, slot.ranges))
            if slot.destination:
                noted.append(TurnSlot(slot.place, group, self._site, True, slot.ranges))
            start = end
            run += 1
        self._unannounced = pending[start:]
        return True

    def _next_token(self, old: Token | None, turn: int, state: list[StateEntry], changed: int) -> Token:
        """The token for the next owner, with this site's part of the flow control."""
        ring = self._ring
        entries = tuple(state)
        cycle = turn // ring.size
        local = self._local_flags(old, cycle)
        overload = cycle if messages_in(entries) >= self._options.overload_messages else 0
        window, shrunk = self._next_window(old, turn, cycle, local)
        used = self._take_pool(old, window, entries)
        mine = 0 if self._lagging else ring.committed + 1
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
        )

    def _local_flags(self, old: Token | None, cycle: int) -> tuple[tuple[int, int], ...]:
        """Set or clear this site's entry of the local and localC fields."""
        flags = [] if old is None else [(site, at) for site, at in old.local if site != self._site]
        if 2 * self._held_bytes >= self._options.buffer_bytes:
            flags.append((self._site, cycle))
        return tuple(sorted(flags))

    def _next_window(
        self, old: Token | None, turn: int, cycle: int, local: tuple[tuple[int, int], ...]
    ) -> tuple[int, int]:
        """An eighth more after a round without trouble and with the shared half in use; a quarter less on trouble."""
        options = self._options
        if self._window_bytes == 0 or old is None:
            return (options.window_min_bytes if self._window_bytes > 0 else 0), 0
        window: int = old.window
        shrunk: int = old.shrunk
        trouble = self._losses or (len(local) > 0 and local[0][0] == self._site)
        self._losses = False
        if trouble:
            if cycle > shrunk:
                window = max(options.window_min_bytes, window - window // 4)
                shrunk = cycle + 1  # at most once a round
        elif turn % self._ring.size == 0 and cycle > shrunk + 1 and 4 * old.used >= window:
            window = min(max(self._window_bytes, options.window_min_bytes), window + window // 8)
        return window, shrunk

    def _take_pool(self, old: Token | None, window: int, state: tuple[StateEntry, ...]) -> int:
        """Take from the shared half of the window what this site needs, but no more than its part among the busy."""
        if window == 0:
            return 0
        half = window // 2
        used = max(0, (old.used if old is not None else 0) - self._pool)
        busy = {self._site}
        for entry in state:
            busy.add(entry.sender)
        want = self._outstanding + self._unsent_bytes - half // self._ring.size
        self._pool = max(0, min(want, half - used, half // len(busy)))
        return used + self._pool

    def _next_hold_us(self, token: Token) -> int:
        """How long the next owner may keep the token."""
        rounds = self._idle_rounds(token)
        if rounds < 1 and self._pass_at_once:
            return 0
        return self._resting_us(token, rounds)

    def _lost_us(self) -> int:
        """When the token must have been seen: the longest hold, and all reissues."""
        options = self._options
        hold_us = max(options.token_hold_us, self._idle_hold_us)
        turns = 1 if self._to_all else self._ring.size  # seen at every turn, or only at one's own
        return turns * (hold_us + (options.reissue_us << (options.reissues + 1)) + options.reissue_us)

    # Loss

    def _on_holding(self, now: Micros, source: SiteId, holding: Holding) -> None:
        """The next owner has the token: be patient."""
        token = self._passed
        if token is None or self._status != ACTIVE or holding.view != token.view or holding.cycle != token.cycle:
            return
        if holding.position == token.position and self._ring.members[token.position] == source:
            if not self._to_all:
                self._passed = None
                self._outbox.cancel_timer(REISSUE, 0)
                return
            self._unanswered = 0
            self._outbox.set_timer(REISSUE, 0, now + self._options.reissue_us + self._next_hold_us(token))
            self._outbox.set_timer(LOST, 0, now + self._lost_us())

    def _on_reissue(self, now: Micros) -> None:
        """The next owner has not passed the token: send it again, L times; then it has failed."""
        token = self._passed
        if token is None or self._status != ACTIVE:
            return
        if self._unanswered >= self._options.reissues:
            self._start_change(now, [self._ring.members[token.position]])
            return
        self._unanswered += 1
        self._send_token(token)
        self._outbox.set_timer(REISSUE, 0, now + (self._options.reissue_us << self._unanswered))

    # Trimming

    def _maybe_trim(self, stable: int) -> bool:
        """What all members have delivered is needed by nobody, unless a former member is away."""
        passed: list[int] | None = None
        while self._marks and self._marks[0][0] < stable:
            passed = self._marks.pop(0)[1]
        if passed is None:
            return False
        for group in range(len(self._groups)):
            limit = passed[group]
            if self._base.absent:
                limit = min(limit, self._positions[group] - self._options.log_messages)
            if limit > self._trimmed[group]:
                self._trimmed[group] = limit
                self._outbox.trim(group, limit)
        return True


def _with_one_more(entry: StateEntry) -> StateEntry:
    return StateEntry(entry.sender, entry.cycle, entry.run, entry.group, entry.counter + 1, entry.ranges)
