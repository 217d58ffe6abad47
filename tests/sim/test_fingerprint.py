"""Equal states have equal fingerprints, and different ones different ones, whatever holds their parts."""

from collections import deque

from tocsin.sim.explore.fingerprint import fingerprint


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
