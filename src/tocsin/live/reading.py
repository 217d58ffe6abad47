"""The application takes what its member hears: one reader at a time, and whatever a reader has not taken, because it
broke out of its loop or was cancelled, waits for the next one."""

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Self, TypeVar

from tocsin.core.errors import InputError
from tocsin.live.consuming import Consuming
from tocsin.live.events import Batch, BatchEvent, Delivery, Event
from tocsin.live.incoming import Incoming

Answer = TypeVar("Answer")


class Reading:
    """One member's. `on_taken` lets a member go on that stood still for a slow application; `has_ended` says whether it
    has stopped, or raises what ended it."""

    def __init__(
        self, incoming: Incoming, consuming: Consuming, on_taken: Callable[[], None], has_ended: Callable[[], bool]
    ) -> None:
        self._incoming = incoming
        self._consuming = consuming
        self._on_taken = on_taken
        self._has_ended = has_ended
        self._waits = False  # a reader waits for something to come
        self._events: deque[BatchEvent] = deque()  # out of the backlog, not yet taken
        self._deliveries: deque[Delivery] = deque()  # of a batch that was taken in part; before `_events`

    async def next_batch(self) -> BatchEvent | None:
        """The next event, deliveries as a batch; None when the member has left."""
        if self._deliveries:
            first = self._deliveries[0]
            payloads = [each.payload for each in self._deliveries]
            rest = Batch(first.group, first.origin, first.seqno, first.position, first.time_us, payloads)
            self._consuming.hand(rest)
            self._deliveries.clear()
            return rest
        if not await self._fill():
            return None
        self._consuming.hand(self._events[0])
        return self._events.popleft()

    async def next_event(self) -> Event | None:
        """The next event, deliveries one by one; None when the member has left."""
        while not self._deliveries:
            if not await self._fill():
                return None
            event = self._events[0]
            if not isinstance(event, Batch):
                self._consuming.hand(event)
                return self._events.popleft()  # type: ignore[return-value]  # it is that one
            self._deliveries.extend(event.deliveries())
            self._events.popleft()
        self._consuming.hand(self._deliveries[0])
        return self._deliveries.popleft()

    async def _fill(self) -> bool:
        """Wait until there is an event to take; False when the member has left. What was heard before it was opened
        comes first."""
        while not self._events:
            if self._consuming.replays and not self._has_ended():
                self._events.extend(await self._alone(self._consuming.more))
                self._incoming.backlog.must_not_hold = self._consuming.replays
            elif len(self._incoming.backlog):
                self._events.extend(self._incoming.take())
                self._on_taken()
            elif self._has_ended():
                return False
            else:
                await self._alone(self._incoming.backlog.wait)
        return True

    async def _alone(self, wait: Callable[[], Awaitable[Answer]]) -> Answer:
        if self._waits:
            raise InputError("events: expected one reader at a time, found a second; let one read for both")
        self._waits = True
        try:
            return await wait()
        finally:
            self._waits = False


class Batches(AsyncIterator[BatchEvent]):
    """`async for event in member.batches()`."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> BatchEvent:
        event = await self._reading.next_batch()
        if event is None:
            raise StopAsyncIteration
        return event


class Events(AsyncIterator[Event]):
    """`async for event in member`."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        event = await self._reading.next_event()
        if event is None:
            raise StopAsyncIteration
        return event
