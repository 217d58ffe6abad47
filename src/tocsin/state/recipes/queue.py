"""A queue among all members: each item goes to one taker; what a taker was not done with when its life ended goes
back."""

from tocsin.live.errors import NotSupported
from tocsin.state.recipes.objects import Objects
from tocsin.state.recipes.queue_state import QueueState
from tocsin.state.recipes.using import Using, new_ticket
from tocsin.state.replica import Replica


class Queue:
    """Items are bytes."""

    def __init__(self, replica: Replica[Objects], name: str) -> None:
        protocol = replica.member.group.protocol
        if not protocol.has_views:
            raise NotSupported(f"queue: {protocol.name} does not say who has gone; see counter_token")
        self._using = Using(replica, "queue", name)
        state = replica.state.get("queue", name)
        assert isinstance(state, QueueState)
        self._state = state

    def __len__(self) -> int:
        """Items that nobody is done with, as far as it is known here."""
        return len(self._state.items)

    async def put(self, item: bytes, timeout: float | None = None) -> None:
        await self._using.call("put", item, timeout=timeout)

    async def take(self, timeout: float | None = None) -> "Item":
        """Wait for the next item; it is ours until it is done, or our life ends."""
        tickets = [new_ticket()]
        try:
            async with self._using.replica.bounded(timeout, f"an item of the queue `{self._using.name}`"):
                return await self._take(tickets)
        except BaseException:
            self._using.call_later("give_up", tickets[-1])
            raise

    async def _take(self, tickets: list[int]) -> "Item":
        state = self._state
        while True:
            ticket = tickets[-1]
            await self._using.call("take", ticket)
            await self._using.until(
                state.listeners, lambda: state.given(tickets[-1]) is not None or not state.knows(tickets[-1])
            )
            item = state.given(ticket)
            if item is not None:
                return Item(self._using, item, ticket, state.items[item])
            tickets.append(new_ticket())  # the life in which it was asked for has ended: ask in this one


class Item:
    """See `Queue.take`."""

    def __init__(self, using: Using, item: int, ticket: int, content: bytes) -> None:
        self.content = content
        self._using = using
        self._item = item
        self._ticket = ticket

    async def done(self, timeout: float | None = None) -> bool:
        """The item is done with, for ever. False: it went back before, and is another's."""
        return bool(await self._using.call("done", self._item, self._ticket, timeout=timeout))
