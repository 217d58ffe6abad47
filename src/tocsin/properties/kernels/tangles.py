"""Tangles: sets of messages that no single order of all sites' sequences can hold.

A tangle is a strongly connected component of "before, at some site" with more than one message. Two messages that two
sites deliver in opposite order are in one tangle, and so is every cycle. In a run with one total order there is none.
"""

from collections.abc import Sequence as Numbers
from itertools import pairwise
from typing import NamedTuple

from tocsin.properties.kernels.graph import components, merge


class Strand(NamedTuple):
    """A part of the sequence of a site: whose it is, and its messages in order."""

    owner: int
    messages: Numbers[int]


def tangles(strands: Numbers[Strand]) -> list[list[Strand]]:
    """The tangles of some sequences, each as the parts of the sequences that lie in it."""
    numbers: dict[int, int] = {}  # message: dense number
    dense = [[numbers.setdefault(message, len(numbers)) for message in strand.messages] for strand in strands]
    cores = _cores(dense, len(numbers))
    if not any(cores):
        return []
    successors: list[list[int]] = [[] for _ in numbers]
    for core in cores:
        for message, after in pairwise(core):
            successors[message].append(after)
    component_of: dict[int, int] = {}
    for index, component in enumerate(components(successors)):
        if len(component) > 1:
            component_of.update(dict.fromkeys(component, index))
    messages = list(numbers)
    found: dict[int, list[Strand]] = {}
    for strand, core in zip(strands, cores, strict=True):
        parts: dict[int, list[int]] = {}
        for message in core:
            if message in component_of:
                parts.setdefault(component_of[message], []).append(messages[message])
        for index, part in parts.items():
            found.setdefault(index, []).append(Strand(strand.owner, part))
    return [found[index] for index in sorted(found)]


def _cores(sequences: list[list[int]], count: int) -> list[list[int]]:
    """What is left of sequences when all that can be merged from their beginnings and from their ends is taken away."""
    for _ in range(2):  # the second time from the ends, which leaves them the right way round
        taken = merge(sequences, count).taken
        sequences = [sequence[start:][::-1] for sequence, start in zip(sequences, taken, strict=True)]
    return sequences
