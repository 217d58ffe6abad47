"""Safe delivery: when anyone delivers a message, all members of its view have it (docs/guarantees.md, section 5)."""

from itertools import pairwise
from typing import Final

import numpy as np

from tocsin.properties.kernels.arrays import Ints, group_bounds, number_pairs
from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.encode import ROLLBACK
from tocsin.properties.kernels.facts import Spot
from tocsin.properties.kernels.found import Found

NEVER: Final = np.iinfo(np.int64).max
ALWAYS: Final = np.iinfo(np.int64).min


def find_safe(case: Case) -> Found:
    if not case.facts.has_receipts:
        return Found(case.delivered)
    having = _Having(case)
    times = case.rows.time_us[case.sequence]
    complete = np.full(len(case.sequence), ALWAYS)  # by delivery: from when on all its members have the message
    asked = np.zeros(len(case.sequence), np.bool_)  # by delivery: whether a member is asked
    order = np.argsort(case.member_set, kind="stable")
    deliveries: dict[int, Ints] = {}  # by set of members
    for low, high in pairwise(group_bounds(case.member_set[order]).tolist()):
        if low < high:
            deliveries[int(case.member_set[order[low]])] = order[low:high]
    sets_of: dict[str, list[int]] = {}
    for number in deliveries:
        for site in _asked(case, number):
            sets_of.setdefault(site, []).append(number)
    for site in sorted(sets_of):
        has_at = having.times(site)
        for number in sets_of[site]:
            chosen = deliveries[number]
            if not case.members.is_asked(site):  # it has left
                left = case.facts.whole[case.facts.index[site]]
                chosen = chosen[case.passed(left, case.sequence_message[chosen])]
            asked[chosen] = True
            complete[chosen] = np.maximum(complete[chosen], has_at[case.sequence_message[chosen]])
    unsafe = complete > times if case.facts.one_clock else complete == NEVER
    unsafe &= case.sequence_core
    found = Found(int(np.count_nonzero(asked & case.sequence_core)))
    found.unasked = case.delivered - found.checked
    found.violations = int(np.count_nonzero(unsafe))
    if found.violations:
        never = np.flatnonzero(unsafe & (complete == NEVER))
        at = int(never[0] if len(never) else np.flatnonzero(unsafe)[0])
        found.witness, found.why = _explain(case, having, at)
    return found


def _asked(case: Case, number: int) -> list[str]:
    """Those of a set who are asked for what they have; of those who have left, only for what they had passed."""
    sites = case.members.sites(number)
    stopped = [left.site for left in case.members.stopped(sites)]
    return sorted([*filter(case.members.is_asked, sites), *stopped])


class _Having:
    """From when on a site has a message: its earliest receive row of kind data, broadcast or deliver row.

    Without one clock, times of two sites cannot be compared: then it has a message ALWAYS or NEVER.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._row_bounds = case.log_bounds
        receipts = case.receipts
        self._receipt_bounds = np.searchsorted(receipts.log, np.arange(len(case.facts.whole) + 1))
        self._receipt_row, self._receipt_message = self._match_receipts()

    def _match_receipts(self) -> tuple[Ints, Ints]:
        """Pairs of a receive row and a message that it brings; a row that names no group may bring one of each
        group.
        """
        case = self._case
        origins: dict[str, int] = {}
        origin = np.array([origins.setdefault(name, len(origins)) for _, name in case.streams], np.int32)
        rows = case.receipts
        both = np.concatenate((origin[case.stream_of], origin[rows.stream]))
        seqnos = np.concatenate((case.seqno_of, rows.seqno))
        numbers, _, _ = number_pairs(both, seqnos, len(origins))
        names = numbers[: case.count]  # by message: the number of its (origin, seqno)
        by_name = np.argsort(names, kind="stable")
        wanted = numbers[case.count :]
        low = np.searchsorted(names[by_name], wanted, side="left")
        high = np.searchsorted(names[by_name], wanted, side="right")
        row = np.repeat(np.arange(len(wanted)), high - low)
        within = np.arange(len(row)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
        message = by_name[low[row] + within]
        group = case.group_of_stream[rows.stream[row]]
        fits = (group < 0) | (group == case.group_of_stream[case.stream_of[message]])
        return row[fits], message[fits]

    def times(self, site: str) -> Ints:
        """By message: from when on the site has it."""
        case = self._case
        has_at = np.full(case.count, NEVER)
        log = case.facts.index.get(site)
        if log is None:
            return has_at
        low, high = self._row_bounds[log], self._row_bounds[log + 1]
        rows = np.flatnonzero(case.rows.event[low:high] != ROLLBACK) + low
        first, last = np.searchsorted(self._receipt_row, self._receipt_bounds[log : log + 2])
        if not case.facts.one_clock:
            has_at[case.message[rows]] = ALWAYS
            has_at[self._receipt_message[first:last]] = ALWAYS
            return has_at
        np.minimum.at(has_at, case.message[rows], case.rows.time_us[rows])
        receipts = self._receipt_row[first:last]
        np.minimum.at(has_at, self._receipt_message[first:last], case.receipts.time_us[receipts])
        return has_at

    def spot(self, site: str, message: int, time_us: int) -> Spot:
        """The row from which on a site has a message."""
        case = self._case
        log = case.facts.index[site]
        low, high = self._row_bounds[log], self._row_bounds[log + 1]
        rows = np.arange(low, high)
        fits = (
            (case.message[rows] == message) & (case.rows.event[rows] != ROLLBACK) & (case.rows.time_us[rows] == time_us)
        )
        if fits.any():
            return case.spot(int(rows[fits][0]))
        receipts = self._receipt_row[self._receipt_message == message]
        fits = (case.receipts.log[receipts] == log) & (case.receipts.time_us[receipts] == time_us)
        return case.spot_at(log, int(case.receipts.order[receipts[fits][0]]))


def _explain(case: Case, having: _Having, at: int) -> tuple[tuple[Spot, ...], str]:
    message = int(case.sequence_message[at])
    row = int(case.sequence[at])
    spot = case.spot(row)
    has_at = {
        site: int(having.times(site)[message])
        for site in _asked(case, int(case.member_set[at]))
        if case.members.is_asked(site)
        or case.passed(case.facts.whole[case.facts.index[site]], case.sequence_message[at : at + 1])[0]
    }
    site = max(has_at, key=has_at.__getitem__)
    text = case.text(message)
    if has_at[site] == NEVER:
        return (spot,), f"site {spot.site} delivered {text}, which member {site} never received"
    why = (
        f"site {spot.site} delivered {text} at {case.rows.time_us[row]} us, "
        f"member {site} had it only at {has_at[site]} us"
    )
    return (spot, having.spot(site, message, has_at[site])), why
