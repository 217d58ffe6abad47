"""The smallest machine: it answers each message by one to a random site. The kernel's benchmark, and an example."""

from tocsin.core.machine import GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.rng import Rng
from tocsin.sim.echo.messages import Ball


class Echo(Machine):
    """Every site throws one ball at the start; whoever catches a ball throws it on."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._rng: Rng = setup.rng
        self._outbox = outbox
        self.caught = -1  # balls; the first throw catches nothing

    def on_start(self, now: Micros, records: list[Record]) -> None:
        self.on_message(now, self._site, Ball(-1))

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        self.caught += 1
        if isinstance(message, Ball):
            target = self._rng.below(self._sites - 1)
            self._outbox.send(target if target < self._site else target + 1, Ball(message.throws + 1))

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        """No timer is ever set."""

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        return self.caught
