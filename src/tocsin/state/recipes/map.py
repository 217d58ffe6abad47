"""A map that all members share."""

import asyncio
from typing import Final, Self

from tocsin.core.errors import InputError
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
        return Watch(self._state)


class Watch:
    """See `Map.watch`. Ends by `close`, or when who watches has fallen behind by `WATCHED_MAX` changes."""

    def __init__(self, state: MapState) -> None:
        self._state = state
        self._changes: asyncio.Queue[tuple[bytes, bytes | None] | None] = asyncio.Queue()
        self._is_open = True
        state.listeners.add(self._on_change)

    def _on_change(self, change: tuple[bytes, bytes | None]) -> None:
        self._changes.put_nowait(change)
        if self._changes.qsize() > WATCHED_MAX:
            self.close()

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._state.listeners.remove(self._on_change)
            self._changes.put_nowait(None)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[bytes, bytes | None]:
        change = await self._changes.get()
        if change is not None:
            return change
        if self._changes.empty() and not self._is_open:
            raise StopAsyncIteration
        raise InputError(f"watch: fell behind by more than {WATCHED_MAX} changes; look at the map and watch again")
