"""What is on its way between sites, by number: an explored state then holds a few small integers."""

from typing import Final

from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Message
from tocsin.sim import manual_site
from tocsin.sim.manual_site import Input

MESSAGE: Final = 0  # what a flight is: a message, …
DOWN: Final = 1  # … or word of the perfect detector
UP: Final = 2


class Flight:
    """One thing on its way."""

    def __init__(self, what: int, source: SiteId, target: SiteId, message: Message | None) -> None:
        self.what = what
        self.source = source
        self.target = target
        self.message = message  # None: word of the detector

    def arrival(self, now: Micros) -> Input:
        """What it is to its target."""
        kind = manual_site.RECEIVE
        if self.what != MESSAGE:
            kind = manual_site.PEER_DOWN if self.what == DOWN else manual_site.PEER_UP
        happening = Input(kind, now)
        happening.peer = self.source
        happening.message = self.message
        return happening


class Flights:
    """All flights met so far; equal ones have one number."""

    def __init__(self) -> None:
        self.all: list[Flight] = []
        self._numbers: dict[tuple[int, SiteId, SiteId, Message | None], int] = {}

    def number(self, what: int, source: SiteId, target: SiteId, message: Message | None) -> int:
        identity = (what, source, target, message)
        number = self._numbers.get(identity, -1)
        if number < 0:
            number = len(self.all)
            self._numbers[identity] = number
            self.all.append(Flight(what, source, target, message))
        return number
