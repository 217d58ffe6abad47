"""Inversions: two messages in opposite order at two sites; found exactly, without comparing all pairs of sites.

Outside of tangles there is none. In a tangle of total length N, a sequence longer than the root of N is compared with
all others (there are at most root N of those), and the pairs of the short ones are looked at message by message: in
all, at most N times root N steps. Usually the first comparison finds one: sites have most messages in common.
"""

from collections.abc import Mapping
from collections.abc import Sequence as Numbers
from math import isqrt
from typing import NamedTuple

from tocsin.properties.kernels.tangles import Strand, tangles


class Inversion(NamedTuple):
    """`message` comes before `other` at the first owner, and after it at the second."""

    first_owner: int
    second_owner: int
    message: int
    other: int


def find_inversion(strands: Numbers[Strand], sides: Mapping[int, int] | None = None) -> Inversion | None:
    """An inversion in some sequences, if there is any; with `sides`, one of two messages on different sides."""
    for tangle in tangles(strands):
        if sides is not None:
            tangle = [strand for strand in tangle if len({sides[message] for message in strand.messages}) > 1]
        found = _find_in_tangle([strand for strand in tangle if len(strand.messages) > 1], sides)
        if found is not None:
            return found
    return None


def _find_in_tangle(strands: list[Strand], sides: Mapping[int, int] | None) -> Inversion | None:
    long = isqrt(sum(len(strand.messages) for strand in strands))
    strands = sorted(strands, key=_length, reverse=True)
    short_from = next((index for index, strand in enumerate(strands) if len(strand.messages) <= long), len(strands))
    for index in range(max(short_from, min(1, len(strands)))):
        pivot = strands[index]
        ranks = {message: rank for rank, message in enumerate(pivot.messages)}
        for strand in strands[index + 1 :]:
            found = _compare(pivot, ranks, strand, sides)
            if found is not None:
                return found
    return _find_among_short(strands[short_from:], sides)


def _length(strand: Strand) -> int:
    return len(strand.messages)


def _compare(pivot: Strand, ranks: dict[int, int], strand: Strand, sides: Mapping[int, int] | None) -> Inversion | None:
    highest: dict[int, int] = {}  # side: its message so far that comes last at the pivot
    for message in strand.messages:
        rank = ranks.get(message)
        if rank is None:
            continue
        side = 0 if sides is None else sides[message]
        for other_side, other in highest.items():
            if ranks[other] > rank and (sides is None or other_side != side):
                return Inversion(pivot.owner, strand.owner, message, other)
        if side not in highest or ranks[highest[side]] < rank:
            highest[side] = message
    return None


def _find_among_short(strands: list[Strand], sides: Mapping[int, int] | None) -> Inversion | None:
    holders: dict[int, list[Strand]] = {}
    for strand in strands:
        for message in strand.messages:
            holders.setdefault(message, []).append(strand)
    for message, having in holders.items():
        before: dict[int, int] = {}  # message that comes before this one somewhere: where
        after: dict[int, int] = {}
        for strand in having:
            mine, theirs = before, after
            for other in strand.messages:
                if other == message:
                    mine, theirs = after, before
                elif sides is None or sides[other] != sides[message]:
                    if other in theirs:
                        first, second = (
                            (theirs[other], strand.owner) if theirs is after else (strand.owner, theirs[other])
                        )
                        return Inversion(first, second, message, other)
                    mine[other] = strand.owner
    return None
