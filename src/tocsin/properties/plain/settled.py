"""Settled: when faults are over, everyone who is up and connected takes part, has everything, and views stay as they
are (docs/guarantees.md, section 7)."""

from collections.abc import Iterable

from tocsin.properties.obstacles import NO_CALM, TOO_EARLY, tell_lacking
from tocsin.properties.plain.finding import Finding
from tocsin.properties.plain.history import Log, Message, Run, text
from tocsin.properties.plain.members import ALL, NOBODY, Members, Sites
from tocsin.traces.calm import Calm
from tocsin.traces.rows import DELIVER, Row


def find_settled(run: Run, members: Members) -> Finding:
    if run.calm is None:
        return Finding(0, obstacle=run.truncation or NO_CALM.format(run=run.name))
    return _Settled(run, members, run.calm).find()


class _Offence:
    def __init__(self, row: Row, why: str) -> None:
        self.row = row
        self.why = why


class _Settled:
    """One run of which it is known when faults were over."""

    def __init__(self, run: Run, members: Members, calm: Calm) -> None:
        self._run = run
        self._members = members
        self._calm = calm
        up = [log for log in run.logs.values() if log.is_up and not log.has_left and log.site not in calm.down]
        self._logs = {log.site: log for log in up}  # of whom something is asked, by site
        moved = [log.moved_us for log in run.logs.values() if log.moved_us is not None]
        self._calm_us = max([calm.since_us, *moved])  # the bound counts from here
        self._scopes = {view.group for log in run.logs.values() for view in log.views}
        self._last = {scope: self._last_view(scope) for scope in self._scopes}
        self._offences: list[_Offence] = []
        self._checked = 0

    def find(self) -> Finding:
        run = self._run
        if any(self._is_early(site) for site in self._logs):
            early = TOO_EARLY.format(run=run.name, bound_us=self._calm.bound_us, from_us=self._calm_us)
            return Finding(0, obstacle=run.truncation or early)
        for scope in sorted(self._scopes, key=lambda name: (name is not None, name or "")):
            self._look_at_views(scope)
        self._look_at_messages()
        obstacle = run.truncation or run.shortening
        if not self._offences:
            return Finding(self._checked, obstacle=obstacle)
        first = self._offences[0]
        return Finding(self._checked, len(self._offences), (first.row,), first.why, obstacle)

    # Who is asked, and from when on

    def _is_connected(self, site: str) -> bool:
        """Up and connected: of these something is asked. Who has no row at all is up."""
        if site in self._logs:
            return True
        return site not in self._run.sites and site not in self._run.truncated and site not in self._calm.down

    def _connected(self, sites: Iterable[str]) -> Sites:
        return frozenset(site for site in sites if self._is_connected(site))

    def _without_dropped(self, sites: Sites) -> Sites:
        """Those whose logs have no older rows that were dropped."""
        return frozenset(site for site in sites if site not in self._logs or not self._logs[site].is_shortened)

    def _is_early(self, site: str) -> bool:
        """Whether the log ends before the group had its bound."""
        due_us = self._calm.due_us
        if due_us is not None and due_us < self._calm_us:
            return True
        return self._run.patience is not None and self._run.end_us(site) < self._calm_us + self._calm.bound_us

    def _is_young(self, time_us: int, site: str) -> bool:
        """Whether a message of that time is not owed to a site yet."""
        due_us, patience = self._calm.due_us, self._run.patience
        if due_us is not None and time_us > due_us:
            return True
        return patience is not None and time_us > self._run.end_us(site) - max(patience.us, self._calm.bound_us)

    # Views

    def _views(self, log: Log, scope: str | None) -> list[Row]:
        return [view for view in log.views if view.group == scope]

    def _last_view(self, scope: str | None) -> Row | None:
        """The last one that somebody who is asked has installed: the greatest number, of the first by name."""
        ends = [views[-1] for log in self._logs.values() if (views := self._views(log, scope))]
        return max(ends, key=lambda view: view.view or 0, default=None)

    def _look_at_views(self, scope: str | None) -> None:
        last = self._last[scope]
        for site in sorted(self._expected(scope, last)):
            log = self._logs.get(site)
            own = self._views(log, scope) if log is not None else []
            if not own and log is not None and log.is_shortened:
                continue  # the row may have been dropped
            self._checked += 1
            has_it = bool(own) and last is not None and _same(own[-1], last)
            if not has_it or (scope is None and site not in (own[-1].members or ())):
                self._offences.append(self._left_out(scope, site, own, last))
        end_us = self._calm_us + self._calm.bound_us
        for log in self._logs.values():
            late = [view for view in self._views(log, scope) if view.time_us > self._calm_us]
            self._checked += len(late)
            for view in late:
                if view.time_us > end_us:
                    why = f"site {log.site} installed view {view.view} at {view.time_us} us, faults were over at "
                    self._offences.append(_Offence(view, f"{why}{self._calm_us} us"))

    def _expected(self, scope: str | None, last: Row | None) -> Sites:
        """Who has to have the last view."""
        members = self._members
        if scope is not None:
            before = self._run.given.get(scope, ())
            believing = [
                site
                for site, log in self._logs.items()
                if (site in (views[-1].members or ()) if (views := self._views(log, scope)) else site in before)
            ]
            return self._connected([*believing, *((last.members or ()) if last is not None else ())])
        sites: set[str] = set(members.ever(None))
        for group in {*self._run.groups, *self._run.given}:
            if members.scope(group) is None and (group in self._run.given or group == ALL):
                sites |= members.listed(group)
        for site, log in self._logs.items():
            delivered = {message[0] for message, row in log.entries if row.event == DELIVER}
            if any(members.scope(group) is None for group in delivered):
                sites.add(site)
        return self._connected(sites)

    def _left_out(self, scope: str | None, site: str, own: list[Row], last: Row | None) -> _Offence:
        if last is None:
            every = [view for log in self._run.logs.values() for view in self._views(log, scope)]
            return _Offence(every[-1], f"site {site}, up and connected, is in no view; nor is anybody else")
        if own and not _same(own[-1], last):
            return _Offence(last, f"site {site}, up and connected, is still in view {own[-1].view}, not in {last.view}")
        return _Offence(last, f"site {site}, up and connected, does not take part in the last view, {last.view}")

    # Messages

    def _look_at_messages(self) -> None:
        run = self._run
        positions: dict[Message, int | None] = {}  # of the first delivery, by who is asked if there is one
        first: dict[Message, Row] = {}
        for log in self._logs.values():
            for message, row in log.sequence.items():
                if message not in first:
                    first[message], positions[message] = row, row.position
        for log in run.logs.values():  # nobody who is asked has it: where it was on a disk that is no more
            for message, row in log.sequence.items():
                positions.setdefault(message, row.position)
        given_up = {message for log in self._logs.values() for message in log.lost if run.sources.get(message) is log}
        given_up.update(*(log.duplicates for log in self._logs.values()))
        own = {message for message, log in run.sources.items() if self._logs.get(log.site) is log}
        owing = self._owing_by_view()
        for message in sorted({*first, *(own - given_up)}):
            row = run.broadcasts.get(message) or first[message]
            group = message[0]
            if not self._is_owed_by_view(group):
                asked = self._without_dropped(self._connected(self._members.listed(group)))
            elif message in first:
                asked = owing[message]
            else:
                asked = self._without_dropped(self._connected(self._last_members(group)))
            self._look_at_message(message, row, asked, message in first, positions.get(message))

    def _look_at_message(
        self, message: Message, row: Row, asked: Sites, is_delivered: bool, position: int | None
    ) -> None:
        if not asked:
            return
        lacking = [site for site in sorted(asked) if self._lacks(site, message, position)]
        due = [site for site in lacking if not self._is_young(row.time_us, site)]
        if lacking and not due:
            return  # nothing is owed yet
        self._checked += 1
        if due:
            self._offences.append(_Offence(row, tell_lacking(due[0], text(message), is_delivered)))

    def _lacks(self, site: str, message: Message, position: int | None) -> bool:
        log = self._logs.get(site)
        if log is None:
            return True
        if message in log.sequence:
            return False
        group, origin, seqno = message
        numbers = self._run.numbers(group, origin) if log.gaps else []
        return not any(gap.group == group and gap.covers(origin, seqno, position, numbers) for gap in log.gaps)

    def _is_owed_by_view(self, group: str) -> bool:
        """Whether the members at each delivery are owed it, and not simply all members of the group."""
        scope = self._members.scope(group)
        return scope is not None or (self._calm.parts_alone and None in self._scopes)

    def _last_members(self, group: str) -> Sites:
        last = self._last.get(self._members.scope(group))
        return self._members.listed(group) if last is None else self._members.of_view(group, last)

    def _owing_by_view(self) -> dict[Message, Sites]:
        owing: dict[Message, Sites] = {}
        for log in self._logs.values():
            for message, at in zip(log.sequence, self._members.at_deliveries(log), strict=True):
                if self._is_owed_by_view(message[0]):
                    owing[message] = owing.get(message, NOBODY) | at
        return {
            message: self._without_dropped(self._connected(sites & self._last_members(message[0])))
            for message, sites in owing.items()
        }


def _same(one: Row, other: Row) -> bool:
    return one.view == other.view and frozenset(one.members or ()) == frozenset(other.members or ())
