"""Deliveries net of rollbacks: what is left when each rollback has cancelled the delivery it undoes."""

from typing import NamedTuple

import numpy as np

from tocsin.properties.kernels.arrays import Ints, Small, first_indices
from tocsin.properties.kernels.encode import DELIVER, ROLLBACK


class Net(NamedTuple):
    """All are rows, in order."""

    kept: Ints  # deliveries that no rollback cancels
    repeats: Ints  # deliveries on top of one that stands
    repeated: Ints  # … and that one
    strays: Ints  # rollbacks that have nothing to cancel


def net_deliveries(event: Small, key: Ints) -> Net:
    """`key`: by row, its log and message as one number. Only messages that somebody rolled back cost a loop."""
    rolled_back = np.unique(key[event == ROLLBACK])
    delivered = event == DELIVER
    nothing = np.zeros(0, np.int64)
    if len(rolled_back) == 0:
        kept = np.flatnonzero(delivered)
        repeats, repeated = _repeats(kept, key)
        return Net(kept, repeats, repeated, nothing)
    contested = np.isin(key, rolled_back)
    kept = np.flatnonzero(delivered & ~contested)
    repeats, repeated = _repeats(kept, key)
    rows = np.flatnonzero(contested & (delivered | (event == ROLLBACK)))
    standing, more_repeats, more_repeated, strays = _undo(rows, event, key)
    return Net(
        np.sort(np.concatenate((kept, standing))),
        np.concatenate((repeats, more_repeats)),
        np.concatenate((repeated, more_repeated)),
        strays,
    )


def _repeats(rows: Ints, key: Ints) -> tuple[Ints, Ints]:
    """Deliveries that are not the first of their message in their log, and the first ones."""
    if len(rows) == 0:
        return rows, rows
    firsts, is_first = first_indices(key[rows], int(key[rows].max()) + 1)
    again = np.flatnonzero(~is_first)
    return rows[again], rows[firsts[again]]


def _undo(rows: Ints, event: Small, key: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Deliveries left standing, those on top of others, those others, and rollbacks of nothing."""
    stacks: dict[int, list[int]] = {}  # key: rows of deliveries that stand
    repeats: list[int] = []
    repeated: list[int] = []
    strays: list[int] = []
    for row in rows.tolist():
        stack = stacks.setdefault(int(key[row]), [])
        if event[row] == DELIVER:
            if stack:
                repeats.append(row)
                repeated.append(stack[-1])
            stack.append(row)
        elif stack:
            stack.pop()
        else:
            strays.append(row)
    standing = sorted(row for stack in stacks.values() for row in stack)
    return tuple(np.array(found, np.int64) for found in (standing, repeats, repeated, strays))  # type: ignore[return-value]
