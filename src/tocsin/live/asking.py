"""A member that starts asks others what they know of it, before its machine takes part.

It meets at least `max(1, (n - 1) // 2)` others, of n sites: if only a minority has lost its disks, one of them has not.
Who was never told of it counts, too. If nobody knows more than its folder says, it goes on with that; otherwise, or if
the folder is damaged, it begins anew: what was there is set aside, and it is a later incarnation with an empty log,
whose numbers go on beyond all that anyone may have seen.

What remains open: those who knew may all have been away. A member that is up and meets somebody who knows more of it
than it does itself stops with `Regressed` (`driver.py`), and begins anew at its next start.

Where a protocol has voters, an empty folder also needs the group's id. A group is founded once, by all founders
together: they have met, none of them has an id, and the first of them makes it. Whoever comes later hears it, and with
it who the founders were. `tocsin members found` may name fewer of them.

Where sites come and go, it also asks for the group's seats (`seating.py`): its file and its folder may be older. If it
has another number or address than it took itself for, or others have, it is told at once (`run` returns them), and asks
again as who it is. A folder of an epoch that was given up begins anew.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Sequence
from typing import Final

from tocsin.core.machine import FIRST_INCARNATION, RENEWAL_GAP
from tocsin.live.errors import Removed
from tocsin.live.group_config import Address, Group
from tocsin.live.known import Known
from tocsin.live.register import Register, merged
from tocsin.live.seating import Seating, text_of
from tocsin.live.wire.seats_desk import bits_of, sites_of
from tocsin.live.wire.wire import Told, Wire

_log = logging.getLogger("tocsin.live")

RECEIVES_MAX: Final = 64  # calls of receive in one turn of the loop
GRACE_SECONDS: Final = 0.2  # for the others to answer, when enough have
TOLD_AFTER_SECONDS: Final = 1.0  # of waiting; then …
ASK_SEATS_SECONDS: Final = 0.5  # between two questions for the group's seats
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
        self,
        group: Group,
        loop: asyncio.AbstractEventLoop,
        register: Register,
        wire: Wire,
        is_damaged: bool,
        file_addresses: Sequence[Address] = (),
    ) -> None:
        sites = register.sites - len(register.removed)
        self.needed = 0 if sites == 1 else max(1, (sites - 1) // 2)
        self._file_addresses = file_addresses
        self._group = group
        self._loop = loop
        self._register = register
        self._wire = wire
        self._is_damaged = is_damaged
        self._answers: dict[int, Known] = {}  # by site: what it knows of this member
        self._empty: set[int] = set()  # those who have no group id
        self._epoch = 0  # the latest that a peer is in
        self._founders: list[int] = []  # named by an operator, here or at a peer; else those of the file
        self._ask_seats_at = 0.0
        self._changed = asyncio.Event()

    async def run(self) -> "Beginning | Seating":
        """Wait until enough have answered; or until the group's seats are others than are known here."""
        if self._register.sites > 1:
            self._wire.start(self._on_readable)
            try:
                await self._wait()
            finally:
                self._wire.pause()
        seating = self._other_seats()
        return self._decide() if seating is None else seating

    def found(self, founders: list[int]) -> None:
        """An operator names who founds the group; the others hear it from here."""
        self._founders = founders
        self._register.founding = bits_of(founders)
        for peer in self._wire.meetings.met():
            self._wire.part(peer)
        self._changed.set()

    # Seats

    def _other_seats(self) -> Seating | None:
        """What the group says, if it is not what this member takes for true."""
        heard = self._wire.seats.heard
        if heard is None or heard.view <= self._wire.seats.view:
            return None
        mine = self._group.sites[self._register.site]
        lived = self._register.mine().life >= 0  # with this folder it is who it was, whoever has its name now
        number = self._register.site if lived else heard.number(mine)
        if number >= len(heard.seats):
            return None
        if number < 0:
            return None
        if heard.seats[number].removed:
            raise Removed(
                f"`{mine}` was removed from the group; tocsin members GROUP.toml add {mine} ADDRESS adds it anew"
            )
        same = number == self._register.site and heard.numbers_max == self._group.numbers_max
        addresses = [text_of(address) for address in self._group.addresses]
        same = same and [seat.address for seat in heard.seats] == addresses
        return None if same and len(heard.seats) == len(self._group.sites) else heard

    def _maybe_ask_seats(self, now: float) -> None:
        if self._group.has_seats() and now >= self._ask_seats_at:
            self._ask_seats_at = now + ASK_SEATS_SECONDS
            own = self._group.addresses[self._register.site]
            known = {*self._group.addresses, *self._file_addresses}
            self._wire.seats.ask(sorted(address for address in known if address != own))

    def waits_for(self) -> str:
        """In words; "" if for nobody."""
        missing = [site for site in range(self._register.sites) if site != self._register.site]
        missing = [site for site in missing if site not in self._answers and site not in self._register.removed]
        names = {site: self._group.sites[site] for site in missing}
        whys = "; ".join(f"{name}: {self._wire.why_unmet(site) or 'met'}" for site, name in names.items())
        if len(self._answers) < self.needed:
            left = self.needed - len(self._answers)
            who = " or ".join(names.values()) if left == 1 else f"{left} of {', '.join(names.values())}"
            return f"{who}: somebody has to say what is known of this member before it takes part ({whys})"
        if not self._has_group():
            return f"a group, or every founder, to found one ({whys})"
        heard, mine = self._wire.seats.heard, self._group.sites[self._register.site]
        if heard is not None and heard.number(mine) < 0:
            return f"the group, which has no `{mine}`: tocsin members GROUP.toml add {mine} ADDRESS"
        return ""

    # Hearing

    def _on_readable(self, sock: socket.socket) -> None:
        for _ in range(RECEIVES_MAX):
            arrived = self._wire.receive(sock)  # messages of the protocol are too early, and will come again
            for told in self._wire.take_told():
                self._hear(told)
            if self._wire.seats.heard is not None:
                self._changed.set()
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
            self._epoch = max(self._epoch, about.epoch)
            if not about.group_id:
                self._empty.add(told.peer)
                if about.founding and not self._founders:
                    self.found(sites_of(about.founding))
                elif self._founders and about.founding != self._register.founding:
                    self._wire.greet(told.peer)  # it hears who founds
            elif not self._register.group_id:
                self._register.group_id = about.group_id
                self._register.founding = about.founding
        self._changed.set()

    # Waiting

    async def _wait(self) -> None:
        began = self._loop.time()
        say_at = began + TOLD_AFTER_SECONDS
        enough_at = -1.0
        while True:
            if self._other_seats() is not None:
                return
            waits_for = self.waits_for()
            now = self._loop.time()
            self._maybe_ask_seats(now)
            if not waits_for:
                enough_at = now if enough_at < 0 else enough_at
                if len(self._answers) == self._register.sites - 1 or now >= enough_at + GRACE_SECONDS:
                    return
            elif now >= say_at:
                _log.warning("%s: waits for %s", self._group.sites[self._register.site], waits_for)
                say_at = now + TOLD_EVERY_SECONDS
            self._changed.clear()
            look_at = enough_at + GRACE_SECONDS if not waits_for else min(say_at, self._ask_seats_at or say_at)
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
        founders = set(self._founders or self._group.founders)
        is_first = self._register.site == min(founders)
        if is_first and founders - {self._register.site} <= self._empty:
            self._register.group_id = os.urandom(16)
            self._register.founding = bits_of(founders)
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
        if self._epoch > self._register.epoch:
            if mine.incarnation and not why:
                why = f"the group was recovered without it, and is in epoch {self._epoch}"
            self._register.epoch = self._epoch
        if not why:
            incarnation = mine.incarnation or FIRST_INCARNATION
            return Beginning(incarnation, knowledge.first_frame, knowledge.first_number, "")
        frames, numbers = max(known.frames, mine.frames), max(known.numbers, mine.numbers)
        incarnation = max(known.incarnation, mine.incarnation, FIRST_INCARNATION) + 1
        return Beginning(incarnation, frames + RENEWAL_GAP, numbers + RENEWAL_GAP, why)
