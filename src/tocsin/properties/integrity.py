"""Integrity: delivered only what was broadcast, at most once net of rollbacks (docs/guarantees.md, section 3)."""

from typing import Final

from tocsin.properties.case import Case
from tocsin.properties.finding import Finding
from tocsin.properties.history import IS_BROADCAST, IS_DELIVER
from tocsin.traces.rows import BROADCAST

_Place = tuple[int, int]  # a log, and a row of it

NOBODY: Final = "site {site} delivered {message}, which nobody broadcast"
TOO_EARLY: Final = "site {site} delivered {message} before it broadcast it"
TWICE: Final = "site {site} delivered {message} twice"
STRAY: Final = "site {site} rolled back {message}, of which no delivery stood"
REUSED: Final = "site {site} broadcast {message}, a number that was used before"


def check_integrity(case: Case) -> Finding:
    checked = sum(len(log.events) for log in case.logs)
    origins_known = case.has_broadcasts and not case.truncated
    obstacle = case.truncation
    if obstacle is None and not case.has_broadcasts and case.has_deliveries:
        obstacle = case.lacking(BROADCAST)
    violations = 0
    best: tuple[list[_Place], str] | None = None
    for log in range(len(case.logs)):
        found = _offences(case, log, origins_known)
        violations += len(found)
        for place in sorted(found):
            other, words = found[place]
            rows = [(log, place)] if other is None else sorted([other, (log, place)])
            if best is None or len(rows) < len(best[0]):
                best = (rows, words.format(site=case.logs[log].site, message=_text(case, log, place)))
    if best is None:
        return Finding(checked, obstacle=obstacle)
    return Finding(checked, violations, tuple(case.row(*where) for where in best[0]), best[1], obstacle)


def _offences(case: Case, log: int, origins_known: bool) -> dict[int, tuple[_Place | None, str]]:
    """By place of an offending row: the other row that is needed to see it, if any, and the offence."""
    found: dict[int, tuple[_Place | None, str]] = {}
    first_logs, first_places = case.broadcast_at
    sequence = case.sequences[log]
    for place, earlier in sequence.repeats:
        found[place] = ((log, earlier), TWICE)
    for place in sequence.strays:
        found[place] = (None, STRAY)
    for place, (event, message) in enumerate(zip(case.logs[log].events, case.logs[log].messages, strict=True)):
        first = first_logs[message]
        if event == IS_DELIVER:
            if not origins_known:
                continue
            if first < 0:
                found[place] = (None, NOBODY)
            elif first == log and first_places[message] > place:
                found[place] = ((log, first_places[message]), TOO_EARLY)
        elif event == IS_BROADCAST and (first != log or first_places[message] != place):
            found[place] = ((first, first_places[message]), REUSED)
    return found


def _text(case: Case, log: int, place: int) -> str:
    return case.text(case.logs[log].messages[place])
