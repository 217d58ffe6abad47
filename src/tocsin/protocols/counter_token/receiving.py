"""Messages of others until they are ordered, and the repair of losses (section 3.1: arrival of a broadcast message, and
of a request-for-retransmission).

A destination that knows from the token that it lacks messages waits for a moment (the token may have overtaken them),
or not at all if later ones of that sender have arrived; then it multicasts one request that names ranges. Others that
lack the same hold theirs back. The sender multicasts the messages. A repeated request is also answered by another
holder, a different one each time, so a sender that is gone or cut off does not matter.
"""

from typing import Final

from tocsin.core.data import Data
from tocsin.core.errors import DecodeError
from tocsin.core.estimate import Estimate
from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Record
from tocsin.core.rangeset import RangeSet, rangeset_from_wire
from tocsin.protocols.counter_token.context import ACTIVE, LEFT, MESSAGE_OVERHEAD, Context
from tocsin.protocols.counter_token.messages import Request
from tocsin.protocols.counter_token.options import ADAPTIVE
from tocsin.protocols.counter_token.order import Order
from tocsin.protocols.counter_token.records import Kept
from tocsin.protocols.counter_token.relay import Relay
from tocsin.protocols.counter_token.ring import CARRIED_CYCLE, ENTRY_MESSAGES_MAX, ENTRY_RANGES_MAX, Slot
from tocsin.protocols.counter_token.sending import Sending
from tocsin.protocols.counter_token.store import Store

REQUEST: Final = "REQUEST"  # key: the origin whose messages are missing
ANSWER_MESSAGES_MAX: Final = 4096  # messages sent again for one request; what is left is asked for again
ROUND_ATTEMPTS: Final = 3  # requests in vain before they, and their answers, go by all ways
ROUND_MESSAGES_MAX: Final = 16  # messages in such an answer: each is sent by everybody
WAIT_MIN_US: Final = 100  # least adaptive wait: below a timer's precision in a live process
BARE_ATTEMPTS: Final = 8  # requests for what a view took over before it is counted without: nobody here has it

COPY: Final = 0  # what became of a message that arrived: it was here, or makes no sense
NEWS: Final = 1  # kept
REPAIR: Final = 2  # kept, and nothing of its origin's announced messages is missing any more


class Receiving:
    """What others have sent."""

    def __init__(self, context: Context, store: Store, order: Order, relay: Relay, sending: Sending) -> None:
        self._context = context
        self._outbox = context.outbox
        self._site = context.site
        self._store = store
        self._order = order
        self._relay = relay
        self._sending = sending
        self._wait_us: int = context.options.wait_us()
        self._single: bool = context.options.classic  # the paper's: one message a request
        self.held: list[dict[int, Data]] = [{} for _ in range(context.sites)]  # by origin: received, not ordered
        self._held_bytes = 0
        self.loose = 0  # held messages that no known entry names yet
        self.losses = False  # something was asked for since the last turn
        self._incomplete: list[Slot] = []  # entries for this site with missing messages
        self._attempts: dict[SiteId, int] = {}  # by origin: requests sent for what is missing now
        self._highest: list[int] = [-1] * context.sites  # by origin: the highest number received
        self._resent_at: dict[int, Micros] = {}  # own numbers: when sent again; while not ordered
        request_us: int = context.options.request_us
        self._wait = Estimate(request_us // 4, WAIT_MIN_US, request_us)  # for what the token announces, where it adapts
        self._missing_since: dict[SiteId, Micros] = {}  # by origin, as in `_attempts`

    def held_bytes(self) -> int:
        """Of all that is received and not delivered."""
        return self._held_bytes + self._order.ready_bytes

    # Receiving

    def on_data(self, now: Micros, data: Data) -> int:
        context = self._context
        origin = data.origin
        group = data.group
        if context.status == LEFT or not context.installed:
            return COPY
        if group >= len(context.groups) or origin >= context.sites or origin == self._site:
            context.stat_dropped += 1
            return COPY
        held = self.held[origin]
        seqno = data.seqno
        if seqno < self._order.frontier[group][origin] or seqno in held:
            return COPY
        if (origin not in context.ring.place_of or not context.mine[group]) and not self._is_missing(data):
            return COPY
        cost = len(data.payload) + MESSAGE_OVERHEAD
        full = self.held_bytes() + cost > context.options.buffer_bytes + MESSAGE_OVERHEAD
        if full and not self._is_missing(data):
            return COPY  # the buffer is full; it is asked for later
        held[seqno] = data
        self._held_bytes += cost
        if seqno > self._highest[origin]:
            self._highest[origin] = seqno
        if self._incomplete:
            found = self._fill(now, data)
            if found != COPY:
                return found
        self.loose += 1
        return NEWS

    def _is_missing(self, data: Data) -> bool:
        wanted = [slot for slot in self._incomplete if slot.sender == data.origin and data.seqno in slot.missing]
        return len(wanted) > 0

    def _fill(self, now: Micros, data: Data) -> int:
        """Whether the message was missing in a known entry, and the last such of its origin."""
        origin = data.origin
        found = False
        left = False
        for slot in self._incomplete:
            if slot.sender == origin:
                if data.seqno in slot.missing:
                    slot.missing.discard(data.seqno)
                    found = True
                if slot.missing:
                    left = True
        if not found:
            return COPY
        if left:
            return NEWS
        self._incomplete = [slot for slot in self._incomplete if slot.missing]
        self._outbox.cancel_timer(REQUEST, origin)
        since = self._missing_since.pop(origin, now)
        if self._attempts.pop(origin, 0) == 0:
            self._wait.note(2 * (now - since))  # it came by itself after the token: so long is to be waited
        return REPAIR

    def take(self, slot: Slot) -> list[Data]:
        """The messages of an entry that is ordered, oldest first, out of the buffers; none if one is missing."""
        messages: list[Data] = []
        if not (slot.destination or slot.keeper) or slot.bare:
            return messages
        source = self._sending.own if slot.sender == self._site else self.held[slot.sender]
        for start, end in slot.numbers:
            for seqno in range(start, end):
                data = source.get(seqno)
                if data is None:
                    return []
                messages.append(data)
        if slot.sender != self._site:
            for data in messages:
                del source[data.seqno]
                self._held_bytes -= len(data.payload) + MESSAGE_OVERHEAD
        return messages

    def keep(self, slot: Slot) -> None:
        """Put an entry's messages on disk, before it is counted."""
        if slot.sender != self._site:
            held = self.held[slot.sender]
            for start, end in slot.numbers:
                for seqno in range(start, end):
                    self._store.keep(held[seqno])

    def forget_resent(self, slot: Slot) -> None:
        """An own entry is ordered."""
        if self._resent_at:
            for start, end in slot.numbers:
                for seqno in range(start, end):
                    self._resent_at.pop(seqno, 0)

    # Requests

    def note_entries(self, now: Micros, fresh: list[Slot]) -> None:
        """New entries: which of their messages are here?"""
        frontier = self._order.frontier
        for slot in fresh:
            if not (slot.destination or slot.keeper) or slot.sender == self._site:
                continue
            held = self.held[slot.sender]
            for start, end in slot.numbers:
                for seqno in range(start, end):
                    if seqno not in held:
                        slot.missing.add(seqno)
            self.loose -= slot.count - len(slot.missing)
            if slot.numbers[0][0] < frontier[slot.group][slot.sender]:
                slot.missing.add(slot.numbers[0][0])  # announces what is ordered: never to be counted
            if slot.missing:
                self._incomplete.append(slot)
                self._plan_request(now, slot)

    def _plan_request(self, now: Micros, slot: Slot) -> None:
        origin = slot.sender
        if origin in self._attempts:
            return  # the timer runs
        self._attempts[origin] = 0
        self._missing_since[origin] = now
        adaptive = self._wait_us == ADAPTIVE
        wait_us = self._wait.us if adaptive else self._wait_us
        if wait_us == 0 or (adaptive and self._highest[origin] > min(slot.missing)):
            self.send_request(now, origin)
        else:
            self._outbox.set_timer(REQUEST, origin, now + wait_us)

    def send_request(self, now: Micros, origin: SiteId) -> bool:
        """Ask for everything that is missing of an origin, and again later; whether something is given up instead."""
        numbers = RangeSet()
        attempt = self._attempts.get(origin, 0)
        gave_up = False
        for slot in self._incomplete:
            if slot.sender == origin:
                if slot.cycle == CARRIED_CYCLE and attempt >= BARE_ATTEMPTS:
                    slot.bare = True
                    slot.missing.clear()
                    gave_up = True
                for seqno in sorted(slot.missing):
                    numbers.add(seqno)
        if gave_up:
            self._incomplete = [slot for slot in self._incomplete if slot.missing]
        if not numbers or self._context.status != ACTIVE:
            self._attempts.pop(origin, 0)
            return gave_up
        self._attempts[origin] = attempt + 1
        self.losses = True
        view = self._context.ring.view
        if self._single:
            for seqno in numbers.values():
                self._relay.multicast(self._context.others, Request(view, origin, attempt, (seqno, 1)))
        else:
            request = Request(view, origin, attempt, numbers.to_wire(ENTRY_RANGES_MAX))
            if attempt >= ROUND_ATTEMPTS:
                self._relay.flood(self._context.others, request)
            else:
                self._relay.multicast(self._context.others, request)
        self._outbox.set_timer(REQUEST, origin, now + (self._context.options.request_us << min(attempt, 3)))
        return gave_up

    def on_request(self, now: Micros, source: SiteId, request: Request) -> None:
        context = self._context
        if context.status != ACTIVE or request.view != context.ring.view or source not in context.ring.place_of:
            return
        origin = request.origin
        try:
            numbers = rangeset_from_wire(request.ranges, ENTRY_RANGES_MAX)
        except DecodeError:
            context.stat_dropped += 1
            return
        if origin >= context.sites or numbers.count() > ENTRY_MESSAGES_MAX:
            context.stat_dropped += 1
            return
        if request.attempt >= ROUND_ATTEMPTS:
            self._answer_round(source, origin, numbers)
        elif origin == self._site:
            self._answer_own(now, numbers)
        elif self._is_substitute(source, origin, request.attempt):
            self._answer_held(origin, numbers)
        if origin != self._site:
            if not self._single and origin in self._attempts:
                self._hush(now, origin, numbers)

    def _answer_own(self, now: Micros, numbers: RangeSet) -> None:
        """The sender sends again, to all, what it has not just sent again."""
        sent = 0
        for seqno in numbers.values():
            data = self._sending.own.get(seqno)
            if data is None or sent >= ANSWER_MESSAGES_MAX:
                continue
            if not self._single and now - self._resent_at.get(seqno, -1 << 60) < self._wait.us:
                continue  # somebody else asked a moment ago, or it is a copy of a request
            self._resent_at[seqno] = now
            self._sending.send_data(data)
            sent += 1

    def _answer_round(self, source: SiteId, origin: SiteId, numbers: RangeSet) -> None:
        """Nothing has come there so far: whoever has it sends it by all ways."""
        known = self._sending.own if origin == self._site else self.held[origin]
        sent = 0
        for seqno in numbers.values():
            data = known.get(seqno)
            if data is not None and sent < ROUND_MESSAGES_MAX:
                self._relay.flood([source], data)
                sent += 1

    def _is_substitute(self, source: SiteId, origin: SiteId, attempt: int) -> bool:
        """Whether it falls to this site to answer a request in the sender's place: repeated, or the sender is away."""
        ring = self._context.ring
        if attempt == 0 and origin in ring.place_of:
            return False
        others = [site for site in ring.members if site != source and site != origin]
        return len(others) > 0 and others[(attempt + len(others) - 1) % len(others)] == self._site

    def _answer_held(self, origin: SiteId, numbers: RangeSet) -> None:
        held = self.held[origin]
        sent = 0
        for seqno in numbers.values():
            data = held.get(seqno)
            if data is not None and sent < ANSWER_MESSAGES_MAX:
                self._sending.send_data(data)
                sent += 1

    def _hush(self, now: Micros, origin: SiteId, numbers: RangeSet) -> None:
        """Another asks for all that is missing here: its answer will come here too."""
        for slot in self._incomplete:
            if slot.sender == origin:
                for seqno in slot.missing:
                    if not numbers.contains(seqno):
                        return
        self._outbox.set_timer(REQUEST, origin, now + self._context.options.request_us)

    # Views

    def stop(self) -> None:
        """The view goes on without this site, or is over."""
        for origin in sorted(self._attempts):
            self._outbox.cancel_timer(REQUEST, origin)
        self._attempts.clear()

    def start_view(self, now: Micros) -> None:
        """What of the held messages is still to be ordered; and what is missing of what the view takes over."""
        ring = self._context.ring
        named: list[set[int]] = [set() for _ in range(self._context.sites)]  # by origin: numbers that entries name
        for slot in ring.slots.values():
            for start, end in slot.numbers:
                named[slot.sender].update(range(start, end))
        floors = dict(self._context.view.floors)  # members, and what they still have to announce
        self._resent_at.clear()
        self._incomplete = []
        self._attempts.clear()
        self.loose = 0
        self._held_bytes = 0
        for origin in range(self._context.sites):
            held = self.held[origin]
            for seqno in sorted(held):
                data = held[seqno]
                gone = seqno not in named[origin] and (origin not in floors or seqno < floors[origin])
                if gone or seqno < self._order.frontier[data.group][origin]:
                    del held[seqno]
                else:
                    self.loose += 1
                    self._held_bytes += len(data.payload) + MESSAGE_OVERHEAD
        self.note_entries(now, list(ring.slots.values()))

    def forget_renewed(self, site: SiteId) -> None:
        """A site has begun anew, with other numbers. What it had sent goes with the view."""
        self._highest[site] = -1

    # Records

    def recall(self, data: Data) -> None:
        if data.seqno not in self.held[data.origin]:
            self.held[data.origin][data.seqno] = data
            self._held_bytes += len(data.payload) + MESSAGE_OVERHEAD

    def append_kept(self, records: list[Record], slots: list[Slot]) -> None:
        """For a checkpoint: the messages of entries that were counted, in this view or in the one before."""
        for slot in slots:
            counted = slot.counted or slot.cycle == CARRIED_CYCLE
            needed = slot.destination or slot.keeper
            if counted and slot.sender != self._site and needed and not slot.bare:
                held = self.held[slot.sender]
                for start, end in slot.numbers:
                    for seqno in range(start, end):
                        data = held.get(seqno)
                        if data is not None:
                            records.append(Kept(data.group, data.origin, data.seqno, data.payload))
