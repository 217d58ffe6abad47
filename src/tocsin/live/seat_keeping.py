"""What a member does when the group decides who its sites are, and where: it learns, keeps and tells it."""

import asyncio
import logging
from collections.abc import Iterable, Sequence

from tocsin.core.ballots import epoch_of
from tocsin.core.effects import Seats
from tocsin.core.errors import TocsinError
from tocsin.core.machine import Machine
from tocsin.live.errors import Removed
from tocsin.live.group_config import Group
from tocsin.live.opening import Opened, identity_of
from tocsin.live.seating import Seat, Seating, seating_of, take_seats, text_of
from tocsin.live.storage.identity import Identity, write_identity
from tocsin.live.storage.seats_file import write_seating

_log = logging.getLogger("tocsin.live")


def machine_groups(group: Group) -> Sequence[Iterable[int]]:
    """By GroupId: its members; where sites are added, all that there may ever be are in a group of all."""
    return [range(group.numbers_max)] if group.has_one_group and group.has_seats() else group.groups


def machine_seats(group: Group) -> list[tuple[int, str, str]]:
    """Who is known by name, where sites come and go."""
    if not group.has_seats():
        return []
    return [(site, name, text_of(group.addresses[site])) for site, name in enumerate(group.sites)]


def removed_error(name: str) -> Removed:
    return Removed(
        f"`{name}` was removed from the group, and takes no part any more; to bring it back: tocsin members GROUP.toml "
        f"add {name} ADDRESS, and an empty folder"
    )


class SeatKeeping:
    """One member's."""

    def __init__(
        self, group: Group, site: int, incarnation: int, opened: Opened, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._group = group
        self._site = site
        self._incarnation = incarnation
        self._folder = opened.folder
        self._register = opened.register
        self._wire = opened.wire
        self._loop = loop
        self._next: tuple[Identity, Seating] | None = None  # to be written
        self._writing: asyncio.Task[None] | None = None

    def fenced_by(self, peer: int, machine: Machine) -> str:
        """Why this member is of an epoch that was given up, as a peer shows; "" if it is not."""
        about = self._wire.meetings.of(peer).about
        if about is None or about.epoch <= self._register.epoch:
            return ""
        seating = machine.seating()
        if seating is not None and about.epoch <= seating.epoch:
            return ""  # it has promised to be in the recovery
        return f"{self._group.sites[peer]} is in epoch {about.epoch}: the group was recovered without this member"

    def on_seats(self, effect: Seats) -> None:
        """A view was decided."""
        group = self._group
        before = [*zip(group.sites, group.addresses, strict=True)], sorted(group.removed)
        own = group.addresses[self._site]
        seats = [Seat(name, address, site in effect.removed) for site, name, address in effect.seats]
        founders = list(group.founders)
        moved = take_seats(group, Seating(effect.view, group.numbers_max, founders, seats))
        self._register.sites = len(group.sites)
        epoch = epoch_of(max(effect.view, 0))
        changed = before != ([*zip(group.sites, group.addresses, strict=True)], sorted(group.removed))
        changed = changed or epoch > self._register.epoch or not self._wire.seats.answers
        self._register.epoch = max(self._register.epoch, epoch)
        self._wire.seats.view = effect.view
        self._wire.seats.answers = True
        if not changed:
            return
        self._wire.reseat(moved)
        self._next = (
            identity_of(group, self._site, self._incarnation),
            seating_of(group, self._site, effect.view, self._register.epoch),
        )
        if self._writing is None or self._writing.done():
            self._writing = self._loop.create_task(self._write())
        if group.addresses[self._site] != own:
            where = "{}:{}".format(*group.addresses[self._site])
            _log.warning("%s: the group looks for it at %s from now on; start it there", group.sites[self._site], where)

    async def _write(self) -> None:
        """The log has it, too: what is not written here is when the member starts again."""
        while self._next is not None:
            identity, seating = self._next
            self._next = None
            try:
                await self._loop.run_in_executor(None, write_identity, self._folder, identity)
                await self._loop.run_in_executor(None, write_seating, self._folder, seating)
            except (OSError, TocsinError) as error:
                _log.warning("%s: what the group has decided of its sites is not written: %s", self._folder, error)

    async def finish(self) -> None:
        if self._writing is not None:
            await self._writing
