"""The order of a run's deliveries over all sites: one common order, or where and how it is contradicted."""

from __future__ import annotations  # array[int] is an annotation only before Python 3.12

from array import array
from collections.abc import Iterable
from functools import cached_property
from itertools import combinations

from tocsin.properties.graph import Merged, merge
from tocsin.properties.history import History
from tocsin.properties.inversions import Inversion, find_inversion
from tocsin.properties.tangles import Strand, tangles

PREFIX_TRIES = 8  # longer sequences with the same beginning that a sequence is compared with


class Order:
    """The sequences of all sites. Those equal to another, or to the beginning of another, are looked at once."""

    def __init__(self, sequences: list[array[int]], history: History) -> None:
        self._history = history
        self.strands = _distinct(sequences)

    @cached_property
    def merged(self) -> Merged:
        return merge([strand.messages for strand in self.strands], len(self._history.stream_of))

    @cached_property
    def is_total(self) -> bool:
        """Whether one order of all messages holds every sequence; `merged` has it."""
        return self.merged.is_whole([strand.messages for strand in self.strands])

    @cached_property
    def tangles(self) -> list[list[Strand]]:
        return [] if self.is_total else tangles(self.strands)

    @cached_property
    def inversion(self) -> Inversion | None:
        """Any two messages in opposite order at two sites."""
        for tangle in self.tangles:
            found = find_inversion(tangle)
            if found is not None:
                return found
        return None

    @cached_property
    def inverted_streams(self) -> dict[int, Inversion]:
        """By number of a stream: an inversion of two of its messages."""
        return self._inverted(self._history.stream_of, {})

    @cached_property
    def inverted_groups(self) -> dict[str, Inversion]:
        """By group: an inversion of two of its messages."""
        known: dict[str, Inversion] = {}
        for stream, inversion in self.inverted_streams.items():
            known.setdefault(self._group_of_stream(stream), inversion)
        numbers, group_of = self._numbered_groups
        found = self._inverted(group_of, {numbers[group]: inversion for group, inversion in known.items()})
        groups = list(numbers)
        return {groups[number]: inversion for number, inversion in found.items()}

    @cached_property
    def inverted_pairs(self) -> dict[tuple[str, str], Inversion]:
        """By two groups, in the order of their names, or a group twice: an inversion of a message of each."""
        found = {(group, group): inversion for group, inversion in self.inverted_groups.items()}
        if self.inversion is None:
            return found
        numbers, group_of = self._numbered_groups
        names = list(numbers)
        for tangle in self.tangles:
            parts = [_by_group(strand, group_of) for strand in tangle]
            for (one, other), having in _shared_pairs(parts).items():
                pair = (min(names[one], names[other]), max(names[one], names[other]))
                if pair in found or len(having) < 2:
                    continue
                strands = [_both(tangle[index], parts[index], one, other) for index in having]
                sides = {message: group_of[message] for strand in strands for message in strand.messages}
                inversion = find_inversion(strands, sides)
                if inversion is not None:
                    found[pair] = inversion
        return found

    def _inverted(self, part_of: array[int], known: dict[int, Inversion]) -> dict[int, Inversion]:
        """By part (a stream, a group): an inversion inside it."""
        found = dict(known)
        for tangle in self.tangles:
            for part, strands in _by_parts(tangle, part_of).items():
                if part in found or len(strands) < 2:
                    continue
                inversion = find_inversion(strands)
                if inversion is not None:
                    found[part] = inversion
        return found

    @cached_property
    def _numbered_groups(self) -> tuple[dict[str, int], array[int]]:
        """Numbers for groups, and by message the number of its group."""
        numbers: dict[str, int] = {}
        by_stream = [numbers.setdefault(stream.group or "", len(numbers)) for stream in self._history.streams]
        return numbers, array("i", (by_stream[stream] for stream in self._history.stream_of))

    def _group_of_stream(self, stream: int) -> str:
        return self._history.streams[stream].group or ""


def _distinct(sequences: Iterable[array[int]]) -> list[Strand]:
    """Sequences that are not the beginning of another one, as far as a few tries show, each with its first owner."""
    kept: list[Strand] = []
    by_first: dict[int, list[bytes]] = {}  # first message: sequences that begin with it
    owned = sorted(enumerate(sequences), key=lambda pair: (-len(pair[1]), pair[0]))
    for owner, sequence in owned:
        if not sequence:
            continue
        data = sequence.tobytes()
        longer = by_first.setdefault(sequence[0], [])
        if any(other.startswith(data) for other in longer[:PREFIX_TRIES]):
            continue
        longer.append(data)
        kept.append(Strand(owner, sequence))
    return sorted(kept)


def _by_parts(tangle: list[Strand], part_of: array[int]) -> dict[int, list[Strand]]:
    found: dict[int, list[Strand]] = {}
    for strand in tangle:
        parts: dict[int, list[int]] = {}
        for message in strand.messages:
            parts.setdefault(part_of[message], []).append(message)
        for part, messages in parts.items():
            if len(messages) > 1:
                found.setdefault(part, []).append(Strand(strand.owner, messages))
    return found


def _by_group(strand: Strand, group_of: array[int]) -> dict[int, list[int]]:
    """By group: the places of its messages."""
    places: dict[int, list[int]] = {}
    for place, message in enumerate(strand.messages):
        places.setdefault(group_of[message], []).append(place)
    return places


def _shared_pairs(parts: list[dict[int, list[int]]]) -> dict[tuple[int, int], list[int]]:
    """For each two groups: the strands that have messages of both."""
    having: dict[tuple[int, int], list[int]] = {}
    for index, places in enumerate(parts):
        for pair in combinations(sorted(places), 2):
            having.setdefault(pair, []).append(index)
    return having


def _both(strand: Strand, places: dict[int, list[int]], one: int, other: int) -> Strand:
    """What a strand has of two groups."""
    return Strand(strand.owner, [strand.messages[place] for place in sorted(places[one] + places[other])])
