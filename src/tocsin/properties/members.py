"""Who is a member of a group: at a delivery, and at the end of the run (docs/guarantees.md, "Views and members").

Sets of members are numbered; a number stands for a set and its group.
"""

from __future__ import annotations  # array[int] is an annotation only before Python 3.12

from array import array
from collections.abc import Mapping
from collections.abc import Sequence as Names

from tocsin.properties.history import IS_ROLLBACK, NONE, History, Log, View
from tocsin.properties.sequences import Sequence

ALL = "all"  # the group of every site of the run, unless something says otherwise


class Members:
    """Answers for one run; the logs are the whole ones, by site name."""

    def __init__(
        self,
        history: History,
        logs: list[Log],
        truncated: Mapping[str, str],
        groups: Mapping[str, Names[str]],
    ) -> None:
        self._history = history
        self._logs = logs
        self._given = {group: frozenset(sites) for group, sites in groups.items()}
        self._truncated = truncated
        self._down = frozenset(log.site for log in logs if not log.up)
        self._active: dict[str, set[str]] = {}  # group: sites that broadcast to it or delivered in it
        self.groups: list[str] = []  # with a broadcast, deliver or rollback row, by name
        self._find_groups()
        self._several = len({*self.groups, *groups}) > 1
        self._own_views = {view.group for log in logs for view in log.views if view.group is not None}
        self._has_views = any(log.views for log in logs)
        self._first_views: dict[tuple[str | None, int], View] = {}  # (scope, number): by (site name, order)
        for log in logs:
            for view in log.views:
                self._first_views.setdefault((view.group, view.number), view)
        self._listed: dict[str, frozenset[str]] = {}
        self._last: dict[str, frozenset[str]] = {}
        self._ends: dict[str | None, list[View]] = {}  # by scope
        self._sets: list[tuple[str, frozenset[str]]] = []
        self._numbers: dict[tuple[str, frozenset[str]], int] = {}
        self._obliged: dict[int, frozenset[str]] = {}
        self._unions: dict[tuple[int, int], int] = {}

    def _find_groups(self) -> None:
        stream_of = self._history.stream_of
        streams: set[int] = set()
        for log in self._logs:
            used = set(map(stream_of.__getitem__, log.messages))
            streams |= used
            if IS_ROLLBACK in log.events:
                pairs = zip(log.events, log.messages, strict=True)
                used = {stream_of[message] for event, message in pairs if event != IS_ROLLBACK}
            for stream in used:
                self._active.setdefault(self._group(stream), set()).add(log.site)
        self.groups = sorted({self._group(stream) for stream in streams})

    def _group(self, stream: int) -> str:
        group = self._history.streams[stream].group
        assert group is not None, "only receive rows name no group"
        return group

    # Sets of members

    def set_number(self, group: str, sites: frozenset[str]) -> int:
        number = self._numbers.setdefault((group, sites), len(self._sets))
        if number == len(self._sets):
            self._sets.append((group, sites))
        return number

    def sites(self, number: int) -> frozenset[str]:
        return self._sets[number][1]

    def union(self, one: int, other: int) -> int:
        """The number of both sets together; they are of one group."""
        key = (one, other)
        if key not in self._unions:
            group, sites = self._sets[one]
            self._unions[key] = self.set_number(group, sites | self._sets[other][1])
        return self._unions[key]

    def obliged(self, number: int) -> frozenset[str]:
        """Those of a set who owe what was delivered to it: correct, members at the end, their logs not truncated."""
        if number not in self._obliged:
            group, sites = self._sets[number]
            self._obliged[number] = frozenset(
                site for site in sites & self.last(group) if self.is_correct(site) and site not in self._truncated
            )
        return self._obliged[number]

    def is_correct(self, site: str) -> bool:
        return site not in self._down

    # Groups

    def listed(self, group: str) -> frozenset[str]:
        """L(g): the members of a group, views aside."""
        if group not in self._listed:
            if group in self._given:
                sites = self._given[group]
            elif group == ALL:
                sites = frozenset(log.site for log in self._logs)
            else:
                sites = frozenset(self._active.get(group, ()))
            self._listed[group] = sites
        return self._listed[group]

    def scope(self, group: str) -> str | None:
        """Which view rows are the views of a group: those with this group."""
        return group if group in self._own_views else None

    def views(self, log: Log, group: str) -> list[View]:
        scope = self.scope(group)
        return [view for view in log.views if view.group == scope]

    def is_restricted(self, group: str) -> bool:
        """Whether a view of this group lists the sites of other groups too."""
        return self._several and self.scope(group) is None

    def of_view(self, group: str, view: View) -> frozenset[str]:
        return view.members & self.listed(group) if self.is_restricted(group) else view.members

    def last(self, group: str) -> frozenset[str]:
        """F(g): the members at the end."""
        if group not in self._last:
            ends = self._last_views(self.scope(group))
            lists = [self.of_view(group, view) for view in ends]
            self._last[group] = frozenset[str]().union(*lists) if lists else self.listed(group)
        return self._last[group]

    def stayed(self, log: Log, group: str) -> bool:
        """Whether a site that is a member at the end was one all along; it owes itself its own broadcasts then."""
        if log.site not in self.last(group):
            return False
        if self.scope(group) is None:
            return True
        listed = log.site in self.listed(group)
        return listed and all(log.site in view.members for view in self.views(log, group))

    def _last_views(self, scope: str | None) -> list[View]:
        """The last views of correct sites, those with the greatest number; each view once."""
        if scope not in self._ends:
            views: list[View] = []
            for log in self._logs:
                own = next((view for view in reversed(log.views) if view.group == scope), None)
                if own is None or not log.up or (views and own.number < views[0].number):
                    continue
                if views and own.number > views[0].number:
                    views = []
                if not any(own.same_as(view) for view in views):
                    views.append(own)
            self._ends[scope] = views
        return self._ends[scope]

    # Deliveries

    def at_deliveries(self, log: Log, sequence: Sequence) -> list[int]:
        """M(d), as the number of a set, for each delivery of a sequence."""
        streams = [self._history.stream_of[message] for message in sequence.messages]
        groups = {stream: self._group(stream) for stream in set(streams)}
        if self._has_views:
            return self._walk(log, sequence.places, [groups[stream] for stream in streams])
        numbers = {stream: self.set_number(group, self.listed(group)) for stream, group in groups.items()}
        return [numbers[stream] for stream in streams]

    def _walk(self, log: Log, places: array[int], groups: list[str]) -> list[int]:
        """The same, walking through the deliveries and the views of a log together."""
        installed: dict[tuple[str | None, int], View] = {}  # (scope, number), so far
        newest: dict[str | None, int] = {}  # scope: the number of the last view so far
        waiting = iter([*log.views, None])
        view = next(waiting)
        found: dict[tuple[str, int], int] = {}  # (group, number): set, since the last view
        numbers: list[int] = []
        for place, group in zip(places, groups, strict=True):
            order = log.orders[place]
            while view is not None and view.order < order:
                installed[(view.group, view.number)] = view
                newest[view.group] = view.number
                found.clear()
                view = next(waiting)
            key = (group, log.view_numbers[place])
            if key not in found:
                found[key] = self._at_delivery(key, installed, newest)
            numbers.append(found[key])
        return numbers

    def _at_delivery(
        self,
        key: tuple[str, int],
        installed: dict[tuple[str | None, int], View],
        newest: dict[str | None, int],
    ) -> int:
        group, number = key
        scope = self.scope(group)
        if number == NONE:
            number = newest.get(scope, NONE)
        view = installed.get((scope, number)) or self._first_views.get((scope, number))
        return self.set_number(group, self.listed(group) if view is None else self.of_view(group, view))
