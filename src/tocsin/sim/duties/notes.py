"""What the applications of a run were told, by site and in order: the duties are decided from it at the end.

A log of notes goes with a site's disk: it is emptied, saved and set back with it. What a sender was told of its own
messages stays, whatever happens to its disk: an application may have acted on it.
"""

from typing import Final

from mypy_extensions import i64

from tocsin.core.effects import Deliver, Effect, GroupView, Missed, Rollback, View
from tocsin.core.machine import ANY_ORIGIN, GroupId, Micros, SiteId

NOT_TOLD: Final = -1  # at a position that the application was told it has missed
_NUMBERS: Final = 1 << 40  # a message as one integer: its origin, then its number


def name_of(origin: SiteId, seqno: int) -> int:
    """A message, as one integer; in machine integers, which are quicker than Python's long multiplication."""
    first: i64 = origin
    return first * _NUMBERS + seqno


def origin_of(name: int) -> SiteId:
    return name // _NUMBERS


def seqno_of(name: int) -> int:
    return name % _NUMBERS


class Missing:
    """Messages of one origin that an application was told it will never get."""

    def __init__(self, group: GroupId, origin: SiteId, first: int, count: int) -> None:
        self.group = group
        self.origin = origin
        self.first = first  # the smallest number it can be
        self.count = count  # the origin's next messages to the group, from there on
        self.later = 0  # the origin's messages, to any group, that came after them until it was told


class Log:
    """What the application of one site was told, on one disk."""

    def __init__(self) -> None:
        self.told: dict[GroupId, list[int]] = {}  # by group: the message at each position, or NOT_TOLD
        self.missing: list[Missing] = []

    def copy(self) -> "Log":
        other = Log()
        other.told = {group: list(names) for group, names in self.told.items()}
        other.missing = list(self.missing)
        return other

    def of_group(self, group: GroupId) -> list[int]:
        names = self.told.get(group)
        if names is None:
            names = []
            self.told[group] = names
        return names


class Acknowledged:
    """A message that its sender saw delivered: `ordered` and `durable` have returned."""

    def __init__(self, group: GroupId, members: list[SiteId], in_view: list[SiteId] | None) -> None:
        self.group = group
        self.members = members  # of the group, as the sender was told last
        self.in_view = in_view  # members of the last view of all groups that it was told of


class Promised:
    """A broadcast that was promised to reach its group with a probability."""

    def __init__(self, at: Micros, members: list[SiteId], reach: float) -> None:
        self.at = at
        self.members = members
        self.reach = reach


class Notes:
    """The notes of a run."""

    def __init__(self, names: list[str], groups: list[list[SiteId]]) -> None:
        sites = len(names)
        self.logs: list[Log] = [Log() for _ in range(sites)]
        self.past: list[tuple[SiteId, Log]] = []  # of disks that are no more
        self.acknowledged: dict[int, Acknowledged] = {}  # by message
        self.sent: dict[tuple[GroupId, SiteId], list[int]] = {}  # numbers that an origin has used, in order
        self.promised: dict[int, Promised] = {}  # by message, where the protocol promises a reach
        self.reach = 0.0  # that plain broadcasts ask for; 0: the protocol promises none
        self.rollbacks = 0
        self.untrue = ""  # the first thing told that cannot be
        self.views: list[list[SiteId] | None] = [None] * sites  # by site: members of its last view of all groups
        self.changes: list[Micros] = []  # when a view or the members of a group were installed, newest last
        self._names = names
        self._orders: dict[GroupId, dict[int, int]] = {}  # made at the end, once
        self.positions_lost = False  # with the disks of all members of a group, its positions are lost, too
        self._forgotten: dict[GroupId, int] = {}  # by such a group: so many of the past logs were before
        self._saved: list[Log | None] = [None] * sites
        self._founded = [list(members) for members in groups]
        self._strangers: set[tuple[SiteId, GroupId]] = set()  # who was out of a group for a while
        self._groups: list[dict[GroupId, list[SiteId]]] = [{} for _ in range(sites)]  # members told, where they change

    # What happens

    def on_broadcast(self, site: SiteId, group: GroupId, seqno: int) -> None:
        numbers = self.sent.get((group, site))
        if numbers is None:
            self.sent[(group, site)] = [seqno]
        else:
            numbers.append(seqno)

    def on_promise(self, now: Micros, site: SiteId, group: GroupId, seqno: int, reach: float) -> None:
        self.promised[name_of(site, seqno)] = Promised(now, self.members_told(site, group), reach)

    def on_deliver(
        self, site: SiteId, group: GroupId, origin: SiteId, seqno: int, position: int, sender_knows: bool
    ) -> None:
        """`sender_knows`: the delivery is at its own origin, whose application is there to hear of it."""
        names = self.logs[site].of_group(group)
        name = name_of(origin, seqno)
        if position != len(names) and not self.untrue:
            self.untrue = (
                f"{self.label(name)} has position {position} at {self._names[site]}, after {len(names)} others"
            )
        names.append(name)
        if sender_knows:
            self.acknowledged[name] = Acknowledged(group, self.members_told(site, group), self.views[site])

    def members_told(self, site: SiteId, group: GroupId) -> list[SiteId]:
        """The members of a group, as a site was told last."""
        changed = self._groups[site].get(group)
        if changed is not None:
            return changed
        return self._founded[group] if group < len(self._founded) else []

    def on_rollback(self, site: SiteId, group: GroupId, origin: SiteId, seqno: int) -> None:
        self.rollbacks += 1
        names = self.logs[site].of_group(group)
        name = name_of(origin, seqno)
        if (not names or names[-1] != name) and not self.untrue:
            self.untrue = f"{self._names[site]} takes back {self.label(name)}, which is not its newest delivery"
        if names:
            names.pop()
        if origin == site:
            self.acknowledged.pop(name, None)  # its application was told; `validity` is about what follows

    def on_missed(self, site: SiteId, group: GroupId, origin: SiteId, first: int, count: int) -> None:
        if count <= 0 and not self.untrue:
            self.untrue = f"{self._names[site]} is told that it missed {count} messages"
        if origin != ANY_ORIGIN:
            missing = Missing(group, origin, first, count)
            missing.later = self._later(missing)
            self.logs[site].missing.append(missing)
            return
        names = self.logs[site].of_group(group)
        if first != len(names) and not self.untrue:
            self.untrue = (
                f"{self._names[site]} is told that it missed positions {first} to {first + count - 1}, "
                f"where the next position was {len(names)}"
            )
        names.extend([NOT_TOLD] * (first + count - len(names)))

    def on_view(self, now: Micros, site: SiteId, members: list[SiteId]) -> None:
        self.views[site] = list(members)
        self.changes.append(now)

    def on_group(self, now: Micros, site: SiteId, group: GroupId, members: list[SiteId]) -> None:
        self._groups[site][group] = list(members)
        if site not in members:
            self._strangers.add((site, group))
        self.changes.append(now)

    def on_effect(self, now: Micros, site: SiteId, effect: Effect, position: int, is_up: bool) -> None:
        """For drivers that have a step's effects as a list."""
        if isinstance(effect, Deliver):
            self.on_deliver(site, effect.group, effect.origin, effect.seqno, position, is_up and effect.origin == site)
        elif isinstance(effect, Rollback):
            self.on_rollback(site, effect.group, effect.origin, effect.seqno)
        elif isinstance(effect, Missed):
            self.on_missed(site, effect.group, effect.origin, effect.first, effect.count)
        elif isinstance(effect, View):
            self.on_view(now, site, effect.members)
        elif isinstance(effect, GroupView):
            self.on_group(now, site, effect.group, effect.members)

    # Disks

    def save(self, site: SiteId) -> None:
        self._saved[site] = self.logs[site].copy()

    def exchange(self, site: SiteId, restored: bool) -> None:
        """The site's disk is the saved one, or an empty one."""
        self.past.append((site, self.logs[site]))
        saved = self._saved[site]
        self.logs[site] = saved.copy() if restored and saved is not None else Log()
        for group in range(len(self._founded)):
            if self._is_forgotten(group):
                self._forgotten[group] = len(self.past)

    def _is_forgotten(self, group: GroupId) -> bool:
        """Whether every member has lost a disk, and none was told anything on the one that it has."""
        members = self._founded[group]
        lost = {site for site, _ in self.past}
        return lost.issuperset(members) and not any(self.logs[site].told.get(group) for site in members)

    # Questions at the end

    def group_count(self) -> int:
        return len(self._founded)

    def order(self, group: GroupId) -> dict[int, int]:
        """By position of a group: the message that somebody has there, on whatever disk."""
        known = self._orders.get(group)
        if known is None:
            known = {}
            for site, log in self._logs_of(group):
                if self._was_there(site, group):
                    names = log.of_group(group)
                    for position in range(len(names)):
                        if names[position] != NOT_TOLD and position not in known:
                            known[position] = names[position]
            self._orders[group] = known
        return known

    def contradiction(self) -> str:
        """A position at which two disks have different messages; "" if there is none."""
        for group in range(len(self._founded)):
            order = self.order(group)
            for site, log in self._logs_of(group):
                names = log.told.get(group, [])
                for position in range(len(names)):
                    name = names[position]
                    if self._was_there(site, group) and name != NOT_TOLD and name != order[position]:
                        return (
                            f"position {position} of group {group} is {self.label(order[position])} at one site and "
                            f"{self.label(name)} at {self._names[site]}"
                        )
        return ""

    def _was_there(self, site: SiteId, group: GroupId) -> bool:
        """Whether the site was in the group from its beginning on, so that its positions are the group's."""
        return group < len(self._founded) and site in self._founded[group] and (site, group) not in self._strangers

    def _logs_of(self, group: GroupId) -> list[tuple[SiteId, Log]]:
        """Those whose positions of a group count: the present ones, and the past ones that it remembers."""
        forgotten = self._forgotten.get(group, 0) if self.positions_lost else 0
        return [(site, self.logs[site]) for site in range(len(self.logs))] + self.past[forgotten:]

    def named(self, missing: Missing) -> list[int]:
        """The messages that are meant: its origin's next ones to the group, so many, as far as there are any."""
        sent = [number for number in self.sent.get((missing.group, missing.origin), []) if number >= missing.first]
        return [name_of(missing.origin, number) for number in sent[: missing.count]]

    def _later(self, missing: Missing) -> int:
        meant = self.named(missing)
        last = seqno_of(meant[-1]) if meant else missing.first
        later = 0
        for (_, origin), numbers in self.sent.items():
            if origin == missing.origin:
                later += len([number for number in numbers if number > last])
        return later

    # In words

    def label(self, name: int) -> str:
        """A message as transcripts write it: origin:number."""
        return f"{self._names[origin_of(name)]}:{seqno_of(name)}"
