"""The client for asyncio: the same calls, made by threads, so that no loop waits for a door."""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import pyarrow as pa

from tocsin.door.client import TIMEOUT_SECONDS, After, Client, Until

THREADS_MAX: Final = 32  # of a client: calls that wait at the same time, a follower among them as long as it follows

Answer = TypeVar("Answer")


class AsyncClient:
    """See `tocsin.aconnect`."""

    def __init__(
        self, urls: str | list[str], token: str | None, fingerprint: str | None, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        self._client = Client(urls, token, fingerprint, timeout)
        self._threads = ThreadPoolExecutor(THREADS_MAX, thread_name_prefix="tocsin-door-async")

    def __await__(self) -> Generator[Any, None, Self]:
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._call(self._client.close)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def publish(
        self,
        messages: Iterable[bytes],
        group: str | None = None,
        producer: str | None = None,
        number: int | None = None,
        until: Until = "ordered",
    ) -> list[int]:
        """As `Client.publish`. Cancelled, what was sent may be delivered."""
        return await self._call(lambda: self._client.publish(messages, group, producer, number, until))

    async def read(
        self,
        group: str | None = None,
        after: After = "start",
        limit: int | None = None,
        follow: bool = False,
        consumer: str | None = None,
    ) -> AsyncIterator[pa.RecordBatch]:
        """As `Client.read`: `async for batch in client.read()`."""
        batches = self._client.read(group, after, limit, follow, consumer)
        try:
            while (batch := await self._call(lambda: _next(batches))) is not None:
                yield batch
        finally:
            self._threads.submit(_end, batches)

    async def ack(self, consumer: str, position: int, group: str | None = None) -> None:
        """As `Client.ack`."""
        await self._call(lambda: self._client.ack(consumer, position, group))

    async def groups(self) -> list[dict[str, Any]]:
        return await self._call(self._client.groups)

    async def status(self) -> dict[str, Any]:
        return await self._call(self._client.status)

    async def consumers(self, group: str | None = None) -> dict[str, int]:
        return await self._call(lambda: self._client.consumers(group))

    async def forget(self, consumer: str, group: str | None = None) -> None:
        await self._call(lambda: self._client.forget(consumer, group))

    async def last_number(self, producer: str, group: str | None = None) -> int:
        return await self._call(lambda: self._client.last_number(producer, group))

    async def _call(self, call: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)


def _next(batches: Iterator[Any]) -> Any:
    return next(batches, None)


def _end(batches: Any) -> None:
    batches.close()
