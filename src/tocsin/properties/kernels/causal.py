"""Causal order: no site delivers a message after one that it may have caused (docs/guarantees.md, section 4).

Messages lie in a line. When it holds each broadcast after what its site had seen, a cause always has a smaller rank
than its effect; then only deliveries that come after one of a greater rank can be late, and only messages with a rank
between these two can be on a way from the one to the other. Those messages (all, if the line does not hold the
broadcasts) get their past: by site, up to which row of its log the site had taken part in causing it.
Message y may have caused m when y's broadcast lies in the past of m; a delivery of y is late when that holds for
a message delivered before it, so one running maximum for each two sites finds all of them.
"""

from collections import deque
from typing import NamedTuple

import numpy as np

from tocsin.properties.kernels.arrays import Flags, Ints, running_max_before
from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.chains import find_chain
from tocsin.properties.kernels.found import Found
from tocsin.properties.kernels.graph import components
from tocsin.properties.kernels.orders import Orders

PAST_ENTRIES_MAX = 1 << 26  # of the table of pasts that is held at a time: half a gigabyte


def find_causal(orders: Orders) -> Found:
    case = orders.case
    found = Found(case.delivered)
    if not np.any(case.first_broadcast >= 0):
        return found
    concerned = _on_the_way(case, orders.line.rank) if _line_holds_causes(orders) else np.ones(case.count, np.bool_)
    if not np.any(concerned & (case.first_broadcast >= 0)):
        return found
    late = _find_late(case, concerned) & case.sequence_core
    found.violations = int(np.count_nonzero(late))
    if found.violations:
        found.witness, found.why = find_chain(case, np.flatnonzero(late))
    return found


def _line_holds_causes(orders: Orders) -> bool:
    """Whether every cause has a smaller rank in the line than its effects."""
    case = orders.case
    rank = orders.line.rank
    seen = np.full(len(case.message), -1, np.int64)  # by row: the rank of what its site has seen by it
    broadcasts = case.first_broadcast[case.first_broadcast >= 0]
    seen[broadcasts] = rank[case.message[broadcasts]]
    seen[case.sequence] = rank[case.sequence_message]
    base = case.rows.log.astype(np.int64) * (case.count + 1)  # a later log is above all before it
    before = running_max_before(np.where(seen >= 0, seen + base, -1), -1) - base
    own = seen[broadcasts]
    return not np.any((own >= 0) & (own < before[broadcasts]))


def _on_the_way(case: Case, rank: Ints) -> Flags:
    """By message: whether it may be on a way from a message to one with a greater rank that was delivered before it."""
    ranks = rank[case.sequence_message]
    base = case.sequence_log * (case.count + 1)  # a later log is above all before it
    highest = running_max_before(ranks + base, -1) - base
    suspects = np.flatnonzero(highest > ranks)
    ends = np.zeros(case.count + 1, np.int64)  # by rank: how many intervals begin there, less those that ended before
    np.add.at(ends, ranks[suspects], 1)
    np.add.at(ends, highest[suspects] + 1, -1)
    inside = np.cumsum(ends) > 0
    return (rank >= 0) & inside[rank]


class _Causes(NamedTuple):
    """Broadcasts of all sites by row, and for each the newest message of each site that it follows directly."""

    messages: Ints  # of the broadcasts
    starts: Ints  # by broadcast: where its causes begin in `causes`; and the end of the last
    causes: Ints  # as indices of broadcasts


def _find_late(case: Case, concerned: Flags) -> Flags:
    """By delivery in a sequence: whether it comes after one of its effects, direct or not. `concerned`: the messages
    that may be on such a way.
    """
    causes = _direct_causes(case, concerned)
    order = _causes_first(causes)
    logs = len(case.facts.whole)
    width = max(1, PAST_ENTRIES_MAX // max(1, len(causes.messages)))
    late = np.zeros(len(case.sequence), np.bool_)
    for low in range(0, logs, width):
        _mark_late(case, causes, order, low, min(low + width, logs), late)
    return late


def _direct_causes(case: Case, concerned: Flags) -> _Causes:
    rows = np.sort(case.first_broadcast[(case.first_broadcast >= 0) & concerned])
    messages = case.message[rows]
    number = np.full(case.count, -1, np.int64)  # by message: index of its broadcast
    number[messages] = np.arange(len(rows))
    # a delivery counts for the next broadcast at its site
    effect = np.searchsorted(rows, case.sequence)
    inside = effect < len(rows)
    inside[inside] = case.rows.log[rows[effect[inside]]] == case.rows.log[case.sequence[inside]]
    cause = number[case.sequence_message]
    inside &= cause >= 0
    effect, cause = effect[inside], cause[inside]
    # of the messages of one site only the newest: it follows the others
    source = case.source[messages[cause]] if len(cause) else cause
    order = np.lexsort((cause, source, effect))
    effect, cause, source = effect[order], cause[order], source[order]
    newest = np.ones(len(order), np.bool_)
    newest[:-1] = (effect[1:] != effect[:-1]) | (source[1:] != source[:-1])
    newest &= effect != cause
    effect, cause = effect[newest], cause[newest]
    # and the broadcast before it at its site
    logs = case.rows.log[rows]
    follows = np.flatnonzero(logs[1:] == logs[:-1]) + 1
    effect = np.concatenate((effect, follows))
    cause = np.concatenate((cause, follows - 1))
    order = np.argsort(effect, kind="stable")
    starts = np.searchsorted(effect[order], np.arange(len(rows) + 1))
    return _Causes(messages, starts.astype(np.int64), cause[order])


def _causes_first(causes: _Causes) -> list[list[int]]:
    """The broadcasts, causes before effects; those that follow one another in a circle together.

    No real run has such a circle, but a trace may say so.
    """
    count = len(causes.messages)
    starts, direct = causes.starts.tolist(), causes.causes.tolist()
    effects: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for effect in range(count):
        for cause in direct[starts[effect] : starts[effect + 1]]:
            effects[cause].append(effect)
            waiting[effect] += 1
    ready = deque(index for index in range(count) if waiting[index] == 0)
    order: list[list[int]] = []
    while ready:
        index = ready.popleft()
        order.append([index])
        for effect in effects[index]:
            waiting[effect] -= 1
            if waiting[effect] == 0:
                ready.append(effect)
    return order if len(order) == count else components(effects)[::-1]


def _mark_late(case: Case, causes: _Causes, order: list[list[int]], low: int, high: int, late: Flags) -> None:
    """Mark what is late because of rows of the logs from `low` to `high`."""
    past = _pasts(case, causes, order, low, high)
    number = np.full(case.count, -1, np.int64)
    number[causes.messages] = np.arange(len(causes.messages))
    for log in range(len(case.facts.whole)):
        begin, end = case.sequence_bounds[log], case.sequence_bounds[log + 1]
        messages = case.sequence_message[begin:end]
        known = number[messages]
        source = case.source[messages]
        is_stranger = source < 0  # nobody broadcast it
        strangers = messages[is_stranger]
        for column in range(low, high):
            own = np.flatnonzero(source == column)
            seen_there = np.full(len(messages), -1, np.int64)  # by delivery: the row by which that site has it
            seen_there[own] = case.first_broadcast[messages[own]]
            if len(strangers):
                at = case.delivery(column, strangers)
                seen_there[is_stranger] = np.where(at >= 0, case.sequence[at], -1)
            if not np.any(seen_there >= 0):
                continue
            reach = np.where(known >= 0, past[known, column - low], -1)
            late[begin:end] |= (seen_there >= 0) & (running_max_before(reach, -1) > seen_there)


def _pasts(case: Case, causes: _Causes, order: list[list[int]], low: int, high: int) -> Ints:
    """By broadcast and log: the end of the rows of that log which may have caused it."""
    rows = case.first_broadcast[causes.messages]
    logs = case.rows.log[rows]
    past = np.full((len(rows), high - low), -1, np.int64)
    starts = causes.starts.tolist()
    for knot in order:
        direct = [causes.causes[starts[index] : starts[index + 1]] for index in knot]
        together = np.concatenate(direct) if len(knot) > 1 else direct[0]
        if len(knot) > 1:  # each is in the past of the others
            together = np.concatenate((together, knot))
        reach = past[knot[0]]
        if len(together):
            np.maximum(reach, past[together].max(axis=0), out=reach)
            inside = together[(logs[together] >= low) & (logs[together] < high)]
            np.maximum.at(reach, logs[inside] - low, rows[inside] + 1)
        for index in knot:
            past[index] = reach
            if low <= logs[index] < high:
                column = logs[index] - low
                past[index, column] = max(past[index, column], rows[index])
    return past
