"""Walks and storms with more than crashes and losses: leaving and returning, lost disks, dead links, odd requests."""

import pytest

from tests.known_failures import left_out
from tests.protocols.propagation_graph.storms import violation
from tests.protocols.walks import WALK_KINDS, Walk, first_wrong_walk
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.swarm.kinds import stood_by

OVERLAPPING = [[0, 1, 2], [1, 2, 3], [0, 3], [2]]
WALKS = 25


def kinds_of(name: str) -> list[str]:
    """Those that the protocol stands at any time, but for known failures."""
    protocol = REGISTRY[name]
    kinds: list[str] = [kind for kind in WALK_KINDS if kind in stood_by(protocol) and kind not in left_out(name)]
    if "leave" in kinds and "return" in left_out(name):
        kinds.remove("leave")  # who left returns in the end
    if protocol.assumptions.disks_lost == "any":
        return kinds
    return [kind for kind in kinds if kind not in ("wipe", "restore")]


@pytest.mark.parametrize("name", sorted(name for name in REGISTRY if kinds_of(name)))
def test_a_few_walks_with_everything(name: str) -> None:
    protocol = REGISTRY[name]
    kinds = kinds_of(name)
    assert first_wrong_walk(protocol, 4, 6, range(WALKS), {}, None, kinds) is None
    assert first_wrong_walk(protocol, 4, 6, range(WALKS), protocol.small, None, kinds) is None
    if protocol.assumptions.several_groups:
        assert first_wrong_walk(protocol, 4, 8, range(WALKS), {}, OVERLAPPING, kinds) is None


def test_everything_happens_in_walks() -> None:
    happened: dict[str, int] = {}
    for name, kinds in (("counter_token", ("leave", "wipe", "restore", "dead")), ("propagation_graph", ("asked",))):
        for seed in range(40):
            walk = Walk(REGISTRY[name], 4, seed, 6, None, None, kinds)
            walk.run()
            for what, count in walk.happened.items():
                happened[what] = happened.get(what, 0) + count
    assert min(happened.get(what, 0) for what in ("leave", "wipe", "save", "restore", "dead", "change")) > 5, happened


STORMY = ("again", "crash_change", "at_once", "flap", "slow", "asked", "disband", "emptied", "outside", "tear")


@pytest.mark.parametrize("failures", ["atomic", "non_atomic"])
def test_storms_with_special_kinds(failures: str) -> None:
    protocol = REGISTRY["propagation_graph"]
    for seed, kind in enumerate((kind for kind in STORMY if kind not in left_out(protocol.name)), 20):
        assert violation(protocol, seed, {"failures": failures}, [kind]) is None, f"storm {seed} with {kind}"
