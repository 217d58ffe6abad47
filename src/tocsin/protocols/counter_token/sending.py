"""Broadcasting, the window and the flags, and the repair of lost messages.

A broadcast leaves at once if the window and the flags allow it; it is announced at the sender's next turn.

The window (beyond the paper). Each member may have `window / (2 n)` bytes outstanding at any time, plus what it took
from the shared other half at its last turn; the token carries how much of that half is taken.

Repair. A destination that knows from the token that it lacks messages waits for a moment (the token may have overtaken
them), or not at all if later ones of that sender have arrived; then it multicasts one request that names ranges. Others
that lack the same hold theirs back. The sender multicasts the messages once. A repeated request is also answered by
another holder, a different one each time, so a sender that is gone or cut off does not matter.
"""

from typing import Final

from tocsin.core.data import Data
from tocsin.core.errors import DecodeError
from tocsin.core.estimate import Estimate
from tocsin.core.machine import GroupId, Micros, Outbox, Setup, SiteId
from tocsin.core.rangeset import RangeSet, rangeset_from_wire
from tocsin.protocols.counter_token.foundation import (
    ACTIVE,
    FROZEN,
    HURRY,
    LEFT,
    MESSAGE_OVERHEAD,
    REQUEST,
    Foundation,
)
from tocsin.protocols.counter_token.messages import Hurry, Own, Request
from tocsin.protocols.counter_token.options import ADAPTIVE
from tocsin.protocols.counter_token.ring import ENTRY_MESSAGES_MAX, ENTRY_RANGES_MAX, Slot

ANSWER_MESSAGES_MAX: Final = 4096  # messages sent again for one request; what is left is asked for again
WAIT_MIN_US: Final = 100  # least adaptive wait: below a timer's precision in a live process


class Sending(Foundation):
    """Own broadcasts, received data, requests."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        super().__init__(setup, outbox)
        self._pool = 0  # bytes that this site took from the shared half of the window
        self._blocked_sites: list[SiteId] = []  # whose local flags are set
        self._overloaded = False  # the global flag
        self._window = self._options.window_min_bytes if self._window_bytes > 0 else 0
        self._incomplete: list[Slot] = []  # entries for this site with missing messages
        self._request_number: dict[SiteId, int] = {}  # by origin: requests sent for what is missing now
        self._highest: list[int] = [-1] * setup.sites  # by origin: the highest number received
        self._answered: dict[tuple[SiteId, SiteId], int] = {}  # (who, origin): the last request number dealt with
        self._losses = False  # something was asked for since the last turn
        request_us = self._options.request_us
        self._wait = Estimate(request_us // 4, WAIT_MIN_US, request_us)  # for what the token announces, where it adapts
        self._missing_since: dict[SiteId, Micros] = {}  # by origin, as in `_request_number`

    # Broadcasting

    def room(self) -> int:
        if self._leaving or self._status == LEFT:
            return 0
        return max(0, self._options.queue_messages - len(self._unsent))

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._numbers.take()
        self._records.persist(Own(group, seqno, payload))
        self._record_bytes += len(payload)
        self._own[seqno] = Data(group, self._site, seqno, payload)
        self._unsent.append(seqno)
        self._unsent_bytes += len(payload) + MESSAGE_OVERHEAD
        self._send_waiting(now)
        self._maybe_checkpoint()
        return seqno

    def _send_waiting(self, now: Micros) -> None:
        """Send own messages that nothing holds back any more."""
        if self._status != ACTIVE or not self._unsent or self._overloaded:
            return
        unsent = self._unsent
        kept: list[int] = []  # to groups that must wait
        place = 0
        while place < len(unsent):
            data = self._own[unsent[place]]
            cost = len(data.payload) + MESSAGE_OVERHEAD
            if self._is_blocked(data.group):
                kept.append(data.seqno)
            elif self._fits(cost):
                self._outstanding += cost
                self._unsent_bytes -= cost
                self._unannounced.append(data.seqno)
                self._send_data(data)
            else:
                break  # the window is used up
            place += 1
        if place == len(kept):
            return  # nothing was sent
        self._unsent = kept + unsent[place:]
        self._on_own_data(now)

    def _on_own_data(self, now: Micros) -> None:
        """Own messages wait to be announced; the circulation may hurry."""

    def _is_blocked(self, group: GroupId) -> bool:
        """Nobody of the group is here, or a member's buffer is nearly full."""
        destinations = self._ring.destinations[group]
        if not destinations:
            return True
        if self._blocked_sites:
            for site in self._blocked_sites:
                if site in destinations:
                    return True
        return False

    def _fits(self, cost: int) -> bool:
        if self._window == 0 or self._ring.size == 1:
            return True
        allowance = self._window // (2 * self._ring.size) + self._pool
        return self._outstanding == 0 or self._outstanding + cost <= allowance

    def _send_data(self, data: Data) -> None:
        targets = [site for site in self._ring.destinations[data.group] if site != self._site]
        if targets:
            self._outbox.multicast(targets, data)

    # Receiving

    def _on_data(self, now: Micros, data: Data) -> None:
        origin = data.origin
        group = data.group
        if self._status != ACTIVE and self._status != FROZEN:
            return
        if group >= len(self._groups) or origin not in self._ring.place_of or origin == self._site:
            self.stat_dropped += 1
            return
        held = self._held[origin]
        seqno = data.seqno
        if seqno < self._frontier[group][origin] or seqno in held or self._site not in self._groups[group]:
            return  # a copy
        cost = len(data.payload) + MESSAGE_OVERHEAD
        if self._held_bytes + cost > self._options.buffer_bytes + MESSAGE_OVERHEAD and not self._is_missing(data):
            return  # the buffer is full; it is asked for later
        held[seqno] = data
        self._held_bytes += cost
        if seqno > self._highest[origin]:
            self._highest[origin] = seqno
        if not self._incomplete or not self._fill(now, data):
            self._loose += 1
        self._on_work(now)

    def _on_work(self, now: Micros) -> None:
        """Something arrived that the token should know of; the owner may pass it on."""

    def _is_missing(self, data: Data) -> bool:
        wanted = [slot for slot in self._incomplete if slot.sender == data.origin and data.seqno in slot.missing]
        return len(wanted) > 0

    def _fill(self, now: Micros, data: Data) -> bool:
        """The message was missing in a known entry."""
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
        if found and not left:
            self._incomplete = [slot for slot in self._incomplete if slot.missing]
            self._outbox.cancel_timer(REQUEST, origin)
            self._learn_wait(now, origin)
            self._request_number.pop(origin, 0)
            self._on_repaired(now)
        return found

    def _on_repaired(self, now: Micros) -> None:
        """Nothing of an origin's announced messages is missing any more."""

    def _learn_wait(self, now: Micros, origin: SiteId) -> None:
        """Data that came by itself after the token: how long it took is how long to wait."""
        since = self._missing_since.pop(origin, now)
        if self._request_number.get(origin, 0) == 0:
            self._wait.note(2 * (now - since))

    # Requests

    def _note_entries(self, now: Micros, fresh: list[Slot]) -> None:
        """New entries: which of their messages are here?"""
        frontier = self._frontier
        for slot in fresh:
            if not slot.destination or slot.sender == self._site:
                continue
            held = self._held[slot.sender]
            for start, end in slot.numbers:
                for seqno in range(start, end):
                    if seqno not in held:
                        slot.missing.add(seqno)
            self._loose -= slot.count - len(slot.missing)
            if slot.numbers[0][0] < frontier[slot.group][slot.sender]:
                slot.missing.add(slot.numbers[0][0])  # announces what is committed: never to be counted
            if slot.missing:
                self._incomplete.append(slot)
                self._plan_request(now, slot)

    def _plan_request(self, now: Micros, slot: Slot) -> None:
        origin = slot.sender
        if origin in self._request_number:
            return  # the timer runs
        self._request_number[origin] = 0
        self._missing_since[origin] = now
        adaptive = self._request_wait_us == ADAPTIVE
        wait_us = self._wait.us if adaptive else self._request_wait_us
        if wait_us == 0 or (adaptive and self._highest[origin] > min(slot.missing)):
            self._send_request(now, origin)
        else:
            self._outbox.set_timer(REQUEST, origin, now + wait_us)

    def _send_request(self, now: Micros, origin: SiteId) -> None:
        """Ask for everything that is missing of an origin, and again later."""
        numbers = RangeSet()
        for slot in self._incomplete:
            if slot.sender == origin:
                for seqno in sorted(slot.missing):
                    numbers.add(seqno)
        if not numbers or self._status != ACTIVE:
            self._request_number.pop(origin, 0)
            return
        number = self._request_number.get(origin, 0)
        self._request_number[origin] = number + 1
        self._losses = True
        if self._single_requests:
            for seqno in numbers.values():
                self._multicast(Request(self._ring.view, origin, number, (seqno, 1)))  # Req of the paper
        else:
            self._multicast(Request(self._ring.view, origin, number, numbers.to_wire(ENTRY_RANGES_MAX)))
        self._outbox.set_timer(REQUEST, origin, now + (self._options.request_us << min(number, 3)))

    def _on_request(self, now: Micros, source: SiteId, request: Request) -> None:
        if self._status != ACTIVE or request.view != self._ring.view or source not in self._ring.place_of:
            return
        origin = request.origin
        try:
            numbers = rangeset_from_wire(request.ranges, ENTRY_RANGES_MAX)
        except DecodeError:
            self.stat_dropped += 1
            return
        if origin not in self._ring.place_of or numbers.count() > ENTRY_MESSAGES_MAX:
            self.stat_dropped += 1
            return
        if origin == self._site:
            self._answer_own(now, source, request.number, numbers)
        else:
            if self._is_substitute(source, origin, request.number):
                self._answer_held(origin, numbers)
            if not self._single_requests and self._request_number.get(origin, -1) >= 0:
                self._hush(now, origin, numbers)

    def _answer_own(self, now: Micros, source: SiteId, number: int, numbers: RangeSet) -> None:
        """The sender sends again, to all, what it has not just sent again."""
        single = self._single_requests
        if not single:
            if self._answered.get((source, self._site), -1) == number:
                return  # a copy of a request
            self._answered[(source, self._site)] = number
        sent = 0
        for seqno in numbers.values():
            data = self._own.get(seqno)
            if data is None or sent >= ANSWER_MESSAGES_MAX:
                continue
            since = now - self._resent_at.get(seqno, -1 << 60)
            if not single and since < self._wait.us:
                continue  # somebody else asked a moment ago
            self._resent_at[seqno] = now
            self._send_data(data)
            sent += 1

    def _is_substitute(self, source: SiteId, origin: SiteId, number: int) -> bool:
        """Whether it falls to this site to answer a repeated request in the sender's place."""
        if number == 0:
            return False
        others = [site for site in self._ring.members if site != source and site != origin]
        return len(others) > 0 and others[(number - 1) % len(others)] == self._site

    def _answer_held(self, origin: SiteId, numbers: RangeSet) -> None:
        held = self._held[origin]
        sent = 0
        for seqno in numbers.values():
            data = held.get(seqno)
            if data is not None and sent < ANSWER_MESSAGES_MAX:
                self._send_data(data)
                sent += 1

    def _hush(self, now: Micros, origin: SiteId, numbers: RangeSet) -> None:
        """Another asks for all that is missing here: its answer will come here too."""
        for slot in self._incomplete:
            if slot.sender == origin:
                for seqno in slot.missing:
                    if not numbers.contains(seqno):
                        return
        self._outbox.set_timer(REQUEST, origin, now + self._options.request_us)

    # Hurry

    def _send_hurry(self, now: Micros) -> None:
        """Ask the owner of an idle token for it."""
        ring = self._ring
        hurry = Hurry(ring.view, ring.turn)
        if self._options.token_to == "all":
            self._outbox.send(ring.owner(), hurry)
        else:
            self._multicast(hurry)  # where the token is, is not known
        self._outbox.set_timer(HURRY, 0, now + self._options.reissue_us)
