"""Groups that change while members run: what is asked of a member, and what its file still says."""

import logging
from collections.abc import Iterable

from tocsin.core.errors import InputError
from tocsin.live.driver import Driver
from tocsin.live.errors import NotPrimary
from tocsin.live.group_config import Group
from tocsin.live.naming import Naming

_log = logging.getLogger("tocsin.live")


def change_group(group: Group, naming: Naming, driver: Driver | None, name: str, members: Iterable[str]) -> None:
    """Ask that a group have these members from now on."""
    if not group.protocol.assumptions.group_changes:
        raise InputError(f"change_group: the groups of {group.protocol.name} are those of the start")
    number = naming.group_number(name)
    sites = sorted({group.site(member) for member in members})
    if driver is None:
        raise NotPrimary("change_group: the member has not begun yet; await member.ready() first")
    driver.request(lambda now: driver.machine.change_group(now, number, sites))


def groups_of(group: Group, driver: Driver | None) -> dict[str, list[str]]:
    """By name: the members as they were last decided, as far as is known here; else as the file says."""
    decided = None if driver is None else driver.machine.groups()
    found = group.groups if decided is None else decided
    return {name: [group.sites[site] for site in sites] for name, sites in zip(group.group_names, found, strict=False)}


def warn_of_changes(group: Group, name: str, driver: Driver) -> None:
    """The file says who is in the groups at the very start; later it is decided by the members."""
    written = groups_of(group, None)
    for changed, members in groups_of(group, driver).items():
        if written[changed] != members:
            _log.warning(
                "%s: the members of group %s were decided to be %s; its file says %s, which changes nothing "
                "(tocsin groups … set does)",
                *(name, changed, " ".join(members) or "nobody", " ".join(written[changed]) or "nobody"),
            )
