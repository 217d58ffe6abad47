"""A lock among all members, and a leader: who holds the lock of that name leads.

There are no leases. A hold ends by `release`, or by an entry of the order that says that the holder's life has ended:
it crashed, was restarted (however quickly), or was cut off and the others went on. Who was cut off or paused may go on
believing that it holds, until it hears of its end: so give the token to whatever the lock guards, and let that refuse a
token that is smaller than one it has seen.
"""

from types import TracebackType

from tocsin.live.errors import Closed, NotSupported
from tocsin.state.recipes.lock_state import LockState
from tocsin.state.recipes.objects import Objects
from tocsin.state.recipes.using import Using, new_ticket
from tocsin.state.replica import Replica


class Lock:
    """One at a time; in the order in which they asked. An object stands for one hold: make another for another task."""

    def __init__(self, replica: Replica[Objects], name: str, kind: str = "lock") -> None:
        protocol = replica.member.group.protocol
        if not protocol.has_views:
            raise NotSupported(f"{kind}: {protocol.name} does not say who has gone; see counter_token")
        self._using = Using(replica, kind, name)
        state = replica.state.get(kind, name)
        assert isinstance(state, LockState)
        self._state = state
        self._ticket = -1  # of the hold, or of the wait for it
        self._acquiring = False

    @property
    def is_held(self) -> bool:
        """Whether this object holds the lock, as far as it is known here."""
        return self._state.holds(self._ticket)

    async def acquire(self, timeout: float | None = None) -> int:
        """Wait for the lock; its token, which is larger than any before, for ever."""
        if self._acquiring or self._state.knows(self._ticket):
            raise Closed(f"lock `{self._using.name}`: this object waits for it or holds it already")
        self._ticket, self._acquiring = new_ticket(), True
        try:
            async with self._using.replica.bounded(timeout, f"the lock `{self._using.name}`"):
                return await self._acquire()
        except BaseException:
            self._using.call_later("release", self._ticket)
            self._ticket = -1
            raise
        finally:
            self._acquiring = False

    async def _acquire(self) -> int:
        while True:
            await self._using.call("acquire", self._ticket)
            await self._using.until(self._state.listeners, lambda: self.is_held or not self._state.knows(self._ticket))
            if self.is_held:
                return self._state.token
            self._ticket = new_ticket()  # the life in which it was asked for has ended: ask in this one

    async def release(self, timeout: float | None = None) -> None:
        """Let go; nothing if it was lost before."""
        ticket, self._ticket = self._ticket, -1
        await self._using.call("release", ticket, timeout=timeout)

    async def __aenter__(self) -> int:
        return await self.acquire()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.release()


class Leader(Lock):
    """`async with leader as token:` waits until this member leads."""

    def __init__(self, replica: Replica[Objects], name: str) -> None:
        super().__init__(replica, name, "leader")
        state = replica.state.get("leader", name)
        assert isinstance(state, LockState)
        self._leadership = state

    @property
    def current(self) -> str | None:
        """The site that leads, as far as it is known here."""
        return None if self._leadership.holder is None else self._leadership.holder.site
