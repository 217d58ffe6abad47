"""Who is a member of a group, at a delivery and at the end of the run (docs/guarantees.md, "Views and members").

Sets of members are numbered; a number stands for a set and its group.
"""

import numpy as np

from tocsin.properties.kernels.arrays import NONE, Ints
from tocsin.properties.kernels.encode import View
from tocsin.properties.kernels.facts import ALL, RunFacts, SiteFacts


class Members:
    """Answers for one run."""

    def __init__(self, facts: RunFacts) -> None:
        self._facts = facts
        last = [site for site in facts.whole if site.is_last]
        self._down = frozenset(site.site for site in last if not site.up)
        excused = [site.site for site in last if site.is_shortened or site.left or site.is_later]
        self._excused = frozenset([*excused, *facts.truncated])
        stopped = [site for site in last if site.left and not (site.is_shortened or site.is_later)]
        self._stopped = {site.site: site for site in stopped if site.site not in facts.truncated}
        self._several = len({*facts.groups, *facts.given}) > 1
        views = [view for site in facts.whole for view in site.views]
        self._scopes = {view.group for view in views}  # None: of views of all groups at once
        self._first_views: dict[tuple[str | None, int], View] = {}  # (scope, number): by (site name, order)
        for view in views:
            self._first_views.setdefault((view.group, view.number), view)
        self._listed: dict[str, frozenset[str]] = {}
        self._last: dict[str, frozenset[str]] = {}
        self._ever: dict[str | None, frozenset[str]] = {}
        self._sets: list[tuple[str, frozenset[str]]] = []
        self._numbers: dict[tuple[str, frozenset[str]], int] = {}

    # Sets

    def set_number(self, group: str, sites: frozenset[str]) -> int:
        number = self._numbers.setdefault((group, sites), len(self._sets))
        if number == len(self._sets):
            self._sets.append((group, sites))
        return number

    def sites(self, number: int) -> frozenset[str]:
        return self._sets[number][1]

    def group_of_set(self, number: int) -> str:
        return self._sets[number][0]

    def obliged(self, number: int) -> list[str]:
        """Those of a set who owe what was delivered to it: correct, members at the end, asked at all; by name."""
        group, sites = self._sets[number]
        owing = (sites & self.last(group)) - self._down
        return sorted(site for site in owing if self.is_asked(site))

    def obliged_before_leaving(self, number: int) -> list[SiteFacts]:
        """Those of a set who have left, and were members then: they owe what they had passed; by name."""
        group, sites = self._sets[number]
        return [site for site in self.stopped(sites) if self.was_member_at_its_end(site, group)]

    def stopped(self, sites: frozenset[str]) -> list[SiteFacts]:
        """Those of some sites who have left: asked for those messages only of whose stream they delivered later ones;
        what they lack of these, they do not lack because they left. By name."""
        return [self._stopped[site] for site in sorted(sites & self._stopped.keys())]

    def was_member_at_its_end(self, site: SiteFacts, group: str) -> bool:
        """By the last view of its own log: those of the others may already be without a site that has left."""
        view = _last_view(site, self.scope(group))
        return site.site in (self.listed(group) if view is None else self.of_view(group, view))

    def is_asked(self, site: str) -> bool:
        """Whether it can be held against a site that its log has no row of a message: not if such a row may be
        missing, not if the site has left, and not if its disk is a new one.
        """
        return site not in self._excused

    # Groups

    def listed(self, group: str) -> frozenset[str]:
        """L(g): the members of a group, views aside."""
        if group not in self._listed:
            if group in self._facts.given:
                sites = self._facts.given[group]
            elif group == ALL:
                sites = self._facts.sites
            else:
                sites = frozenset(site.site for site in self._facts.whole if group in site.active)
            self._listed[group] = sites
        return self._listed[group]

    def scopes(self) -> set[str | None]:
        """The groups of view rows; None: of views of all groups at once."""
        return self._scopes

    def scope(self, group: str) -> str | None:
        """Which view rows are the views of a group: those with this group."""
        return group if group in self._scopes else None

    def is_restricted(self, group: str) -> bool:
        """Whether a view of this group lists the sites of other groups too."""
        return self._several and self.scope(group) is None

    def last(self, group: str) -> frozenset[str]:
        """F(g): the members at the end."""
        if group not in self._last:
            scope = self.scope(group)
            ends = [view for site in self._facts.whole if site.up and (view := _last_view(site, scope)) is not None]
            highest = max((view.number for view in ends), default=0)
            lists = {self.of_view(group, view) for view in ends if view.number == highest}
            self._last[group] = frozenset[str]().union(*lists) if lists else self.listed(group)
        return self._last[group]

    def stayed(self, site: SiteFacts, group: str) -> bool:
        """Whether a site that is a member at the end was one all along; it owes itself its own broadcasts then."""
        if site.site not in self.last(group):
            return False
        if self.scope(group) is None:
            return True
        listed = site.site in self.listed(group) and not site.is_shortened
        return listed and all(site.site in view.members for view in site.views if view.group == group)

    def is_outside(self, site: str, group: str) -> bool:
        """Whether a site is known to be no member, ever: it only sends to the group."""
        if group in self._facts.given:
            if site in self._facts.given[group]:
                return False
        elif group not in self._scopes:
            return False  # whoever sends to a group counts as a member, if nothing says who is
        return group not in self._scopes or site not in self.ever(group)

    def ever(self, scope: str | None) -> frozenset[str]:
        """Whoever is in a view of this scope."""
        if scope not in self._ever:
            lists = [view.members for site in self._facts.whole for view in site.views if view.group == scope]
            self._ever[scope] = frozenset[str]().union(*lists)
        return self._ever[scope]

    def has_stable_member(self, group: str) -> bool:
        """Whether a member that is up, and that it can be held against, was one all along: an outside source may rely
        on it."""
        facts = self._facts
        if facts.has_truncated() or facts.shortened:
            return False
        for site in self.last(group):
            log = facts.index.get(site)
            if self.is_asked(site) and (log is None or (facts.whole[log].up and self.stayed(facts.whole[log], group))):
                return True
        return False

    def of_view(self, group: str, view: View) -> frozenset[str]:
        return view.members & self.listed(group) if self.is_restricted(group) else view.members

    # Deliveries

    def at_deliveries(self, site: SiteFacts, groups: list[str], group: Ints, orders: Ints, views: Ints) -> Ints:
        """M(d) of a site's deliveries, as numbers of sets: by their groups (indices into `groups`), orders and
        views.
        """
        if not self._facts.has_views:
            numbers = np.array([self.set_number(name, self.listed(name)) for name in groups], np.int64)
            return numbers[group]
        intervals = np.searchsorted(np.array([view.order for view in site.views], np.int64), orders)
        view_values, view_codes = np.unique(views, return_inverse=True)
        keys = (intervals * len(groups) + group) * len(view_values) + view_codes
        distinct, inverse = np.unique(keys, return_inverse=True)
        found = np.empty(len(distinct), np.int64)
        for index, key in enumerate(distinct.tolist()):
            rest, view_code = divmod(key, len(view_values))
            interval, code = divmod(rest, len(groups))
            found[index] = self._at_delivery(site, interval, groups[code], int(view_values[view_code]))
        return found[inverse]

    def _at_delivery(self, site: SiteFacts, before: int, group: str, number: int) -> int:
        """`before`: how many of the site's views come before the delivery."""
        scope = self.scope(group)
        view: View | None = None
        for own in reversed(site.views[:before]):
            if own.group == scope and number in (NONE, own.number):
                view = own
                break
        if view is None and number != NONE:
            view = self._first_views.get((scope, number))
        if view is not None:
            return self.set_number(group, self.of_view(group, view))
        is_dropped = site.is_shortened and scope in self._scopes  # the row that says who they were
        return self.set_number(group, frozenset() if is_dropped else self.listed(group))


def _last_view(site: SiteFacts, scope: str | None) -> View | None:
    return next((view for view in reversed(site.views) if view.group == scope), None)
