"""Orders as graphs: can sequences be merged into one, and if not, which of their members are tangled?

Members of sequences are small numbers, each at most once in a sequence. Everything here is linear in the total length.
"""

from __future__ import annotations  # array[int] is an annotation only before Python 3.12

from array import array
from collections.abc import Iterable
from collections.abc import Sequence as Numbers
from typing import NamedTuple


class Merged(NamedTuple):
    """How far sequences can be merged into one order."""

    ranks: array[int]  # by member: its place in the common order; -1 for those that have none
    taken: list[int]  # by sequence: how many of its members have a place

    def is_whole(self, sequences: Numbers[Numbers[int]]) -> bool:
        return all(taken == len(sequence) for taken, sequence in zip(self.taken, sequences, strict=True))


def merge(sequences: Numbers[Numbers[int]], count: int) -> Merged:
    """Merge sequences of numbers below `count`: always take a member that is next in every sequence that has it."""
    absent = array("i", [0]) * count  # by member: sequences that have it, and not next
    for sequence in sequences:
        for member in sequence:
            absent[member] += 1
    ranks = array("i", [-1]) * count
    taken = [0] * len(sequences)
    waiting: dict[int, list[int]] = {}  # member: sequences in which it is next
    ready: list[int] = []
    placed = 0
    advanced: Iterable[int] = range(len(sequences))
    while True:
        for index in advanced:
            sequence = sequences[index]
            if taken[index] == len(sequence):
                continue
            member = sequence[taken[index]]
            if member in waiting:
                waiting[member].append(index)
            else:
                waiting[member] = [index]
            absent[member] -= 1
            if absent[member] == 0:
                ready.append(member)
        if not ready:
            return Merged(ranks, taken)
        member = ready.pop()
        ranks[member] = placed
        placed += 1
        advanced = waiting.pop(member)
        for index in advanced:
            taken[index] += 1


def components(successors: Numbers[Numbers[int]]) -> list[list[int]]:
    """Strongly connected components (Tarjan 1972, without recursion), each after those it leads to."""
    count = len(successors)
    index_of = [-1] * count  # by node: when it was first visited
    low = [0] * count  # by node: the earliest node on the stack that it is known to reach
    on_stack = bytearray(count)
    stack: list[int] = []
    found: list[list[int]] = []
    visited = 0
    for root in range(count):
        if index_of[root] >= 0:
            continue
        path = [(root, iter(successors[root]))]
        index_of[root] = low[root] = visited
        visited += 1
        stack.append(root)
        on_stack[root] = 1
        while path:
            node, rest = path[-1]
            for child in rest:
                if index_of[child] < 0:
                    index_of[child] = low[child] = visited
                    visited += 1
                    stack.append(child)
                    on_stack[child] = 1
                    path.append((child, iter(successors[child])))
                    break
                if on_stack[child] and index_of[child] < low[node]:
                    low[node] = index_of[child]
            else:
                path.pop()
                if path and low[node] < low[path[-1][0]]:
                    low[path[-1][0]] = low[node]
                if low[node] == index_of[node]:
                    component: list[int] = []
                    while True:
                        member = stack.pop()
                        on_stack[member] = 0
                        component.append(member)
                        if member == node:
                            break
                    found.append(component)
    return found
