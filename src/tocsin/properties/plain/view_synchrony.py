"""View synchrony: who goes from one view to the next together has delivered the same in between.

docs/guarantees.md, section 6.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from tocsin.properties.obstacles import NO_VIEWS
from tocsin.properties.plain.finding import Finding
from tocsin.properties.plain.history import Message, Run, text
from tocsin.properties.plain.members import Members
from tocsin.traces.rows import Row


class _Passage(NamedTuple):
    """A site on its way from one view to the next, and what it delivered of a group in between."""

    site: str
    group: str
    old: Row
    new: Row
    messages: dict[Message, Row]

    def transition(self) -> tuple[object, ...]:
        old, new = self.old, self.new
        return self.group, old.view, frozenset(old.members or ()), new.view, frozenset(new.members or ())


def find_view_synchrony(run: Run, members: Members) -> Finding:
    if not any(log.views for log in run.logs.values()):
        return Finding(0, obstacle=run.truncation or run.lacking(NO_VIEWS))
    transitions: dict[tuple[object, ...], list[_Passage]] = {}
    for passage in _passages(run, members):
        transitions.setdefault(passage.transition(), []).append(passage)
    shared = [passages for passages in transitions.values() if len(passages) > 1]
    checked = sum(map(len, shared))
    broken = [
        (passages[0], other)
        for passages in shared
        for other in passages[1:]
        if other.messages.keys() != passages[0].messages.keys()
    ]
    different = len({one.transition() for one, _ in broken})
    if not broken:
        return Finding(checked, obstacle=run.truncation)
    rows, why = _tell(*broken[0])
    return Finding(checked, different, rows, why, run.truncation)


def _passages(run: Run, members: Members) -> Iterator[_Passage]:
    for log in run.logs.values():
        for group in run.groups if log.views else ():
            if members.is_restricted(group) and log.site not in members.listed(group):
                continue
            own = [(message, row) for message, row in log.sequence.items() if message[0] == group]
            for old, new in pairwise(members.views(log, group)):
                if any(old.order < order < new.order for order in log.interruptions):
                    continue
                if log.site not in (old.members or ()):
                    continue  # it has nothing to deliver in that view
                if old.view == new.view and frozenset(old.members or ()) == frozenset(new.members or ()):
                    continue
                between = {message: row for message, row in own if old.order < row.order < new.order}
                yield _Passage(log.site, group, old, new, between)


def _tell(one: _Passage, other: _Passage) -> tuple[tuple[Row, ...], str]:
    """The delivery that only one has, and both passages."""
    if one.messages.keys() <= other.messages.keys():
        one, other = other, one
    message = next(message for message in one.messages if message not in other.messages)
    rows = (one.old, one.messages[message], one.new, other.old, other.new)
    why = (
        f"between views {one.old.view} and {one.new.view} site {one.site} delivered {text(message)}, "
        f"site {other.site} did not"
    )
    return rows, why
