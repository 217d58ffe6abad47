"""View synchrony: who goes from one view to the next together has delivered the same in between.

docs/guarantees.md, section 6.
"""

from bisect import bisect_left
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from tocsin.properties.case import Case
from tocsin.properties.finding import Finding
from tocsin.properties.history import View
from tocsin.traces.rows import VIEW, Row


class _Passage(NamedTuple):
    """A site on its way from one view to the next, and what it delivered in a group in between."""

    log: int
    group: str
    old: View
    new: View
    messages: frozenset[int]

    def transition(self) -> tuple[str, int, frozenset[str], int, frozenset[str]]:
        return self.group, self.old.number, self.old.members, self.new.number, self.new.members


class _Transition:
    """The passages with the same two views, compared with the first of them."""

    def __init__(self, first: _Passage) -> None:
        self.first = first
        self.passages = 1
        self.different: _Passage | None = None  # the first that delivered something else


def check_view_synchrony(case: Case) -> Finding:
    if not any(log.views for log in case.logs):
        obstacle = case.truncation or (case.lacking(VIEW) if case.has_deliveries else None)
        return Finding(0, obstacle=obstacle)
    transitions: dict[tuple[str, int, frozenset[str], int, frozenset[str]], _Transition] = {}
    for index in range(len(case.logs)):
        for passage in _passages(case, index):
            transition = transitions.setdefault(passage.transition(), _Transition(passage))
            if transition.first is passage:
                continue
            transition.passages += 1
            if transition.different is None and transition.first.messages != passage.messages:
                transition.different = passage
    shared = [transition for transition in transitions.values() if transition.passages > 1]
    checked = sum(transition.passages for transition in shared)
    broken = [(each.first, each.different) for each in shared if each.different is not None]
    if not broken:
        return Finding(checked, obstacle=case.truncation)
    rows, why = _explain(case, *broken[0])
    return Finding(checked, len(broken), rows, why, case.truncation)


def _passages(case: Case, index: int) -> Iterator[_Passage]:
    log = case.logs[index]
    members = case.members
    if not log.views:
        return
    sequence = case.sequences[index]
    orders = [log.orders[place] for place in sequence.places]
    by_scope: dict[str | None, list[str]] = {}
    for group in members.groups:
        if not members.is_restricted(group) or log.site in members.listed(group):
            by_scope.setdefault(members.scope(group), []).append(group)
    for scope, groups in by_scope.items():
        views = [view for view in log.views if view.group == scope]
        for old, new in pairwise(views):
            crashed = bisect_left(log.crashes, old.order) < bisect_left(log.crashes, new.order)
            if crashed or old.same_as(new) or log.site not in old.members:
                continue  # who is not in the first view has nothing to deliver in it
            between = sequence.messages[bisect_left(orders, old.order) : bisect_left(orders, new.order)]
            delivered: dict[str | None, list[int]] = {}
            for message in between:
                delivered.setdefault(case.history.stream(message).group, []).append(message)
            for group in groups:
                yield _Passage(index, group, old, new, frozenset(delivered.get(group, ())))


def _explain(case: Case, one: _Passage, other: _Passage) -> tuple[tuple[Row, ...], str]:
    """The delivery that only one has, and both passages."""
    if not one.messages - other.messages:
        one, other = other, one
    sequence = case.sequences[one.log]
    only = one.messages - other.messages
    message = next(message for message in sequence.messages if message in only)
    sites = case.logs[one.log].site, case.logs[other.log].site
    rows = (one.old.row, case.delivery_row(one.log, message), one.new.row, other.old.row, other.new.row)
    why = (
        f"between views {one.old.number} and {one.new.number} site {sites[0]} delivered {case.text(message)}, "
        f"site {sites[1]} did not"
    )
    return rows, why
