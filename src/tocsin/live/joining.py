"""How an application becomes a member of a live group."""

import logging
import socket
from pathlib import Path
from typing import Final

from tocsin.live.backlog import Slow
from tocsin.live.consuming import After, Consuming
from tocsin.live.group_config import Address, Group, read_group
from tocsin.live.member import Member
from tocsin.live.seating import own_copy, text_of
from tocsin.live.storage.seats_file import read_seating

_log = logging.getLogger("tocsin.live")

BACKLOG_BYTES: Final = 64 << 20


def join(
    group: str | Path | Group,
    site: str,
    *,
    consumer: str | None = None,
    after: After = None,
    inject: str = "",
    slow: Slow = "block",
    backlog_bytes: int = BACKLOG_BYTES,
    listen: bool = True,
) -> Member:
    """A member of the group in this file, to be used by `async with` (or `await`, and `leave()` at the end).

    `consumer`: events begin after the last one that this consumer acknowledged (`ack`); of a new one, at what is kept.
    `after`: they begin after a position, after positions by group, at the "start" of what is kept, or "now" (default).
    `inject`: faults, see `tocsin.live.wire.inject`. `slow`: what happens when the application falls behind by more than
    `backlog_bytes`. `listen=False`: this application only sends; it hears no events.
    """
    resolved = group if isinstance(group, Group) else read_group(Path(group))
    own, number = own_group(resolved, site)
    consuming = Consuming(own, own.site_dir(number), consumer, after)
    return Member(own, number, inject, slow, backlog_bytes, listen, consuming, resolved.addresses)


def own_group(group: Group, name: str) -> tuple[Group, int]:
    """A member's own, and its number. The folder says where it is, unless this machine has not that address."""
    site = group.site(name)
    kept = read_seating(group.site_dir(site)) if group.has_seats() else None
    if kept is None or not 0 <= kept.site < len(kept.seats) or kept.seats[kept.site].name != name:
        return own_copy(group, None), site
    file_address = group.addresses[site]
    own = own_copy(group, kept)
    for other, address in zip(group.sites, group.addresses, strict=True):
        if other in own.sites and own.addresses[own.site(other)] != address:
            decided = text_of(own.addresses[own.site(other)])
            _log.warning("%s: the group has decided that %s is at %s; its file says otherwise", name, other, decided)
    if own.addresses[kept.site] != file_address and not can_bind(own.addresses[kept.site], group.family):
        assert isinstance(own.addresses, list)
        own.addresses[kept.site] = file_address
    return own, kept.site


def can_bind(address: Address, family: int) -> bool:
    """Whether this machine has the address."""
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.bind((address[0], 0))
        except OSError:
            return False
    return True
