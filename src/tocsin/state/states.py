"""What a replicated state is: the class that an application writes."""

from typing import NamedTuple, Protocol, runtime_checkable


class State(Protocol):
    """Every member has one, and applies the same commands to it in the same order. So it may look at nothing but its
    commands: no clock, no random, no file, no order of a set."""

    def apply(self, command: bytes, /) -> bytes:
        """Change, and answer. An exception is an answer, too, raised where the call was made; what was changed before
        it stays changed, everywhere alike."""

    def snapshot(self) -> bytes:
        """All of it, canonical: equal states, equal bytes."""

    def restore(self, snapshot: bytes, /) -> None:
        """Become the state of a snapshot, whatever was before."""


class Caller(NamedTuple):
    """Who gave a command, as the order says it."""

    site: str
    life: int  # of the site: grows at every start, and whenever it was given up for gone
    position: int  # of the command
    sent_us: int  # the caller's clock: for the people who read it, never for deciding who came first


@runtime_checkable
class LivesState(Protocol):
    """A state that also knows who calls, and whose lives end: locks, leaders, queues."""

    def apply_from(self, command: bytes, caller: Caller, /) -> bytes:
        """In place of `apply`."""

    def on_gone(self, site: str, life: int, position: int, /) -> None:
        """This life of the site has ended, by an entry in the order: whatever it held is free."""

    def snapshot(self) -> bytes: ...

    def restore(self, snapshot: bytes, /) -> None: ...


AnyState = State | LivesState
