"""Sites that are added, removed and moved while members run: what is asked of a member, and what it answers.

A change is decided by the group, in its own order. Whoever asks a member waits here until the member has heard that it
was, or is told why it is refused. What a member was asked for and what was not decided when it stopped is forgotten.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from tocsin.core.errors import InputError
from tocsin.core.machine import Seating
from tocsin.live.driver import Driver
from tocsin.live.errors import NotPrimary, NotSupported, TimedOut
from tocsin.live.group_config import Group, resolve_address
from tocsin.live.incoming import Incoming
from tocsin.live.opening import Opened
from tocsin.live.seating import text_of

LOOK_SECONDS: Final = 0.01
CHANGES: Final = ("", "found", "add", "remove", "move", "recover")


class Voters:
    """One member's part in changing them."""

    def __init__(
        self, group: Group, name: str, opened: Opened, incoming: Incoming, check_open: Callable[[], None]
    ) -> None:
        self._group = group
        self._name = name
        self._opened = opened
        self._incoming = incoming
        self._check_open = check_open
        self._driver: Driver | None = None
        self._asked: list[tuple[str, str, str]] = []  # by `tocsin members`: change, name, address
        self._states: dict[str, tuple[str, int]] = {}  # by name: what it does, and since when, as was seen here

    def reseat(self, group: Group) -> None:
        self._group = group

    def begin(self, driver: Driver) -> None:
        self._driver = driver

    # Changing

    async def change(
        self, check_started: Callable[[], None], change: str, name: str, address: str, timeout: float | None
    ) -> None:
        """Ask, and wait until it is decided."""
        check_started()
        deadline = None if timeout is None else time.monotonic() + timeout
        while self._driver is None or (self._group.has_seats() and not self._is_primary()):
            await self._wait(change, name, deadline)
        self.ask_for(change, name, address)
        while not self.is_done(change, name, address):
            await self._wait(change, name, deadline)

    async def _wait(self, change: str, name: str, deadline: float | None) -> None:
        self._check_open()
        if deadline is not None and time.monotonic() >= deadline:
            raise TimedOut(f"{change} {name}: not decided in the time that was given; it may still be")
        await self._incoming.wait_changed(LOOK_SECONDS)

    def ask_for(self, change: str, name: str, address: str) -> None:
        """As `change`, of a member that has begun; refusals are said at once."""
        self._check_open()
        group = self._group
        if not group.has_seats():
            raise NotSupported(f"{change}: the sites of {group.protocol.name} are those of its file; counter_token can")
        driver = self._driver
        if driver is None:
            raise NotPrimary(f"{change}: the member has not begun yet: {self._opened.asking.waits_for() or 'wait'}")
        seating = self._seating()
        if not self._is_primary():
            raise NotPrimary(f"{change}: this member is in no view: nothing can be decided until a majority is there")
        machine = driver.machine
        if change == "add":
            where = self._checked(name, address)
            driver.request(lambda now: machine.seat_site(now, name, where))
            return
        site = self._present(change, name, seating)
        if change == "move":
            where = self._checked_address(address, site)
            driver.request(lambda now: machine.move_site(now, site, where))
        else:
            self._check_removal(name, site, seating)
            driver.request(lambda now: machine.remove_site(now, site))

    def _is_primary(self) -> bool:
        view = self._incoming.view
        return view is not None and view.primary

    def is_done(self, change: str, name: str, address: str) -> bool:
        """Whether the group, as this member knows it, is as it was asked for."""
        group = self._group
        present = [site for site, each in enumerate(group.sites) if each == name and site not in group.removed]
        if change == "remove":
            return not present
        if not present:
            return False
        where = text_of(resolve_address(address, change)[1])
        if text_of(group.addresses[present[-1]]) != where:
            return False
        seating = self._seating()
        return change == "move" or present[-1] in seating.wanted or present[-1] in dict(seating.voters)

    def _seating(self) -> Seating:
        seating = None if self._driver is None else self._driver.machine.seating()
        assert seating is not None, "asked only where there are voters"
        return seating

    def _checked(self, name: str, address: str) -> str:
        group = self._group
        if not name or "/" in name or name.startswith(".") or len(name) > 64 or not name.isprintable():
            raise InputError(f"add: expected a name usable for a folder, found {name!r}")
        present = [site for site, each in enumerate(group.sites) if each == name and site not in group.removed]
        if present and present[0] in dict(self._seating().voters):
            raise InputError(f"add: `{name}` is a voter already; its address is changed by `move`")
        if not present and len(group.sites) >= group.numbers_max:
            raise InputError(f"add: all {group.numbers_max} numbers for sites were used; none is used twice")
        return self._checked_address(address, present[0] if present else -1)

    def _checked_address(self, address: str, site: int) -> str:
        group = self._group
        family, found = resolve_address(address, "address")
        if family != group.family:
            raise InputError(f"address: expected one of the IP version that the group uses, found `{address}`")
        for other, each in enumerate(group.addresses):
            if each == found and other != site and other not in group.removed:
                raise InputError(f"address: `{address}` is that of `{group.sites[other]}`")
        return text_of(found)

    def _present(self, change: str, name: str, seating: Seating) -> int:
        group = self._group
        present = [site for site, each in enumerate(group.sites) if each == name and site not in seating.removed]
        if not present:
            known = [each for site, each in enumerate(group.sites) if site not in seating.removed]
            raise InputError(f"{change}: expected one of {', '.join(known)}, found `{name}`")
        return present[-1]

    def _check_removal(self, name: str, site: int, seating: Seating) -> None:
        left = [voter for voter, _ in seating.voters if voter != site]
        inside = [voter for voter in left if voter in dict(seating.members)]
        if not left:
            raise InputError(f"remove: `{name}` is the only voter")
        if 2 * len(inside) <= len(left):
            names = ", ".join(self._group.sites[voter] for voter in left)
            raise NotPrimary(f"remove: refused: of {names}, who would be left, no majority is here now")

    # Founding, and starting again

    def _found(self, names: str) -> None:
        if self._driver is not None or self._opened.register.group_id:
            raise InputError("found: the group is founded")
        group = self._group
        founders = sorted({group.site(name) for name in names.split(",") if name})
        if not founders:
            raise InputError("found: expected names of sites, found none")
        self._opened.asking.found(founders)

    def _recover(self) -> dict[str, int]:
        """By group: how far what is here goes."""
        driver = self._driver
        if driver is None:
            raise NotPrimary(
                "recover: the member has not begun yet; it needs one other to answer, or all disks are lost"
            )
        seating = self._seating()
        if seating.takes_part:
            raise InputError("recover: the group goes on; nothing is to be recovered")
        if seating.view < 0:
            raise InputError("recover: this member was in no view yet; ask one that was")
        machine = driver.machine
        driver.request(lambda now: machine.recover(now))
        assert self._opened.log is not None
        ends = [index.position for index in self._opened.log.frames.groups]
        return dict(zip(self._group.group_names, ends, strict=False))

    # Telling

    def answer(self, change: str, name: str, address: str) -> dict[str, Any]:
        """What `tocsin members` asked for."""
        if change not in CHANGES:
            raise InputError(f"members: expected one of {', '.join(CHANGES[1:])}, found `{change}`")
        group = self._group
        if not group.has_seats():
            raise NotSupported(f"members: {group.protocol.name} has no voters; counter_token has")
        extra: dict[str, Any] = {}
        if change == "found":
            self._found(name)
        elif change == "recover":
            before = self._recover()
            extra = {"kept": before}
        elif change:
            self.ask_for(change, name, address)
            self._asked.append((change, name, address))
        seats = {
            name: text_of(group.addresses[site]) for site, name in enumerate(group.sites) if site not in group.removed
        }
        return {"members": self.members(), "seats": seats, "pending": self._pending(), **extra}

    def _pending(self) -> list[str]:
        """What this member was asked for and what is not decided."""
        self._asked = [asked for asked in self._asked if not self.is_done(*asked)]
        return [" ".join(asked) for asked in self._asked]

    def members(self) -> dict[str, Any]:
        """Who votes, where, and what each does, as far as is known here."""
        opened, group = self._opened, self._group
        head = {"group_id": opened.register.group_id.hex() or None, "epoch": opened.register.epoch}
        if self._driver is None:
            return {**head, "voters": [], "view": None}
        seating = self._seating()
        members = dict(seating.members)
        shown = list(seating.voters) + [(site, members[site]) for site in seating.wanted if site in members]
        voters = [self._voter(site, incarnation, seating) for site, incarnation in shown]
        view = {
            "view": seating.view,
            "members": [group.sites[site] for site, _ in seating.members],
            "primary": seating.takes_part,
        }
        return {**head, "voters": voters, "view": view if seating.view >= 0 else None}

    def _voter(self, site: int, incarnation: int, seating: Seating) -> dict[str, Any]:
        opened, group = self._opened, self._group
        name = group.sites[site]
        state = self._state(site, incarnation, seating)
        if self._states.get(name, ("", 0))[0] != state:
            self._states[name] = (state, time.time_ns() // 1000)
        known = opened.register.mine() if site == opened.site else opened.register.of(site)
        assert opened.log is not None
        ends = [index.position for index in opened.log.frames.groups]
        here = ends if state == "in view" or site == opened.site else None
        return {
            "name": name,
            "address": text_of(group.addresses[site]),
            "incarnation": known.incarnation or incarnation,
            "life": None if known.life < 0 else known.life + 1,
            "state": state,
            "since_us": self._states[name][1],
            "position": None if here is None else here[0] if len(here) == 1 else sum(here),
        }

    def _state(self, site: int, incarnation: int, seating: Seating) -> str:
        members = dict(seating.members)
        own = site == self._opened.site
        if (not seating.takes_part and not own) or site not in members:
            return "away"
        if members[site] != incarnation or site in seating.wanted or (own and seating.lagging):
            return "catching up"
        return "in view" if seating.takes_part else "away"
