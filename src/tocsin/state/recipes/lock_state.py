"""A lock, as every member has it: one holder, a queue, and a token that grows with every holder, for ever.

A hold belongs to a life of a site. It ends when it is released, or by an entry of the order that says that this life
has ended; never by a clock. Who was cut off may still believe to be the holder: whatever the lock guards must refuse
tokens that are smaller than the largest it has seen.
"""

from collections import deque
from typing import Any, NamedTuple

from tocsin.core.errors import InputError
from tocsin.state.recipes.listeners import Listeners
from tocsin.state.states import Caller


class Claim(NamedTuple):
    """One call of `acquire`."""

    site: str
    life: int
    ticket: (
        int  # as its caller called it, so that it can also end a call whose answer it never got; no two are the same
    )


class LockState:
    """Told to listeners: that who holds, or who waits, has changed."""

    def __init__(self) -> None:
        self.holder: Claim | None = None
        self.token = 0  # of the last holder
        self.waiting: deque[Claim] = deque()
        self.listeners: Listeners[None] = Listeners()

    def apply(self, operation: str, arguments: list[Any], caller: Caller) -> object:
        if operation == "acquire":
            claim = Claim(caller.site, caller.life, arguments[0] if arguments else caller.position)
            self.waiting.append(claim)
            self._maybe_grant()
            return claim.ticket
        if operation == "release":  # of a hold, or of a place in the queue
            [ticket] = arguments
            return self._end(lambda claim: claim.site == caller.site and claim.ticket == ticket)
        raise InputError(f"lock: no operation `{operation}`")

    def on_gone(self, site: str, life: int) -> None:
        self._end(lambda claim: claim.site == site and claim.life <= life)

    def _end(self, ends: Any) -> bool:
        """Whether there was something to end."""
        before = (self.holder, len(self.waiting))
        if self.holder is not None and ends(self.holder):
            self.holder = None
        self.waiting = deque(claim for claim in self.waiting if not ends(claim))
        changed = before != (self.holder, len(self.waiting))
        self._maybe_grant()
        if changed:
            self.listeners.tell(None)
        return changed

    def _maybe_grant(self) -> None:
        if self.holder is None and self.waiting:
            self.holder = self.waiting.popleft()
            self.token += 1
            self.listeners.tell(None)

    def knows(self, ticket: int) -> bool:
        """Whether this claim holds or waits."""
        return self.holds(ticket) or any(claim.ticket == ticket for claim in self.waiting)

    def holds(self, ticket: int) -> bool:
        return self.holder is not None and self.holder.ticket == ticket

    def rows(self) -> object:
        return (self.token, self.holder, list(self.waiting))

    def restore(self, rows: Any) -> None:
        self.token = rows[0]
        self.holder = None if rows[1] is None else Claim(*rows[1])
        self.waiting = deque(Claim(*claim) for claim in rows[2])
        self.listeners.tell(None)
