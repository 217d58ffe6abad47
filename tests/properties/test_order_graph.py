"""Merging, components, tangles and inversions, against definitions that a glance can check."""

from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.properties.kernels.cycles import find_short_cycle
from tocsin.properties.kernels.graph import components, merge
from tocsin.properties.kernels.inversions import find_inversion
from tocsin.properties.kernels.tangles import Strand, tangles

SEQUENCES = st.lists(st.lists(st.integers(0, 7), max_size=6, unique=True), max_size=6)
GRAPHS = st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=8, max_size=8)


def reachable(successors: list[list[int]], start: int) -> set[int]:
    found: set[int] = set()
    edge = [start]
    while edge:
        for child in successors[edge.pop()]:
            if child not in found:
                found.add(child)
                edge.append(child)
    return found


def strands(sequences: list[list[int]]) -> list[Strand]:
    return [Strand(owner, sequence) for owner, sequence in enumerate(sequences)]


def successors_of(sequences: list[list[int]]) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in range(8)]
    for sequence in sequences:
        for one, other in combinations(sequence, 2):
            found[one].append(other)
    return found


@given(GRAPHS)
def test_components_reach_each_other_and_come_after_what_they_lead_to(successors: list[list[int]]) -> None:
    found = components(successors)
    assert sorted(node for component in found for node in component) == list(range(8))
    place = {node: index for index, component in enumerate(found) for node in component}
    reach = [reachable(successors, node) for node in range(8)]
    for one, other in combinations(range(8), 2):
        assert (place[one] == place[other]) == (one in reach[other] and other in reach[one])
    for node in range(8):
        assert all(place[child] <= place[node] for child in successors[node])


@given(SEQUENCES)
def test_a_merged_order_holds_every_sequence(sequences: list[list[int]]) -> None:
    merged = merge(sequences, 8)
    successors = successors_of(sequences)
    acyclic = not any(node in reachable(successors, node) for node in range(8))
    assert merged.is_whole(sequences) == acyclic
    for sequence, taken in zip(sequences, merged.taken, strict=True):
        ranks = [merged.ranks[member] for member in sequence[:taken]]
        assert ranks == sorted(ranks) and -1 not in ranks
        assert all(merged.ranks[member] == -1 for member in sequence[taken:])


@given(SEQUENCES)
def test_tangles_are_the_messages_on_cycles(sequences: list[list[int]]) -> None:
    successors = successors_of(sequences)
    on_cycles = {node for node in range(8) if node in reachable(successors, node)}
    found = tangles(strands(sequences))
    sets = [{message for strand in tangle for message in strand.messages} for tangle in found]
    assert sum(map(len, sets)) == len(set().union(*sets)) and set().union(*sets) == on_cycles
    for tangle, messages in zip(found, sets, strict=True):
        assert all(messages <= reachable(successors, message) for message in messages)
        for strand in tangle:
            assert list(strand.messages) == [m for m in sequences[strand.owner] if m in messages]


@given(SEQUENCES)
def test_a_short_cycle_is_a_cycle(sequences: list[list[int]]) -> None:
    for tangle in tangles(strands(sequences)):
        cycle = find_short_cycle(tangle)
        for link, following in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            assert link.after == following.message
            sequence = sequences[link.owner]
            assert sequence.index(link.message) < sequence.index(link.after)


def inverted(sequences: list[list[int]], sides: dict[int, int] | None) -> bool:
    for first, second in combinations(sequences, 2):
        for one, other in combinations(first, 2):
            if sides is None or sides[one] != sides[other]:
                if one in second and other in second and second.index(other) < second.index(one):
                    return True
    return False


@settings(max_examples=300)
@given(SEQUENCES, st.none() | st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_an_inversion_is_found_if_there_is_one(sequences: list[list[int]], drawn: list[int] | None) -> None:
    sides = None if drawn is None else dict(enumerate(drawn))
    found = find_inversion(strands(sequences), sides)
    assert (found is not None) == inverted(sequences, sides)
    if found is not None:
        first, second = sequences[found.first_owner], sequences[found.second_owner]
        assert first.index(found.message) < first.index(found.other)
        assert second.index(found.message) > second.index(found.other)
        assert sides is None or sides[found.message] != sides[found.other]


@pytest.mark.parametrize("planted", [False, True])
def test_an_inversion_among_many_short_sequences_that_the_long_ones_do_not_show(planted: bool) -> None:
    """A ring of sites with two messages each is one great tangle; just two messages are delivered both ways."""
    rng = Random(7)
    count = 400
    sequences = [[message, (message + 1) % count] for message in range(count)]
    sequences += [list(range(start, start + 30)) for start in range(0, 300, 60)]
    if planted:
        sequences.append([351, 350])
    rng.shuffle(sequences)
    found = find_inversion(strands(sequences))
    if planted:
        assert found is not None and {found.message, found.other} == {350, 351}
    else:
        assert found is None
