"""A map that all members share."""

import asyncio
from collections import deque
from typing import Final, Self

from tocsin.core.errors import InputError
from tocsin.live.errors import Closed
from tocsin.state.recipes.map_state import MapState
from tocsin.state.recipes.objects import Objects
from tocsin.state.recipes.using import Using
from tocsin.state.replica import Replica

WATCHED_MAX: Final = 100_000  # changes that wait for who watches


class Map:
    """Keys and values are bytes."""

    def __init__(self, replica: Replica[Objects], name: str) -> None:
        self._using = Using(replica, "map", name)
        state = replica.state.get("map", name)
        assert isinstance(state, MapState)
        self._state = state

    def get(self, key: bytes) -> bytes | None:
        """As it is here: at least as new as this member's own calls; another's may still be on the way."""
        return self._state.values.get(key)

    async def get_synced(self, key: bytes, timeout: float | None = None) -> bytes | None:
        """As new as every call that was completed before this one, at any member."""
        await self._using.replica.sync(timeout)
        return self.get(key)

    async def set(self, key: bytes, value: bytes, timeout: float | None = None) -> None:
        await self._using.call("set", key, value, timeout=timeout)

    async def delete(self, key: bytes, timeout: float | None = None) -> bool:
        """Whether it was there."""
        return bool(await self._using.call("delete", key, timeout=timeout))

    async def compare_and_set(
        self, key: bytes, old: bytes | None, new: bytes | None, timeout: float | None = None
    ) -> bool:
        """Set if the value is still the old one; None: not there. Whether it was."""
        return bool(await self._using.call("compare_and_set", key, old, new, timeout=timeout))

    def items(self) -> list[tuple[bytes, bytes]]:
        """As they are here, sorted."""
        return sorted(self._state.values.items())

    def watch(self) -> "Watch":
        """Changes from now on, in order: `async for key, value in map.watch()`; None: deleted."""
        return Watch(self._using.replica, self._state)


class Watch:
    """See `Map.watch`. Ends by `close` and with the replica; with an error, if who watches has fallen behind by
    `WATCHED_MAX` changes, or the replica has failed."""

    def __init__(self, replica: Replica[Objects], state: MapState) -> None:
        self._replica = replica
        self._state = state
        self._changes: deque[tuple[bytes, bytes | None]] = deque()
        self._told: asyncio.Future[None] | None = None  # of who waits
        self._is_open = True
        self._fell_behind = False
        state.listeners.add(self._on_change)

    def _on_change(self, change: tuple[bytes, bytes | None]) -> None:
        self._changes.append(change)
        if len(self._changes) > WATCHED_MAX:
            self._fell_behind = True
            self.close()
        self._wake()

    def _wake(self) -> None:
        if self._told is not None and not self._told.done():
            self._told.set_result(None)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._state.listeners.remove(self._on_change)
            self._wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[bytes, bytes | None]:
        while not self._changes and self._is_open:
            self._told = asyncio.get_running_loop().create_future()
            try:
                await self._replica.wait(self._told)
            except Closed:
                self.close()
            finally:
                self._told = None
        if self._fell_behind:
            raise InputError(f"watch: fell behind by more than {WATCHED_MAX} changes; look at the map and watch again")
        if not self._changes:
            raise StopAsyncIteration
        return self._changes.popleft()
