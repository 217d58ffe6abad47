"""The application takes what its member hears: one reader at a time, and whatever a reader has not taken, because it
broke out of its loop or was cancelled, waits for the next one."""

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Self, TypeVar

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
        self._reader: weakref.ref[Batches | Events] | None = None  # who took the last event …
        self._task: weakref.ref[asyncio.Task[Any]] | None = None  # … and in which task
        self._events: deque[BatchEvent] = deque()  # out of the backlog, not yet taken
        self._deliveries: deque[Delivery] = deque()  # of a batch that was taken in part; before `_events`

    def claim(self, reader: "Batches | Events") -> None:
        """This reader takes the next event. A loop that another task is still in has the events: it would lose those
        that are taken here."""
        other = None if self._reader is None else self._reader()
        task = asyncio.current_task()
        if other is not None and other is not reader:
            its = None if self._task is None else self._task()
            if its is not None and its is not task and not its.done():
                raise _second_reader()
        if other is not reader:
            self._reader = weakref.ref(reader)
        self._task = None if task is None else weakref.ref(task)

    async def next_batch(self) -> BatchEvent | None:
        """The next event, deliveries as a batch; None when the member has left."""
        if self._deliveries:
            rest = _joined(list(self._deliveries))
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
            raise _second_reader()
        self._waits = True
        try:
            return await wait()
        finally:
            self._waits = False


def _second_reader() -> InputError:
    return InputError("events: expected one reader at a time, found a second; let one read for both")


def _joined(deliveries: list[Delivery]) -> Batch:
    """Deliveries of one batch, as one again."""
    first = deliveries[0]
    numbered = tuple(
        None if each.producer is None or each.number is None else (each.producer, each.number) for each in deliveries
    )
    return Batch(
        first.group,
        first.origin,
        first.seqno,
        first.position,
        first.time_us,
        [each.payload for each in deliveries],
        first.sent_us,
        numbered if any(numbered) else None,
    )


class Batches(AsyncIterator[BatchEvent]):
    """`async for event in member.batches()`."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> BatchEvent:
        self._reading.claim(self)
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
        self._reading.claim(self)
        event = await self._reading.next_event()
        if event is None:
            raise StopAsyncIteration
        return event
