"""Equal states have equal fingerprints, and different ones different ones, whatever holds their parts."""

from collections import deque

import pytest

from tests.protocols.small import small
from tests.sim.plain_state import plain
from tocsin.core.estimate import Estimate
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.explore.fingerprint import fingerprint
from tocsin.sim.explore.search import Explorer


class Part:
    def __init__(self, content: object) -> None:
        self.content = content
        self.stat_looks = id(self)  # a statistic


def test_what_is_inside_counts() -> None:
    for kind in (list, tuple, deque, set, frozenset):
        assert fingerprint(Part(kind([1, 2]))) == fingerprint(Part(kind([1, 2])))
        assert fingerprint(Part(kind([1, 2]))) != fingerprint(Part(kind([1, 3])))
    assert fingerprint(Part(deque([1, 2]))) != fingerprint(Part(deque([2, 1])))
    assert fingerprint(Part({1, 2})) == fingerprint(Part({2, 1}))
    assert fingerprint(Part({1: 2})) != fingerprint(Part({1: 3}))


def test_what_parts_share_counts_and_is_walked_once() -> None:
    shared = Part([1])
    assert fingerprint(Part(shared), Part(shared)) == fingerprint(*_sharing(1))
    assert fingerprint(Part(shared), Part(shared)) != fingerprint(*_sharing(2))
    tower: object = Part(0)
    for _ in range(60):  # walked again wherever it is met, this would have 2^60 parts
        tower = Part((tower, tower))
    assert fingerprint(tower) == fingerprint(tower)


def _sharing(content: int) -> tuple[Part, Part]:
    shared = Part([content])
    return Part(shared), Part(shared)


def test_who_holds_a_shared_part_counts() -> None:
    one, other = Part(1), Part(1)
    assert fingerprint(Part([one, one, other])) == fingerprint(Part([other, other, one]))
    assert fingerprint(Part([one, one, other])) != fingerprint(Part([one, other, other]))
    one.content = other
    other.content = one
    assert fingerprint(one) == fingerprint(other)


def test_of_an_estimate_the_octave_counts() -> None:
    def held(us: int) -> bytes:
        return fingerprint(Part(Estimate(us, 0, 1 << 20)))

    assert held(5_000) == held(4_375) and held(4_096) == held(8_191)
    assert held(4_095) != held(4_096)
    estimate = Estimate(5_000, 100, 20_000)
    prints = set()
    for _ in range(100):  # many values, few states
        estimate.note(0)
        prints.add(fingerprint(Part(estimate)))
    assert estimate.us == 100 and len(prints) == 7


def test_what_is_written_cannot_be_mistaken_for_something_else() -> None:
    different = [[], [[]], [[], []], [0], [[0]], ["seq", 1], {}, {1: 2}, [1, 2], set(), {1}, b"1", "1", 1, True, 1.0]
    assert len({fingerprint(value) for value in different}) == len(different)


@pytest.mark.parametrize("name", REGISTRY)
def test_machines_are_equal_as_in_plain_words(name: str) -> None:
    """Fingerprints of the machines of an exploration are equal where the plain twin is."""
    explorer = Explorer(small(REGISTRY[name], 3, 1, 100_000), Limits(losses=1, states_max=300, symmetry=False))
    explorer.run()
    sites = [explorer.replayed(local) for state in explorer.states() for local in explorer.locals_of(state)]
    pairs = {(fingerprint(site.machine), repr(plain(site.machine))) for site in sites}
    assert len({mine for mine, _ in pairs}) == len({other for _, other in pairs}) == len(pairs) > 5
