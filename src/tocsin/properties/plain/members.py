"""Who is a member of a group: at a delivery, and at the end (docs/guarantees.md, "Views and members")."""

from bisect import bisect_left
from functools import cache, cached_property

from tocsin.properties.plain.history import Log, Run
from tocsin.traces.rows import ROLLBACK, Row

Sites = frozenset[str]

ALL = "all"  # the group of every site of the run, unless something says otherwise
NOBODY: Sites = frozenset()


class Members:
    """Answers for one run. What is asked often is remembered."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._several = len({*run.groups, *run.given}) > 1
        views = [view for log in run.logs.values() for view in log.views]  # by (site name, order)
        self._scopes = {view.group for view in views}  # None: of views of all groups at once
        self._first_views: dict[tuple[str | None, int | None], Row] = {}  # by scope and number
        for view in views:
            self._first_views.setdefault((view.group, view.view), view)
        self._at: dict[tuple[str, str, int | None, int], Sites] = {}
        gone = [log.site for log in run.logs.values() if log.is_shortened or log.has_left]
        self._excused = frozenset([*gone, *run.truncated])
        self.at_deliveries = cache(self._at_deliveries)
        self.listed = cache(self._listed)
        self.last = cache(self._last)
        self.obliged = cache(self._obliged)

    def _listed(self, group: str) -> Sites:
        """L(g)."""
        if group in self._run.given:
            return frozenset(self._run.given[group])
        if group == ALL:
            return frozenset(self._run.logs)
        return frozenset(site for site, groups in self._active.items() if group in groups)

    @cached_property
    def _active(self) -> dict[str, set[str]]:
        """By site: the groups in which it broadcast or delivered."""
        return {
            site: {entry.message[0] for entry in log.entries if entry.row.event != ROLLBACK}
            for site, log in self._run.logs.items()
        }

    def scope(self, group: str) -> str | None:
        """The views of a group are the view rows with this group."""
        return group if group in self._scopes else None

    def views(self, log: Log, group: str) -> list[Row]:
        scope = self.scope(group)
        return [view for view in log.views if view.group == scope]

    def is_restricted(self, group: str) -> bool:
        """Whether a view of this group lists the sites of other groups too."""
        return self._several and self.scope(group) is None

    def of_view(self, group: str, view: Row) -> Sites:
        members = frozenset(view.members or ())
        return members & self.listed(group) if self.is_restricted(group) else members

    def _at_deliveries(self, log: Log) -> list[Sites]:
        """M(d) for each delivery of a site's sequence."""
        if not self._scopes:
            return [self.listed(message[0]) for message in log.sequence]
        orders = [view.order for view in log.views]
        found: list[Sites] = []
        for message, row in log.sequence.items():
            before = bisect_left(orders, row.order)
            key = (log.site, message[0], row.view, before)
            if key not in self._at:
                self._at[key] = self._members_at(log, message[0], row.view, before)
            found.append(self._at[key])
        return found

    def _members_at(self, log: Log, group: str, number: int | None, before: int) -> Sites:
        scope = self.scope(group)
        own = [view for view in log.views[:before] if view.group == scope]
        if number is None and own:
            number = own[-1].view
        view = next((view for view in reversed(own) if view.view == number), None)
        view = view or self._first_views.get((scope, number))
        if view is not None:
            return self.of_view(group, view)
        if log.is_shortened and scope in self._scopes:
            return NOBODY  # the row that says it was dropped
        return self.listed(group)

    def _last(self, group: str) -> Sites:
        """F(g)."""
        ends = [views[-1] for log in self._run.logs.values() if log.is_up and (views := self.views(log, group))]
        number = max((view.view or 0 for view in ends), default=0)
        lists = [self.of_view(group, view) for view in ends if view.view == number]
        return NOBODY.union(*lists) if lists else self.listed(group)

    def stayed(self, log: Log, group: str) -> bool:
        """Whether a site that is a member at the end was one all along; it owes itself its own broadcasts then."""
        if log.site not in self.last(group):
            return False
        if self.scope(group) is None:
            return True
        listed = log.site in self.listed(group) and not log.is_shortened
        return listed and all(log.site in (view.members or ()) for view in self.views(log, group))

    def is_asked(self, site: str) -> bool:
        """Whether it can be held against a site that its log has no row of a message: not if such a row may be
        missing, and not if the site has left."""
        return site not in self._excused

    def _obliged(self, group: str, sites: Sites) -> list[str]:
        """Those of some members who have to deliver what was delivered to them: correct, members at the end."""
        logs = self._run.logs
        owing = sorted(sites & self.last(group))
        return [site for site in owing if self.is_asked(site) and (site not in logs or logs[site].is_up)]
