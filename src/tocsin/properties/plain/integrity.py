"""Integrity: delivered only what was broadcast, at most once net of rollbacks (docs/guarantees.md, section 3)."""

from typing import NamedTuple

from tocsin.properties.obstacles import NO_BROADCASTS
from tocsin.properties.plain.finding import Finding
from tocsin.properties.plain.history import Log, Run, text
from tocsin.traces.rows import BROADCAST, DELIVER, Row


class _Offence(NamedTuple):
    rows: tuple[Row, ...]  # the offending row, and the other that is needed to see it
    why: str


def find_integrity(run: Run) -> Finding:
    checked = violations = 0
    smallest: _Offence | None = None
    for log in run.logs.values():
        checked += len(log.entries)
        offences = _offences(run, log)
        violations += len(offences)
        for _, offence in sorted(offences.items()):
            if smallest is None or len(offence.rows) < len(smallest.rows):
                smallest = offence
    obstacle = run.truncation or run.shortening
    if not run.broadcasts:
        obstacle = obstacle or run.lacking(NO_BROADCASTS)
    if smallest is None:
        return Finding(checked, obstacle=obstacle)
    rows = tuple(sorted(smallest.rows, key=lambda row: (row.site, row.order)))
    return Finding(checked, violations, rows, smallest.why, obstacle)


def _offences(run: Run, log: Log) -> dict[int, _Offence]:
    """By order of an offending row: one offence of it, with the fewest rows."""
    everybody_told = bool(run.broadcasts) and not run.truncated and not run.shortened
    found: dict[int, _Offence] = {}
    for (message, row), earlier in log.net.repeats:  # I2
        found[row.order] = _Offence((row, earlier), f"site {log.site} delivered {text(message)} twice")
    for message, row in log.net.strays if not log.is_shortened else ():  # I3
        why = f"site {log.site} rolled back {text(message)}, of which no delivery stood"
        found[row.order] = _Offence((row,), why)
    for message, row in log.entries:
        first = run.broadcasts.get(message)
        if row.event == DELIVER:  # I1
            if first is None:
                if everybody_told and not run.is_young(row.time_us, message[1]):
                    why = f"site {log.site} delivered {text(message)}, which nobody broadcast"
                    found[row.order] = _Offence((row,), why)
            elif run.sources[message] is log and first.order > row.order:
                why = f"site {log.site} delivered {text(message)} before it broadcast it"
                found[row.order] = _Offence((row, first), why)
        elif row.event == BROADCAST and first is not None and first is not row:  # I4
            why = f"site {log.site} broadcast {text(message)}, a number that was used before"
            found[row.order] = _Offence((row, first), why)
    return found
