"""A toy protocol, small enough to be explored whole with every kind of fault, and the bugs that can be planted in it.

Every site tells every other all that it has, again with each tick, until it leaves. So whoever lost its disk, came
back, or is reached through others only, gets everything in the end.
"""

from pathlib import Path
from typing import Any

from tocsin.core.config import decode_config
from tocsin.core.machine import GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Options, Record
from tocsin.protocols.protocol import Assumptions, Protocol
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig

TICK = "TICK"
TICK_US = 1_000
NUMBERS = 1_000  # that a life may use; lives draw where theirs begin


class Have(Message, frozen=True):
    items: tuple[tuple[int, int], ...]  # origin, seqno

    def carries(self) -> tuple[tuple[int, int], ...]:
        return self.items


class Bye(Message, frozen=True):
    pass


class ToyOptions(Options, frozen=True):
    bug: str = ""  # what goes wrong: see where it is asked for


class Toy(Machine):
    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        self._site = setup.site
        self._peers = [site for site in range(setup.sites) if site != setup.site]
        self._outbox = outbox
        self._log = setup.log
        self._bug = setup.options.bug if isinstance(setup.options, ToyOptions) else ""
        self._have: list[tuple[int, int]] = []  # sorted
        self._gone: set[SiteId] = set()  # have said goodbye
        self._next = 0 if self._bug == "numbers" else setup.rng.below(1 << 30) * NUMBERS
        self._ticks = 0
        self._has_returned = False

    def on_start(self, now: Micros, records: list[Record]) -> None:
        self._have = sorted((entry.origin, entry.seqno) for entry in self._log.read(0, 0, 1 << 20))
        self._has_returned = bool(self._have)
        own = [seqno for origin, seqno in self._have if origin == self._site]
        self._next = max([self._next, *(seqno + 1 for seqno in own)])
        for peer in self._peers:
            self._tell(peer)
        self._outbox.set_timer(TICK, 0, now + TICK_US)

    def _tell(self, peer: SiteId) -> None:
        told = [item for item in self._have if self._bug != "relay" or item[0] == self._site]
        if self._bug != "bye" or peer not in self._gone:
            self._outbox.send(peer, Have(tuple(told)))

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        self._ticks += 1
        for peer in self._peers:
            self._tell(peer)
        if self._bug == "views" and self._has_returned:
            self._outbox.install_view(self._ticks, [self._site, *self._peers], True)
        if self._bug != "ticks" or self._ticks < 2:
            self._outbox.set_timer(TICK, 0, now + TICK_US)

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if isinstance(message, Bye):
            self._gone.add(source)
        elif isinstance(message, Have):
            for origin, seqno in message.items:
                if (origin, seqno) not in self._have:
                    self._take(origin, seqno, b"")
            if self._bug == "echo" and self._has_returned:
                self._tell(source)
            elif self._bug == "echo" and message.items:
                self._outbox.send(source, Have(()))

    def quiet(self) -> bool:
        return self._bug != "restless" or not self._has_returned

    def _take(self, origin: SiteId, seqno: int, payload: bytes) -> None:
        self._have = sorted([*self._have, (origin, seqno)])
        self._outbox.deliver(0, origin, seqno, payload)

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._next
        self._next += 1
        self._take(self._site, seqno, payload)
        for peer in self._peers:
            self._tell(peer)
        if self._bug == "once":
            self._outbox.cancel_timer(TICK, 0)
        return seqno

    def leave(self, now: Micros) -> None:
        self._outbox.cancel_timer(TICK, 0)
        for peer in self._peers:
            self._outbox.send(peer, Bye())


PROTOCOL = Protocol(
    name="toy",
    title="tell everything",
    paper="none",
    make=Toy,
    options=ToyOptions,
    messages=(Have, Bye),
    records=(),
    guarantees=("integrity", "validity", "agreement"),
    assumptions=Assumptions(
        crashes_recover=True, wipes=True, restores=True, leaves=True, returns=True, dead_links=True
    ),
    liveness_us=20_000,
)


def toy(bug: str = "", sites: int = 2, messages: int = 1, ticks: int = 2, **more: Any) -> Scenario:
    """Site a broadcasts."""
    document = {
        "protocol": "toy",
        "sites": sites,
        "duration_us": ticks * TICK_US,
        "options": {"bug": bug},
        "workload": {"messages": messages, "every_us": 1, "senders": ["a"]},
        **more,
    }
    return Scenario(decode_config(document, ScenarioConfig, "toy"), "toy", Path(), PROTOCOL)
