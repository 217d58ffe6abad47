"""Who is in the group, by number, name and address, where that changes while members run.

The group's file says where to look for the group. Whom the group has since added, removed or moved was decided with its
views; the driver is told (`Seats`), and it is kept beside the log (`seats.json`), so that the next start knows it
before anybody answers. It wins over the file. Numbers follow one another, and none is used again, so what is known of
sites only grows at its end; names may come again, after a removal.

A member that starts, and whose folder or file may be older than the group, asks those whom it knows for theirs
(`asking.py`), and takes its own number and address from the answer.
"""

import ipaddress
import socket
from typing import Annotated

import msgspec
from msgspec import Meta

from tocsin.core.ballots import epoch_of
from tocsin.core.errors import InputError
from tocsin.live.group_config import SITES_MAX, Address, Group, split_address

NO_VIEW = -1

Site = Annotated[int, Meta(ge=0, lt=SITES_MAX)]


class Seat(msgspec.Struct, frozen=True, array_like=True):
    """One number's."""

    name: Annotated[str, Meta(min_length=1, max_length=64)]
    address: Annotated[str, Meta(max_length=256)]
    removed: bool = False


class Seating(msgspec.Struct, frozen=True):
    """Everybody's, as a view has decided it."""

    view: Annotated[int, Meta(ge=NO_VIEW, lt=1 << 60)]
    numbers_max: Annotated[int, Meta(ge=1, le=SITES_MAX)]
    founders: list[Site]
    seats: list[Seat]  # by number
    site: int = -1  # this member's own number, in its folder
    epoch: int = 0  # that others are in, as this member was told; at least that of the view

    def number(self, name: str) -> int:
        """Of the site that has this name now; of the last that had it, if it was removed; -1 if none ever had."""
        found = [site for site, seat in enumerate(self.seats) if seat.name == name]
        return found[-1] if found else -1

    def present_epoch(self) -> int:
        return max(self.epoch, epoch_of(max(self.view, 0)))


def text_of(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def seating_of(group: Group, site: int, view: int, epoch: int) -> Seating:
    """As a member has it now."""
    seats = [
        Seat(name, text_of(address), number in group.removed)
        for number, (name, address) in enumerate(zip(group.sites, group.addresses, strict=True))
    ]
    return Seating(view, group.numbers_max, list(group.founders), seats, site, epoch)


def own_copy(group: Group, kept: Seating | None) -> Group:
    """A member's own: what is kept in its folder wins over the file."""
    copy = msgspec.structs.replace(
        group,
        sites=list(group.sites),
        addresses=list(group.addresses),
        founders=list(group.founders),
        groups=list(group.groups),
        removed=set(group.removed),
        numbers_max=group.numbers_max if kept is None else kept.numbers_max,
    )
    if kept is not None:
        take_seats(copy, kept)
    return copy


def take_seats(group: Group, seating: Seating) -> list[int]:
    """Make a member's own group say what was decided; the numbers that are new, or found elsewhere now."""
    sites, addresses, founders, groups = group.sites, group.addresses, group.founders, group.groups
    assert isinstance(sites, list) and isinstance(addresses, list)
    assert isinstance(founders, list) and isinstance(groups, list)
    found: list[tuple[str, Address]] = []
    for number, seat in enumerate(seating.seats):
        found.append((seat.name, _resolved(group, number, seat)))
    changed = [
        number
        for number, (name, address) in enumerate(found)
        if number >= len(sites) or (sites[number], addresses[number]) != (name, address)
    ]
    sites[:] = [name for name, _ in found]
    addresses[:] = [address for _, address in found]
    founders[:] = seating.founders
    group.removed.clear()
    group.removed.update([number for number, seat in enumerate(seating.seats) if seat.removed])
    if group.has_one_group:
        groups[0] = tuple(range(len(sites)))
    return changed


def _resolved(group: Group, number: int, seat: Seat) -> Address:
    try:  # numbers, as they were decided: no name is looked up here
        address = split_address(seat.address, seat.name)
        version: int = ipaddress.ip_address(address[0]).version
    except (InputError, ValueError):
        version = 0
    if version != {socket.AF_INET: 4, socket.AF_INET6: 6}[socket.AddressFamily(group.family)]:
        # of no use here; it may be to others
        return group.addresses[number] if number < len(group.addresses) else ("0.0.0.0", 1)
    return address
