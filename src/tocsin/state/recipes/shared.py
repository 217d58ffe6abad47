"""Any number of named objects that the members of a group share, in one replica."""

from pathlib import Path
from types import TracebackType
from typing import Self

from tocsin.live.group_config import Group
from tocsin.state.recipes.counter import Counter
from tocsin.state.recipes.lock import Leader, Lock
from tocsin.state.recipes.map import Map
from tocsin.state.recipes.objects import Objects
from tocsin.state.recipes.queue import Queue
from tocsin.state.replica import SNAPSHOT_EVERY, Replica, replicate


def open_shared(group: str | Path | Group, site: str, *, snapshot_every: int = SNAPSHOT_EVERY) -> "Shared":
    """What the members of the group in this file share, at this site; to be used by `async with`."""
    return Shared(replicate(group, site, Objects(), snapshot_every=snapshot_every))


class Shared:
    """Objects come into being by their names."""

    def __init__(self, replica: Replica[Objects]) -> None:
        self.replica = replica

    async def __aenter__(self) -> Self:
        await self.replica.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.replica.__aexit__(kind, error, trace)

    def map(self, name: str) -> Map:
        return Map(self.replica, name)

    def lock(self, name: str) -> Lock:
        return Lock(self.replica, name)

    def leader(self, name: str) -> Leader:
        return Leader(self.replica, name)

    def queue(self, name: str) -> Queue:
        return Queue(self.replica, name)

    def counter(self, name: str) -> Counter:
        return Counter(self.replica, name)
