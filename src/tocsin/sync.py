"""The same without async: for scripts, notebooks and threads. One loop in the background serves all.

with tocsin.sync.join("orders.toml", "a") as member:
    member.broadcast(b"hello").ordered()
    for event in member:
        ...
"""

import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace, TracebackType
from typing import Any, Generic, Self

from tocsin.core.errors import InputError
from tocsin.live import member as live
from tocsin.live.backlog import Slow
from tocsin.live.consuming import After
from tocsin.live.events import Event
from tocsin.live.joining import join as live_join
from tocsin.live.receipts import Receipt as LiveReceipt
from tocsin.state import replica as replicas
from tocsin.state.background import in_background
from tocsin.state.recipes import counter, lock, queue, shared
from tocsin.state.recipes import map as maps
from tocsin.state.replica import SNAPSHOT_EVERY, StateKind

Ended = type[BaseException] | None


class Receipt:
    """What becomes of a broadcast."""

    def __init__(self, receipt: LiveReceipt) -> None:
        self._receipt = receipt

    @property
    def seqno(self) -> int | None:
        return self._receipt.seqno

    def ordered(self, timeout: float | None = None) -> int:
        return in_background(self._receipt.ordered(timeout))

    def durable(self, timeout: float | None = None) -> int:
        return in_background(self._receipt.durable(timeout))


class Member:
    """See `tocsin.Member`."""

    def __init__(self, member: live.Member) -> None:
        self._member = member
        self.name = member.name
        self._reader: tuple[weakref.ref[Any], threading.Thread] | None = None  # who took the last event

    def __enter__(self) -> Self:
        in_background(self._member.__aenter__())
        return self

    def __exit__(self, kind: Ended, error: BaseException | None, trace: TracebackType | None) -> None:
        in_background(self._member.__aexit__(kind, error, trace))

    def ready(self, seconds: float = 10.0) -> None:
        in_background(self._member.ready(seconds))

    def broadcast(
        self, payload: bytes, group: str | None = None, producer: str | None = None, number: int | None = None
    ) -> Receipt:
        return Receipt(in_background(self._member.broadcast(payload, group, producer, number)))

    def ack(self, event: Event) -> None:
        """The consumer is done with this event and all before it; that is durable here when this returns."""
        in_background(self._member.ack(event))

    def __iter__(self) -> Iterator[Event]:
        """Ends when the member has left; what is not taken waits for the next loop."""
        events = self._member.__aiter__()
        self._claim(events)

        async def take() -> Event | None:
            return await anext(events, None)

        while (event := in_background(take())) is not None:
            yield event

    def _claim(self, events: Any) -> None:
        """One thread reads at a time, from the first event that it takes until it has left its loop."""
        if self._reader is not None:
            reader, thread = self._reader
            if reader() is not None and thread.is_alive() and thread is not threading.current_thread():
                raise InputError("events: expected one reader at a time, found a second; let one read for both")
        self._reader = (weakref.ref(events), threading.current_thread())


class Replica(Generic[StateKind]):
    """See `tocsin.replicate`. The state belongs to the background: look at it, and change nothing."""

    def __init__(self, replica: replicas.Replica[StateKind]) -> None:
        self._replica = replica
        self.state = replica.state

    def __enter__(self) -> Self:
        in_background(self._replica.__aenter__())
        return self

    def __exit__(self, kind: Ended, error: BaseException | None, trace: TracebackType | None) -> None:
        in_background(self._replica.__aexit__(kind, error, trace))

    @property
    def position(self) -> int:
        return self._replica.position

    def call(self, command: bytes, timeout: float | None = None) -> bytes:
        return in_background(self._replica.call(command, timeout))

    def sync(self, timeout: float | None = None) -> None:
        in_background(self._replica.sync(timeout))


class Map:
    def __init__(self, inner: maps.Map) -> None:
        self._inner = inner

    def get(self, key: bytes) -> bytes | None:
        return self._inner.get(key)

    def get_synced(self, key: bytes, timeout: float | None = None) -> bytes | None:
        return in_background(self._inner.get_synced(key, timeout))

    def set(self, key: bytes, value: bytes, timeout: float | None = None) -> None:
        in_background(self._inner.set(key, value, timeout))

    def delete(self, key: bytes, timeout: float | None = None) -> bool:
        return in_background(self._inner.delete(key, timeout))

    def compare_and_set(self, key: bytes, old: bytes | None, new: bytes | None, timeout: float | None = None) -> bool:
        return in_background(self._inner.compare_and_set(key, old, new, timeout))

    def watch(self) -> Iterator[tuple[bytes, bytes | None]]:
        """Changes from now on, in order; ends with the replica."""

        async def begin() -> maps.Watch:
            return self._inner.watch()

        return _changes(in_background(begin()))


def _changes(watch: maps.Watch) -> Iterator[tuple[bytes, bytes | None]]:
    async def take() -> tuple[bytes, bytes | None] | None:
        return await anext(watch, None)

    async def close() -> None:
        watch.close()

    try:
        while (change := in_background(take())) is not None:
            yield change
    finally:
        in_background(close())


class Lock:
    def __init__(self, inner: lock.Lock) -> None:
        self._inner = inner

    @property
    def is_held(self) -> bool:
        return self._inner.is_held

    def acquire(self, timeout: float | None = None) -> int:
        return in_background(self._inner.acquire(timeout))

    def release(self, timeout: float | None = None) -> None:
        in_background(self._inner.release(timeout))

    def __enter__(self) -> int:
        return self.acquire()

    def __exit__(self, kind: Ended, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()


class Leader(Lock):
    def __init__(self, leader: lock.Leader) -> None:
        super().__init__(leader)
        self._leader = leader

    @property
    def current(self) -> str | None:
        return self._leader.current


class Item:
    def __init__(self, inner: queue.Item) -> None:
        self._inner = inner
        self.content = inner.content

    def done(self, timeout: float | None = None) -> bool:
        return in_background(self._inner.done(timeout))


class Queue:
    def __init__(self, inner: queue.Queue) -> None:
        self._inner = inner

    def put(self, item: bytes, timeout: float | None = None) -> None:
        in_background(self._inner.put(item, timeout))

    def take(self, timeout: float | None = None) -> Item:
        return Item(in_background(self._inner.take(timeout)))


class Counter:
    def __init__(self, inner: counter.Counter) -> None:
        self._inner = inner

    @property
    def value(self) -> int:
        return self._inner.value

    def add(self, amount: int = 1, timeout: float | None = None) -> int:
        return in_background(self._inner.add(amount, timeout))


class Shared:
    """See `tocsin.recipes`."""

    def __init__(self, inner: shared.Shared) -> None:
        self._inner = inner

    def __enter__(self) -> Self:
        in_background(self._inner.__aenter__())
        return self

    def __exit__(self, kind: Ended, error: BaseException | None, trace: TracebackType | None) -> None:
        in_background(self._inner.__aexit__(kind, error, trace))

    def map(self, name: str) -> Map:
        return Map(self._inner.map(name))

    def lock(self, name: str) -> Lock:
        return Lock(self._inner.lock(name))

    def leader(self, name: str) -> Leader:
        return Leader(self._inner.leader(name))

    def queue(self, name: str) -> Queue:
        return Queue(self._inner.queue(name))

    def counter(self, name: str) -> Counter:
        return Counter(self._inner.counter(name))


def join(
    group: str | Path,
    site: str,
    *,
    consumer: str | None = None,
    after: After = None,
    slow: Slow = "block",
    inject: str = "",
) -> Member:
    """See `tocsin.join`; to be used by `with`."""
    return Member(live_join(group, site, consumer=consumer, after=after, slow=slow, inject=inject))


def replicate(
    group: str | Path, site: str, state: StateKind, *, snapshot_every: int = SNAPSHOT_EVERY
) -> Replica[StateKind]:
    """See `tocsin.replicate`; to be used by `with`."""
    return Replica(replicas.replicate(group, site, state, snapshot_every=snapshot_every))


def _open(group: str | Path, site: str, *, snapshot_every: int = SNAPSHOT_EVERY) -> Shared:
    """See `tocsin.recipes.open`; to be used by `with`."""
    return Shared(shared.open_shared(group, site, snapshot_every=snapshot_every))


recipes = SimpleNamespace(open=_open)

__all__ = ["join", "recipes", "replicate"]
