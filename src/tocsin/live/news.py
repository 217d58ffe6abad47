"""What a member hears of who the others are, and tells them: while it lives.

Peers say it when they meet, and then, as long as it changes, from time to time. So what others know of a member's
numbers and of its log's end is at most `TELL_SECONDS` old, and what is delivered tells more.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final

from tocsin.live.known import Known
from tocsin.live.register import Register
from tocsin.live.storage.log import Log
from tocsin.live.wire.wire import Told, Wire

_log = logging.getLogger("tocsin.live")

TELL_SECONDS: Final = 1.0  # between two times that a member tells how far it has come; more with many sites …
TELL_SITE_SECONDS: Final = 0.05  # … so much for each: a group of n sends n² of them
ALL_EVERY: Final = 10  # times; then what is known of everybody is told, if that has changed


class News:
    """One member's."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, register: Register, wire: Wire, log: Log, names: Sequence[str]
    ) -> None:
        self._loop = loop
        self._register = register
        self._wire = wire
        self._log = log
        self._names = names
        self._agreed: set[int] = set()  # peers that know nothing of this member beyond its log
        self._told: Known | None = None  # of this member, to all
        self._told_all: list[Known] = []
        self._times = 0
        self._handle: asyncio.TimerHandle | None = None
        self._pause = max(TELL_SECONDS, TELL_SITE_SECONDS * register.sites)

    def start(self) -> None:
        self._handle = self._loop.call_later(self._pause, self._tell)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def hear(self, told: Told) -> str:
        """Note what was told; in what this member is older than the peer knows, or ""."""
        if told.of_me is not None:
            why = self._register.behind(told.of_me)
            if why:
                return f"{self._names[told.peer]} knows more of it than its own folder: {why}"
            self._agreed.add(told.peer)
        for claim in told.claims:
            if self._register.learn(claim):
                self._log.stage(self._register.noted(claim.site))
                self._maybe_part(claim.site)
        if told.met:
            self._wire.tell([told.peer], [self._register.mine(), *self._register.others()])
        return ""

    def _maybe_part(self, site: int) -> None:
        """A session that was met may turn out to be an earlier life than others know of."""
        met = self._wire.meetings.of(site).met
        if met is not None and not met.asks:
            objection = self._register.objection(met.who)
            if objection:
                _log.warning("%s: nothing more is taken of the session that was met: %s", self._names[site], objection)
                self._wire.part(site)

    def is_settled(self) -> bool:
        """Whether a majority of the sites, this one not counted, knows of nothing beyond its log; or all others, where
        they are fewer."""
        sites = self._register.sites - len(self._register.removed)
        return len(self._agreed) >= min(sites - 1, sites // 2 + 1)

    def _tell(self) -> None:
        self._handle = self._loop.call_later(self._pause, self._tell)
        self._times += 1
        mine = self._register.mine()
        peers = self._wire.meetings.met()
        if self._times % ALL_EVERY == 0:
            everything = [mine, *self._register.others()]
            if everything != self._told_all:
                self._wire.tell(peers, everything)
                self._told, self._told_all = mine, everything
        elif mine != self._told:
            self._wire.tell(peers, [mine])
            self._told = mine
