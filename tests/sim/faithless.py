"""A protocol as simple as can be on a network that loses nothing, and the ways in which it can neglect a duty."""

from typing import Literal

import msgspec

from tocsin.core.data import Data
from tocsin.core.machine import ANY_ORIGIN, GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Options, Record
from tocsin.protocols.limits import Limits
from tocsin.protocols.protocol import Assumptions, Protocol

BEGIN_US = 300_000  # when it begins to be faithless on its own account
AGAIN_US = 1_000


class FaithlessOptions(Options, frozen=True):
    way: Literal[
        "none",
        "never quiet",
        "quiet for a while",
        "endless views",
        "to some only",
        "missed what it has",
        "missed what is not there",
        "missed more than there is",
        "skips",
        "takes back",
        "keeps",
        "keeps records",
        "talks",
        "repeats",
    ] = "none"


class Faithless(Machine):
    """Sends to everybody once, and delivers what comes."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        options = setup.options
        assert isinstance(options, FaithlessOptions)
        self._way: str = options.way
        self._site = setup.site
        self._others = [site for site in range(setup.sites) if site != setup.site]
        self._log = setup.log
        self._outbox = outbox
        self._next = 0
        self._view = 0
        self._quiet = True
        self._kept: list[bytes] = []

    def on_start(self, now: Micros, records: list[Record]) -> None:
        self._next = len(records)
        self._outbox.set_timer("BEGIN", 0, BEGIN_US)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if self._way == "endless views":
            self._view += 1
            self._outbox.install_view(self._view, [self._site], True)
        elif self._way == "talks":
            self._outbox.multicast(self._others, Data(0, self._site, 0, b""))
        elif self._way == "quiet for a while":
            self._quiet = now < 2 * BEGIN_US
        elif timer == "BEGIN" and self._site == 1:
            self._tell(self._log.end(0))
        self._outbox.set_timer("AGAIN", 0, now + AGAIN_US)

    def _tell(self, end: int) -> None:
        """Something that is not so."""
        if self._way == "missed what it has":
            self._outbox.missed(0, 0, 0, 1)
        elif self._way == "missed what is not there":
            self._outbox.missed(0, ANY_ORIGIN, end, 1_000)
        elif self._way == "missed more than there is":
            self._outbox.missed(0, 2, 0, 1_000)
        elif self._way == "skips":
            self._outbox.missed(0, ANY_ORIGIN, end + 1, 1)
        elif self._way == "takes back":
            newest = self._log.read(0, end - 1, 1)[0]
            self._outbox.rollback(0, newest.origin, newest.seqno)

    def quiet(self) -> bool:
        return self._quiet and self._way != "never quiet"

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        assert isinstance(message, Data)
        if message.payload and self._way != "repeats":
            self._take(message)
        elif message.payload and message.seqno >= self._next:
            self._next = message.seqno + 1
            self._take(message)

    def _take(self, data: Data) -> None:
        if self._way == "keeps":
            self._kept.append(data.payload)
        self._outbox.deliver(data.group, data.origin, data.seqno, data.payload)

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        data = Data(group, self._site, self._next, payload)
        self._next += 1
        for _ in range(10 if self._way == "keeps records" else 1):
            self._outbox.persist(Taken(data.seqno))
        self._outbox.deliver(group, self._site, data.seqno, payload)
        to = self._others[:1] if self._way == "to some only" else self._others
        for _ in range(20 if self._way == "repeats" else 1):
            self._outbox.multicast(to, data)
        return data.seqno


class Taken(Record, frozen=True):
    seqno: int


def limits_of(options: FaithlessOptions, sites: int, groups: int, multicast: int) -> Limits:
    return Limits(held=5, records=50, log_at_rest=1_000, first=float(sites), rest_us=500_000)


FAITHLESS = Protocol(
    name="faithless",
    title="",
    paper="",
    make=Faithless,
    options=FaithlessOptions,
    messages=(Data,),
    records=(Taken,),
    guarantees=("integrity", "validity", "agreement", "uniform_agreement"),
    assumptions=Assumptions(crashes="none"),
    limits=limits_of,
    liveness_us=1_000_000,
)
TOTAL = msgspec.structs.replace(FAITHLESS, guarantees=(*FAITHLESS.guarantees, "multiple_source"))
