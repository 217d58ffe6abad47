"""Settled: when faults are over, everyone who is up and connected takes part, has everything, and views stay as they
are (docs/guarantees.md, section 7). What views say is known from the facts of the run; messages are looked at by slice.
"""

import numpy as np

from tocsin.properties.bad_rows import HIGHEST
from tocsin.properties.kernels.arrays import NONE, Flags, Ints, distinct
from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.encode import View
from tocsin.properties.kernels.facts import ALL, RunFacts, SiteFacts, Spot
from tocsin.properties.kernels.found import Found
from tocsin.properties.kernels.members import Members
from tocsin.properties.kernels.owed import by_set
from tocsin.properties.obstacles import tell_lacking

Sites = frozenset[str]


class Asking:
    """Of whom something is asked, in a run of which it is known when faults were over."""

    def __init__(self, facts: RunFacts, members: Members) -> None:
        assert facts.calm is not None
        self._facts = facts
        self._members = members
        self._calm = facts.calm
        self.logs = facts.connected()  # by site: the number of its log
        self._last: dict[str | None, View | None] = {}

    def connected(self, sites: Sites) -> Sites:
        """Up and connected. Who has no row at all is up."""
        facts = self._facts
        gone = (facts.sites - self.logs.keys()) | facts.truncated.keys() | self._calm.down
        return sites - gone

    def _without_dropped(self, sites: Sites) -> Sites:
        """Those whose logs have no older rows that were dropped."""
        whole = self._facts.whole
        return frozenset(site for site in sites if site not in self.logs or not whole[self.logs[site]].is_shortened)

    def site_facts(self, site: str) -> SiteFacts | None:
        return self._facts.whole[self.logs[site]] if site in self.logs else None

    def last_view(self, scope: str | None) -> View | None:
        """The last one that somebody who is asked has installed: the greatest number, of the first by name."""
        if scope not in self._last:
            ends = [views[-1] for log in self.logs.values() if (views := views_of(self._facts.whole[log], scope))]
            self._last[scope] = max(ends, key=lambda view: view.number, default=None)
        return self._last[scope]

    def is_owed_by_view(self, group: str) -> bool:
        """Whether the members at each delivery are owed it, and not simply all members of the group."""
        scope = self._members.scope(group)
        return scope is not None or (self._calm.parts_alone and None in self._members.scopes())

    def members(self, group: str) -> Sites:
        """Who is owed the group's messages, views at their deliveries aside."""
        last = self.last_view(self._members.scope(group)) if self.is_owed_by_view(group) else None
        sites = self._members.listed(group) if last is None else self._members.of_view(group, last)
        return self._without_dropped(self.connected(sites))

    def old_us(self, site: str) -> int:
        """A message that was broadcast later is not owed to a site yet."""
        patience, due_us = self._facts.patience, self._calm.due_us
        old_us = HIGHEST if due_us is None else due_us
        if patience is None:
            return old_us
        return min(old_us, self._facts.end_us(site) - max(patience.us, self._calm.bound_us))


def views_of(site: SiteFacts, scope: str | None) -> list[View]:
    return [view for view in site.views if view.group == scope]


# Views


def find_settled_views(facts: RunFacts, members: Members) -> Found:
    """Who does not take part, and who goes on installing views."""
    found = Found()
    if facts.calm is None or facts.is_early():
        return found
    asking = Asking(facts, members)
    calm_us = facts.calm_us()
    for scope in sorted(members.scopes(), key=lambda name: (name is not None, name or "")):
        last = asking.last_view(scope)
        for site in sorted(_expected(facts, members, asking, scope, last)):
            log = asking.site_facts(site)
            own = views_of(log, scope) if log is not None else []
            if not own and log is not None and log.is_shortened:
                continue  # the row may have been dropped
            found.checked += 1
            has_it = bool(own) and last is not None and own[-1].same_as(last)
            if not has_it or (scope is None and site not in own[-1].members):
                _note(found, *_left_out(facts, asking, scope, site, own, last))
        for log_number in asking.logs.values():
            log = facts.whole[log_number]
            late = [view for view in views_of(log, scope) if view.time_us > calm_us]
            found.checked += len(late)
            for view in late:
                if view.time_us > calm_us + facts.calm.bound_us:
                    why = f"site {log.site} installed view {view.number} at {view.time_us} us, faults were over at "
                    _note(found, log.spot(view.order), f"{why}{calm_us} us")
    return found


def _expected(
    facts: RunFacts, members: Members, asking: Asking, scope: str | None, last: View | None
) -> frozenset[str]:
    """Who has to have the last view."""
    sites: set[str] = set()
    if scope is not None:
        before = facts.given.get(scope, frozenset())
        for site, log in asking.logs.items():
            own = views_of(facts.whole[log], scope)
            if site in (own[-1].members if own else before):
                sites.add(site)  # it believes to be a member
        return asking.connected(frozenset(sites | last.members if last is not None else sites))
    sites |= members.ever(None)
    for group in {*facts.groups, *facts.given}:
        if members.scope(group) is None and (group in facts.given or group == ALL):
            sites |= members.listed(group)
    for site, log in asking.logs.items():
        if any(members.scope(group) is None for group in facts.whole[log].delivered):
            sites.add(site)
    return asking.connected(frozenset(sites))


def _left_out(
    facts: RunFacts, asking: Asking, scope: str | None, site: str, own: list[View], last: View | None
) -> tuple[Spot, str]:
    if last is None:
        spots = [log.spot(view.order) for log in facts.whole for view in views_of(log, scope)]
        return spots[-1], f"site {site}, up and connected, is in no view; nor is anybody else"
    spot = next(
        log.spot(view.order)
        for log in map(facts.whole.__getitem__, asking.logs.values())
        for view in views_of(log, scope)[-1:]
        if view.same_as(last)
    )
    if own and not own[-1].same_as(last):
        return spot, f"site {site}, up and connected, is still in view {own[-1].number}, not in {last.number}"
    return spot, f"site {site}, up and connected, does not take part in the last view, {last.number}"


def _note(found: Found, spot: Spot, why: str) -> None:
    found.violations += 1
    if found.witness is None:
        found.witness, found.why = (spot,), why


# Messages


def find_settled_messages(case: Case) -> Found:
    """Which messages somebody lacks who is owed them."""
    found = Found()
    facts = case.facts
    if facts.calm is None or facts.is_early():
        return found
    asking = Asking(facts, case.members)
    messages = _Messages(case, asking)
    group_of = case.group_of_stream[case.stream_of]
    for number, name in enumerate(case.group_names):
        own = np.flatnonzero(messages.candidates & (group_of == number))
        if not asking.is_owed_by_view(name):
            messages.ask(own, asking.members(name))
        else:
            messages.ask(own[messages.first[own] < 0], asking.members(name))
    for owing, deliveries in by_set(case, messages.obliging):
        name = case.members.group_of_set(owing)
        if asking.is_owed_by_view(name):
            delivered = distinct(case.sequence_message[deliveries], case.count)
            messages.ask(delivered, case.members.sites(owing) & asking.members(name))
    lacking = np.flatnonzero(messages.lacking >= 0)
    found.checked = int(np.count_nonzero(messages.asked & ~(messages.young & (messages.lacking < 0))))
    found.violations = len(lacking)
    if len(lacking):
        message = int(lacking[0])
        found.witness = (case.spot(messages.row_of(message)),)
        site = messages.owing[int(messages.lacking[message])]
        found.why = tell_lacking(site, case.text(message), bool(messages.first[message] >= 0))
    return found


class _Messages:
    """The messages of a case, and who lacks which. Only deliveries of those who are asked count."""

    def __init__(self, case: Case, asking: Asking) -> None:
        self._case = case
        self._asking = asking
        is_asked = np.zeros(len(case.facts.whole), np.bool_)
        is_asked[list(asking.logs.values())] = True
        self.obliging: Flags = is_asked[case.sequence_log] & case.sequence_core
        places = np.flatnonzero(is_asked[case.sequence_log])
        self.first: Ints = np.full(case.count, -1, np.int64)  # by message: its first delivery, in `case.sequence`
        self.first[case.sequence_message[places[::-1]]] = places[::-1]
        self._shown: Ints = np.full(case.count, -1, np.int64)  # the same, of whichever log: it says the position
        everywhere = np.arange(len(case.sequence_log))[::-1]
        self._shown[case.sequence_message[everywhere]] = everywhere
        self._shown = np.where(self.first >= 0, self.first, self._shown)
        self.candidates: Flags = self._candidates(is_asked)
        self.asked: Flags = np.zeros(case.count, np.bool_)
        self.young: Flags = np.zeros(case.count, np.bool_)  # somebody lacks it who is not owed it yet
        self.lacking: Ints = np.full(case.count, -1, np.int64)  # by message: a site of `owing` that lacks it
        self.owing: list[str] = []
        rows = np.where(case.first_broadcast >= 0, case.first_broadcast, self._delivery_rows())
        self._times: Ints = case.rows.time_us[rows] if case.count else np.zeros(0, np.int64)

    def _candidates(self, is_asked: Flags) -> Flags:
        """Delivered by somebody, or broadcast and not given up."""
        case = self._case
        sent = (case.source >= 0) & is_asked[case.source]
        for log in np.flatnonzero(is_asked).tolist():
            sent[case.duplicates(log)] = False
            lost = case.numbers(case.facts.whole[log].lost)
            sent[lost[case.source[lost] == log]] = False
        return ((self.first >= 0) | sent) & case.core

    def _delivery_rows(self) -> Ints:
        """By message: the row of its first delivery; any row for those that have none."""
        if len(self._case.sequence) == 0:
            return np.zeros(self._case.count, np.int64)
        return self._case.sequence[np.maximum(self.first, 0)]

    def row_of(self, message: int) -> int:
        """The row that shows that there is such a message."""
        broadcast = int(self._case.first_broadcast[message])
        return broadcast if broadcast >= 0 else int(self._case.sequence[self.first[message]])

    def ask(self, messages: Ints, sites: Sites) -> None:
        """Look for what these sites lack of some messages."""
        if not sites or len(messages) == 0:
            return
        self.asked[messages] = True
        for site in sorted(sites):
            log = self._asking.logs.get(site)
            missing = messages if log is None else messages[self._case.delivery(log, messages) < 0]
            if len(missing) and log is not None:
                missing = missing[~self._excused(log, missing)]
            due = self._times[missing] <= self._asking.old_us(site)
            self.young[missing[~due]] = True
            self.lacking[missing[due]] = len(self.owing)
            self.owing.append(site)

    def _excused(self, log: int, messages: Ints) -> Flags:
        """Which of them the site was told that it will never get."""
        case = self._case
        excused = np.zeros(len(messages), np.bool_)
        for gap in case.facts.whole[log].gaps:
            fits = np.array(
                [group == gap.group and gap.origin in (None, origin) for group, origin in case.streams], np.bool_
            )[case.stream_of[messages]]
            numbers = self._positions(messages) if gap.by_position else case.seqno_of[messages]
            known = numbers != NONE if gap.by_position else True
            end = gap.end if gap.by_position else case.end_of(gap)
            excused |= fits & known & (numbers >= gap.first) & (numbers < end)
        return excused

    def _positions(self, messages: Ints) -> Ints:
        """In their group's sequence; NONE where nobody says it."""
        case = self._case
        places = self._shown[messages]
        if len(case.rows.position) == 0 or len(case.sequence) == 0:
            return np.full(len(messages), NONE)
        return np.where(places >= 0, case.rows.position[case.sequence[np.maximum(places, 0)]], NONE)
