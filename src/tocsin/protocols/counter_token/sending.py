"""This site's own messages, the window and the flags that hold them back (section 3.2 of the paper).

A broadcast leaves at once if the window and the flags allow it; it is announced at the sender's next turn. It waits by
itself while nobody of its group is in the view.

The window (beyond the paper). Each member may have `window / (2 n)` bytes outstanding at any time, plus what it took
from the shared other half at its last turn; the token carries how much of that half is taken.
"""

from tocsin.core.data import Data
from tocsin.core.machine import GroupId, SiteId
from tocsin.core.message import Record
from tocsin.core.own_messages import OwnNumbers
from tocsin.core.rangeset import RangeSet
from tocsin.protocols.counter_token.context import ACTIVE, MESSAGE_OVERHEAD, Context
from tocsin.protocols.counter_token.messages import StateEntry, Token
from tocsin.protocols.counter_token.order import Order
from tocsin.protocols.counter_token.records import Own, TurnSlot
from tocsin.protocols.counter_token.relay import Relay
from tocsin.protocols.counter_token.ring import ENTRY_MESSAGES_MAX, ENTRY_RANGES_MAX, RUNS_MAX, Slot
from tocsin.protocols.counter_token.store import Store


class Sending:
    """Own messages until they are ordered."""

    def __init__(self, context: Context, store: Store, order: Order, relay: Relay, first_seqno: int) -> None:
        self._context = context
        self._site = context.site
        self._store = store
        self._order = order
        self._relay = relay
        self._numbers = OwnNumbers()
        self._numbers.resume(first_seqno)
        self.own: dict[int, Data] = {}  # not ordered, by number
        self.unsent: list[int] = []  # own numbers that wait for window, flags, or members of their group
        self.unannounced: list[int] = []  # own numbers sent and not yet in the token
        self.outstanding = 0  # bytes of own messages sent and not ordered
        self.unsent_bytes = 0
        self.blocked_sites: list[SiteId] = []  # whose local flags are set
        self.overloaded = False  # the global flag
        self.window_max: int = context.options.window_bytes_max()
        self.window: int = context.options.window_min_bytes if self.window_max > 0 else 0
        self._pool = 0  # bytes that this site took from the shared half of the window

    # Broadcasting

    def room(self) -> int:
        return max(0, self._context.options.queue_messages - len(self.unsent))

    def take(self, group: GroupId, payload: bytes) -> int:
        """A broadcast of the application; it is on disk, and waits to be sent."""
        seqno = self._numbers.take()
        self._store.persist_payload(Own(group, seqno, payload), payload)
        self.own[seqno] = Data(group, self._site, seqno, payload)
        self.unsent.append(seqno)
        self.unsent_bytes += len(payload) + MESSAGE_OVERHEAD
        return seqno

    def send_waiting(self) -> bool:
        """Send own messages that nothing holds back any more; whether there were some."""
        if not self.unsent or self.overloaded or self._context.status != ACTIVE:
            return False
        unsent = self.unsent
        kept: list[int] = []  # to groups that must wait
        place = 0
        while place < len(unsent):
            data = self.own[unsent[place]]
            cost = len(data.payload) + MESSAGE_OVERHEAD
            if self._is_blocked(data.group):
                kept.append(data.seqno)
            elif self._fits(cost):
                self.outstanding += cost
                self.unsent_bytes -= cost
                self.unannounced.append(data.seqno)
                self.send_data(data)
            else:
                break  # the window is used up
            place += 1
        if place == len(kept):
            return False
        self.unsent = kept + unsent[place:]
        return True

    def _is_blocked(self, group: GroupId) -> bool:
        """Nobody of the group is here, or a member's buffer is nearly full."""
        destinations = self._context.ring.destinations[group]
        if not destinations:
            return True
        if self.blocked_sites:
            for site in self.blocked_sites:
                if site in destinations:
                    return True
        return False

    def _fits(self, cost: int) -> bool:
        size = self._context.ring.size
        if self.window == 0 or size == 1:
            return True
        allowance = self.window // (2 * size) + self._pool
        return self.outstanding == 0 or self.outstanding + cost <= allowance

    def send_data(self, data: Data) -> None:
        ring = self._context.ring
        targets = [site for site in ring.destinations[data.group] or ring.members if site != self._site]
        self._relay.multicast(targets, data)

    # The token

    def read_flags(self, token: Token) -> None:
        """Section 3.2: who may send. A flag counts from the token that carries it to the one that does not."""
        self.overloaded = token.overload > 0
        if token.local or self.blocked_sites:
            self.blocked_sites = [site for site, _ in token.local]
        self.window = token.window

    def announce(self, cycle: int, state: list[StateEntry], noted: list[TurnSlot]) -> bool:
        """Append what this site has sent since its last turn: one entry for each run of messages to one group."""
        ring = self._context.ring
        pending = self.unannounced
        if not pending:
            return False
        start = 0
        run = 0
        while start < len(pending) and run < RUNS_MAX:
            group = self.own[pending[start]].group
            numbers = RangeSet()
            end = start
            while end < len(pending) and end - start < ENTRY_MESSAGES_MAX and self.own[pending[end]].group == group:
                if numbers.range_count() >= ENTRY_RANGES_MAX - 1:
                    break
                numbers.add(pending[end])
                end += 1
            slot = ring.make_slot(cycle, self._site, run, group, numbers.to_wire(ENTRY_RANGES_MAX))
            assert slot is not None, "an own entry is well formed"
            slot.counted = True
            slot.kept = True
            ring.slots[slot.place] = slot
            state.append(StateEntry(self._site, cycle, run, group, 0, slot.ranges))
            noted.append(TurnSlot(slot.place, group, self._site, True, slot.ranges))
            start = end
            run += 1
        self.unannounced = pending[start:]
        return True

    def take_pool(self, old: Token | None, window: int, state: tuple[StateEntry, ...]) -> int:
        """Take from the shared half of the window what this site needs, but no more than its part among the busy."""
        if window == 0:
            return 0
        half = window // 2
        used = max(0, (old.used if old is not None else 0) - self._pool)
        busy = {self._site}
        for entry in state:
            busy.add(entry.sender)
        want = self.outstanding + self.unsent_bytes - half // self._context.ring.size
        self._pool = max(0, min(want, half - used, half // len(busy)))
        return used + self._pool

    # Ordered

    def forget(self, slot: Slot) -> list[Data]:
        """An entry of this site is ordered; its messages, if all were here."""
        messages: list[Data] = []
        for start, end in slot.numbers:
            for seqno in range(start, end):
                data = self.own.pop(seqno, None)
                if data is not None:
                    self.outstanding -= len(data.payload) + MESSAGE_OVERHEAD
                    messages.append(data)
        return messages if len(messages) == slot.count else []

    def start_view(self) -> None:
        """What is still to be ordered is announced in the new view, maybe again; but not what that takes over."""
        ring = self._context.ring
        carried: set[int] = set()
        for slot in ring.slots.values():
            if slot.sender == self._site:
                for start, end in slot.numbers:
                    carried.update(range(start, end))
        for seqno in sorted(self.own):
            if seqno < self._order.frontier[self.own[seqno].group][self._site]:
                del self.own[seqno]
        waiting = set(self.unsent)
        rest = [seqno for seqno in sorted(self.own) if seqno not in carried]
        self.unsent = [seqno for seqno in rest if seqno in waiting or not ring.destinations[self.own[seqno].group]]
        later = set(self.unsent)
        self.unannounced = [seqno for seqno in rest if seqno not in later]
        self.outstanding = self._bytes_of(self.unannounced) + self._bytes_of(sorted(carried))
        self.unsent_bytes = self._bytes_of(self.unsent)
        self._pool = 0
        self.blocked_sites = []
        self.overloaded = False

    def _bytes_of(self, numbers: list[int]) -> int:
        total = 0
        for seqno in numbers:
            data = self.own.get(seqno)
            if data is not None:
                total += len(data.payload) + MESSAGE_OVERHEAD
        return total

    def floor(self) -> int:
        """No own message with a smaller number is still to be ordered."""
        return min(self.own) if self.own else self._numbers.following

    # Records

    def following(self) -> int:
        """The next number, for a checkpoint."""
        return self._numbers.following

    def resume(self, following: int) -> None:
        self._numbers.resume(max(following, self._numbers.following))

    def recall(self, data: Data) -> None:
        self.own[data.seqno] = data
        self._numbers.recall(data.seqno)

    def finish_recall(self) -> None:
        """Everything that is not ordered waits to be sent."""
        for seqno in sorted(self.own):
            if seqno < self._order.frontier[self.own[seqno].group][self._site]:
                del self.own[seqno]
        self.unsent = sorted(self.own)
        self.unsent_bytes = self._bytes_of(self.unsent)

    def append_own(self, records: list[Record]) -> None:
        """For a checkpoint."""
        for data in self.own.values():
            records.append(Own(data.group, data.seqno, data.payload))
