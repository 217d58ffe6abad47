"""A queue of items, as every member has it: each is with one taker, until the taker is done with it or its life ends;
then it goes back, before younger ones."""

from bisect import insort
from typing import Any, NamedTuple

from tocsin.core.errors import InputError
from tocsin.state.recipes.listeners import Listeners
from tocsin.state.states import Caller


class Taken(NamedTuple):
    site: str
    life: int
    ticket: int  # of the call that takes it, as of locks


class QueueState:
    """Told to listeners: that somebody was given an item, or waits no longer."""

    def __init__(self) -> None:
        self.items: dict[int, bytes] = {}  # all that nobody is done with, by the position at which they were put
        self.free: list[int] = []  # those that nobody has, oldest first
        self.taken: dict[int, Taken] = {}  # those that somebody has
        self.waiting: list[Taken] = []  # who waits for one, in order; there are none free then
        self.listeners: Listeners[None] = Listeners()

    def apply(self, operation: str, arguments: list[Any], caller: Caller) -> object:
        if operation == "put":
            [content] = arguments
            if not isinstance(content, bytes):
                raise InputError("queue: expected bytes as an item")
            self.items[caller.position] = content
            self.free.append(caller.position)
            self._match()
            return caller.position
        if operation == "take":
            ticket = arguments[0] if arguments else caller.position
            self.waiting.append(Taken(caller.site, caller.life, ticket))
            self._match()
            return ticket
        if operation == "done":
            item, ticket = arguments
            if self.taken.get(item) != Taken(caller.site, caller.life, ticket):
                return False  # it went back meanwhile, and may be another's
            del self.taken[item]
            del self.items[item]
            return True
        if operation == "give_up":  # wait no longer; what came meanwhile goes back
            [ticket] = arguments
            self._end(lambda taken: taken.site == caller.site and taken.ticket == ticket)
            return None
        raise InputError(f"queue: no operation `{operation}`")

    def on_gone(self, site: str, life: int) -> None:
        self._end(lambda taken: taken.site == site and taken.life <= life)

    def _end(self, ends: Any) -> None:
        for item in [item for item, taken in self.taken.items() if ends(taken)]:
            del self.taken[item]
            insort(self.free, item)
        self.waiting = [taken for taken in self.waiting if not ends(taken)]
        self._match()
        self.listeners.tell(None)

    def _match(self) -> None:
        matched = 0
        while self.waiting and self.free:
            self.taken[self.free.pop(0)] = self.waiting.pop(0)
            matched += 1
        if matched:
            self.listeners.tell(None)

    def given(self, ticket: int) -> int | None:
        """The item that this call of `take` was given."""
        return next((item for item, taken in self.taken.items() if taken.ticket == ticket), None)

    def knows(self, ticket: int) -> bool:
        return any(taken.ticket == ticket for taken in [*self.waiting, *self.taken.values()])

    def rows(self) -> object:
        return (sorted(self.items.items()), sorted(self.taken.items()), self.waiting)

    def restore(self, rows: Any) -> None:
        self.items = dict(rows[0])
        self.taken = {item: Taken(*taken) for item, taken in rows[1]}
        self.free = sorted(self.items.keys() - self.taken.keys())
        self.waiting = [Taken(*taken) for taken in rows[2]]
        self.listeners.tell(None)
