"""One line of all messages that every sequence follows, or the tangles that forbid it.

Sequences are laid into a line one after the other: what a sequence shares with the line has to rise in it, what
it adds is put right behind its neighbour. If all of them rise, the line is a total order. If not, every step down
of a sequence, from rank `high` to rank `low`, ties together the ranks between them; blocks of ranks that no step
ties together are not on a common cycle, so the strongly connected components are looked for inside blocks only.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tocsin.properties.kernels.arrays import Flags, Ints, running_max_before
from tocsin.properties.kernels.graph import components


@dataclass(slots=True)
class Line:
    """`rank`: by message its place in the line, -1 if nobody delivered it."""

    rank: Ints
    is_total: bool  # every sequence rises in rank
    tangle: Ints  # by message: the number of the tangle that it is in, -1 for most


def draw_line(sequences: list[Ints], count: int) -> Line:
    """`sequences` of numbers below `count`, each at most once in a sequence."""
    rank = np.full(count, -1, np.int64)
    line = np.zeros(0, np.int64)
    is_total = True
    for sequence in sorted(sequences, key=len, reverse=True):
        places = rank[sequence]
        known = places >= 0
        shared = places[known]
        if np.any(shared[1:] < shared[:-1]):
            is_total = False
        if len(shared) < len(sequence):
            behind = running_max_before(places, -1)[~known]
            line = np.insert(line, behind + 1, sequence[~known])
            rank[line] = np.arange(len(line))
    tangle = np.full(count, -1, np.int64)
    if not is_total:
        # Sequences laid before others were inserted still rise where they rose: an insertion keeps the order.
        tangle = _tangles(sequences, rank, line)
    return Line(rank, is_total, tangle)


def _tangles(sequences: list[Ints], rank: Ints, line: Ints) -> Ints:
    ties = np.zeros(len(line) + 1, np.int64)
    for sequence in sequences:
        places = rank[sequence]
        down = np.flatnonzero(places[1:] < places[:-1])
        np.add.at(ties, places[down + 1], 1)
        np.add.at(ties, places[down], -1)
    tied = np.cumsum(ties)[:-1] > 0  # by rank: whether it is tied to the next one
    block = np.concatenate(([0], np.cumsum(~tied)[:-1])) if len(line) else np.zeros(0, np.int64)
    sizes = np.bincount(block) if len(line) else np.zeros(0, np.int64)
    found = np.full(len(rank), -1, np.int64)
    proven = _blocks_along_one_sequence(sequences, rank, block, sizes)
    inside = proven[block]
    found[line[inside]] = block[inside]
    doubtful = (sizes > 1) & ~proven
    if doubtful.any():
        _split_blocks(sequences, rank, block, doubtful, found)
    return found


def _blocks_along_one_sequence(sequences: list[Ints], rank: Ints, block: Ints, sizes: Ints) -> Flags:
    """Blocks that some sequence has whole and rising: each is one component.

    Forward along that sequence, back along the steps that tie the block together.
    """
    proven = np.zeros(len(sizes), np.bool_)
    for sequence in sequences:
        if proven[sizes > 1].all():
            break
        places = rank[sequence]
        blocks = block[places]
        whole = np.bincount(blocks, minlength=len(sizes)) == sizes
        # A sequence runs through blocks one after the other: a step down never leaves its block.
        down = np.flatnonzero(places[1:] < places[:-1])
        whole[blocks[down]] = False
        proven |= whole
    return proven & (sizes > 1)


def _split_blocks(sequences: list[Ints], rank: Ints, block: Ints, doubtful: Flags, found: Ints) -> None:
    """Components of the blocks that no single sequence proves to be one."""
    numbers: dict[int, int] = {}
    successors: list[list[int]] = []
    for sequence in sequences:
        blocks = block[rank[sequence]]
        inside = sequence[doubtful[blocks]].tolist()
        for message in inside:
            if message not in numbers:
                numbers[message] = len(numbers)
                successors.append([])
        for message, after in pairwise(inside):
            successors[numbers[message]].append(numbers[after])
    messages = np.fromiter(numbers, np.int64, len(numbers))
    base = len(doubtful)
    for index, component in enumerate(components(successors)):
        if len(component) > 1:
            found[messages[component]] = base + index
