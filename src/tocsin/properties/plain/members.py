"""Who is a member of a group: at a delivery, and at the end (docs/guarantees.md, "Views and members")."""

from bisect import bisect_left
from functools import cache, cached_property

from tocsin.properties.plain.history import Log, Message, Run
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
        gone = [log.name for log in run.logs.values() if log.is_shortened or log.has_left or log.is_later]
        self._excused = frozenset([*gone, *run.truncated])
        stopped = [log for log in run.logs.values() if log.has_left and not (log.is_shortened or log.is_later)]
        self._stopped = {log.site: log for log in stopped if log.site not in run.truncated}
        self.at_deliveries = cache(self._at_deliveries)
        self.listed = cache(self._listed)
        self.ever = cache(self._ever)
        self.has_stable_member = cache(self._stable)
        self.last = cache(self._last)
        self.obliged = cache(self._obliged)
        self._ended_in = cache(self._was_member_at_its_end)

    def _listed(self, group: str) -> Sites:
        """L(g)."""
        if group in self._run.given:
            return frozenset(self._run.given[group])
        if group == ALL:
            return frozenset(self._run.sites)
        return frozenset(site for site, groups in self._active.items() if group in groups)

    @cached_property
    def _active(self) -> dict[str, set[str]]:
        """By site: the groups in which it broadcast or delivered."""
        found: dict[str, set[str]] = {}
        for log in self._run.logs.values():
            groups = (entry.message[0] for entry in log.entries if entry.row.event != ROLLBACK)
            found.setdefault(log.site, set()).update(groups)
        return found

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
            key = (log.name, message[0], row.view, before)
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

    def is_outside(self, site: str, group: str) -> bool:
        """Whether a site is known to be no member, ever: it only sends to the group."""
        if group in self._run.given:
            if site in self._run.given[group]:
                return False
        elif group not in self._scopes:
            return False  # whoever sends to a group counts as a member, if nothing says who is
        return group not in self._scopes or site not in self.ever(group)

    def _ever(self, scope: str | None) -> Sites:
        """Whoever is in a view of this scope."""
        lists = [view.members or () for log in self._run.logs.values() for view in log.views if view.group == scope]
        return NOBODY.union(*lists)

    def _stable(self, group: str) -> bool:
        """Whether a member that is up, and that it can be held against, was one all along: an outside source may rely
        on it."""
        logs = self._run.logs
        if self._run.truncated or self._run.shortened:
            return False
        return any(
            site not in logs or (logs[site].is_up and self.stayed(logs[site], group))
            for site in self.last(group)
            if self.is_asked(site)
        )

    def is_asked(self, site: str) -> bool:
        """Whether it can be held against a site that its log has no row of a message: not if such a row may be
        missing, not if the site has left, and not if its disk is a new one."""
        return site not in self._excused

    def _obliged(self, group: str, sites: Sites) -> list[str]:
        """Those of some members who have to deliver what was delivered to them: correct, members at the end."""
        logs = self._run.logs
        owing = sorted(sites & self.last(group))
        return [site for site in owing if self.is_asked(site) and (site not in logs or logs[site].is_up)]

    def obliged_for(self, message: Message, sites: Sites) -> list[str]:
        """The same for one message: with those of them who have left, were members then, and had passed it."""
        obliged = self.obliged(message[0], sites)
        if not self._stopped:
            return obliged
        return [*obliged, *(site for site in self.passed(message, sites) if self._ended_in(site, message[0]))]

    def passed(self, message: Message, sites: Sites) -> list[str]:
        """Those of some sites who have left, and had delivered a later message of its stream before: what they lack of
        it, they do not lack because they left."""
        group, origin, seqno = message
        stream = (group, origin)
        return [
            site
            for site in sorted(sites & self._stopped.keys())
            if seqno < self._stopped[site].reached.get(stream, seqno)
        ]

    def _was_member_at_its_end(self, site: str, group: str) -> bool:
        """By the last view of its own log: those of the others may already be without a site that has left."""
        views = self.views(self._stopped[site], group)
        return site in (self.of_view(group, views[-1]) if views else self.listed(group))
