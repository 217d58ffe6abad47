"""Integrity: delivered only what was broadcast, at most once net of rollbacks (docs/guarantees.md, section 3)."""

import numpy as np

from tocsin.properties.kernels.arrays import Flags, Ints
from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.encode import BROADCAST, DELIVER
from tocsin.properties.kernels.found import Found


def find_integrity(case: Case) -> Found:
    rows = case.rows
    core = case.core[case.message]
    found = Found(checked=int(np.count_nonzero(core)))
    offends = np.zeros(len(core), np.bool_)
    alone: list[tuple[str, Ints]] = []  # offences that one row shows
    paired: list[tuple[str, Ints, Ints]] = []  # those that need another row
    first = case.first_broadcast[case.message]
    delivered = rows.event == DELIVER
    if case.facts.has_broadcasts and not case.facts.has_truncated() and not case.facts.shortened:
        strange = np.flatnonzero(delivered & (first < 0))
        if case.facts.patience is not None:
            strange = strange[rows.time_us[strange] <= _old_us(case)[case.stream_of[case.message[strange]]]]
        alone.append(("delivered {}, which nobody broadcast", strange))
    own = (first >= 0) & (rows.log[first] == rows.log)
    early = np.flatnonzero(delivered & own & (first > np.arange(len(first))))
    paired.append(("delivered {} before it broadcast it", early, first[early]))
    shortened = np.array([site.is_shortened for site in case.facts.whole], np.bool_)
    alone.append(("rolled back {}, of which no delivery stood", case.net.strays[~shortened[rows.log[case.net.strays]]]))
    paired.append(("delivered {} twice", case.net.repeats, case.net.repeated))
    again = np.flatnonzero((rows.event == BROADCAST) & (first != np.arange(len(first))))
    paired.append(("broadcast {}, a number that was used before", again, first[again]))
    for words, offending in alone:
        _note(case, found, offends, offending[core[offending]], None, words)
    for words, offending, others in paired:
        _note(case, found, offends, offending[core[offending]], others[core[offending]], words)
    found.violations = int(np.count_nonzero(offends))
    return found


def _old_us(case: Case) -> Ints:
    """By stream: what was delivered of it later may be beyond the end of its origin's log, which is still written."""
    return np.array([case.facts.old_us(origin or "") for _, origin in case.streams], np.int64)


def _note(case: Case, found: Found, offends: Flags, rows: Ints, others: Ints | None, words: str) -> None:
    if len(rows) == 0:
        return
    offends[rows] = True
    size = 1 if others is None else 2
    if found.witness is None or len(found.witness) > size:
        row = int(rows[0])
        shown = [row] if others is None else sorted((row, int(others[0])))
        found.witness = tuple(case.spot(each) for each in shown)
        text = case.text(int(case.message[row]))
        found.why = f"site {case.site(int(case.rows.log[row]))} {words.format(text)}"
