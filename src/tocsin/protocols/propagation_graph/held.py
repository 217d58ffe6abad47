"""Messages of graphs that are not yet open here wait until they are (section 5.1)."""

from typing import Final

from tocsin.core.machine import SiteId
from tocsin.core.message import Message

HELD_MAX: Final = 1_024  # messages; more are dropped, and asked for later


class Held:
    """In the order in which they came."""

    def __init__(self) -> None:
        self._messages: list[tuple[SiteId, Message]] = []  # sender and message

    def is_empty(self) -> bool:
        return not self._messages

    def put(self, source: SiteId, message: Message) -> None:
        if len(self._messages) < HELD_MAX:
            self._messages.append((source, message))

    def take_all(self) -> list[tuple[SiteId, Message]]:
        """All of them; whoever is still too early is to be put back."""
        taken = self._messages
        self._messages = []
        return taken
