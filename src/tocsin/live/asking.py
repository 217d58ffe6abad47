"""A member that starts asks others what they know of it, before its machine takes part.

It meets at least `max(1, (n - 1) // 2)` others, of n sites: if only a minority has lost its disks, one of them has not.
Who was never told of it counts, too. If nobody knows more than its folder says, it goes on with that; otherwise, or if
the folder is damaged, it begins anew: what was there is set aside, and it is a later incarnation with an empty log,
whose numbers go on beyond all that anyone may have seen.

What remains open: those who knew may all have been away. A member that is up and meets somebody who knows more of it
than it does itself stops with `Regressed` (`driver.py`), and begins anew at its next start.

Where a protocol has voters, an empty folder also needs the group's id. A group is founded once, by all founders
together: they have met, none of them has an id, and the first of them makes it. Whoever comes later hears it.
"""

import asyncio
import logging
import os
import socket
from typing import Final

from tocsin.core.machine import FIRST_INCARNATION, RENEWAL_GAP
from tocsin.live.group_config import Group
from tocsin.live.known import Known
from tocsin.live.register import Register, merged
from tocsin.live.wire.wire import Told, Wire

_log = logging.getLogger("tocsin.live")

RECEIVES_MAX: Final = 64  # calls of receive in one turn of the loop
GRACE_SECONDS: Final = 0.2  # for the others to answer, when enough have
TOLD_AFTER_SECONDS: Final = 1.0  # of waiting; then …
TOLD_EVERY_SECONDS: Final = 60.0  # … what is waited for is said


class Beginning:
    """With what a member begins its life."""

    def __init__(self, incarnation: int, first_frame: int, first_number: int, why: str) -> None:
        self.incarnation = incarnation
        self.first_frame = first_frame
        self.first_number = first_number
        self.why = why  # it begins anew; "": it goes on with its folder


class Asking:
    """One start of one member. `is_damaged`: its log cannot be read."""

    def __init__(
        self, group: Group, loop: asyncio.AbstractEventLoop, register: Register, wire: Wire, is_damaged: bool
    ) -> None:
        self.needed = 0 if register.sites == 1 else max(1, (register.sites - 1) // 2)
        self._group = group
        self._loop = loop
        self._register = register
        self._wire = wire
        self._is_damaged = is_damaged
        self._answers: dict[int, Known] = {}  # by site: what it knows of this member
        self._empty: set[int] = set()  # those who have no group id
        self._changed = asyncio.Event()

    async def run(self) -> Beginning:
        """Wait until enough have answered."""
        if self._register.sites > 1:
            self._wire.start(self._on_readable)
            try:
                await self._wait()
            finally:
                self._wire.pause()
        return self._decide()

    def waits_for(self) -> str:
        """In words; "" if for nobody."""
        missing = [site for site in range(self._register.sites) if site != self._register.site]
        missing = [site for site in missing if site not in self._answers]
        names = {site: self._group.sites[site] for site in missing}
        whys = "; ".join(f"{name}: {self._wire.why_unmet(site) or 'met'}" for site, name in names.items())
        if len(self._answers) < self.needed:
            left = self.needed - len(self._answers)
            who = " or ".join(names.values()) if left == 1 else f"{left} of {', '.join(names.values())}"
            return f"{who}: somebody has to say what is known of this member before it takes part ({whys})"
        if not self._has_group():
            return f"a group, or every founder, to found one ({whys})"
        return ""

    # Hearing

    def _on_readable(self, sock: socket.socket) -> None:
        for _ in range(RECEIVES_MAX):
            arrived = self._wire.receive(sock)  # messages of the protocol are too early, and will come again
            for told in self._wire.take_told():
                self._hear(told)
            if arrived is None:
                return

    def _hear(self, told: Told) -> None:
        for claim in told.claims:
            self._register.learn(claim)
        if told.of_me is not None:
            before = self._answers.get(told.peer)
            self._answers[told.peer] = told.of_me if before is None else merged(before, told.of_me)
        about = self._wire.meetings.of(told.peer).about
        if about is not None and told.met:
            if not about.group_id:
                self._empty.add(told.peer)
            elif not self._register.group_id:
                self._register.group_id = about.group_id
        self._changed.set()

    # Waiting

    async def _wait(self) -> None:
        began = self._loop.time()
        say_at = began + TOLD_AFTER_SECONDS
        enough_at = -1.0
        while True:
            waits_for = self.waits_for()
            now = self._loop.time()
            if not waits_for:
                enough_at = now if enough_at < 0 else enough_at
                if len(self._answers) == self._register.sites - 1 or now >= enough_at + GRACE_SECONDS:
                    return
            elif now >= say_at:
                _log.warning("%s: waits for %s", self._group.sites[self._register.site], waits_for)
                say_at = now + TOLD_EVERY_SECONDS
            self._changed.clear()
            look_at = enough_at + GRACE_SECONDS if not waits_for else say_at
            try:
                async with asyncio.timeout(max(look_at - now, 0.0)):
                    await self._changed.wait()
            except TimeoutError:
                pass

    # Deciding

    def _has_group(self) -> bool:
        """Whether the group's id is known, or can be made here now."""
        if self._register.group_id or not self._group.protocol.assumptions.voter_changes:
            return True
        founders = set(self._group.founders)
        is_first = self._register.site == min(founders)
        if is_first and founders - {self._register.site} <= self._empty:
            self._register.group_id = os.urandom(16)
            return True
        return False

    def _decide(self) -> Beginning:
        register = self._register
        mine, knowledge = register.mine(), register.knowledge()
        known = Known(register.site)
        why = "its log is damaged" if self._is_damaged else ""
        for site in sorted(self._answers):
            answer = self._answers[site]
            known = merged(known, answer)
            behind = register.behind(answer)
            if behind and not why:
                who = self._group.sites[site]
                empty = mine.incarnation == 0
                why = (
                    f"its folder is empty, and {who} knows of an earlier one"
                    if empty
                    else f"{who} knows more: {behind}"
                )
        if not why:
            incarnation = mine.incarnation or FIRST_INCARNATION
            return Beginning(incarnation, knowledge.first_frame, knowledge.first_number, "")
        frames, numbers = max(known.frames, mine.frames), max(known.numbers, mine.numbers)
        incarnation = max(known.incarnation, mine.incarnation, FIRST_INCARNATION) + 1
        return Beginning(incarnation, frames + RENEWAL_GAP, numbers + RENEWAL_GAP, why)
