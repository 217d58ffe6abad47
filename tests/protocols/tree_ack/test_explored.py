"""Every order of events of `tree_ack` among four sites, whatever the tree: crashes at every point, the root's too.

With restarts at every point the orders are too many for four sites and a detector whose every word takes its time;
there the detector is prompt, or the sites are three.
"""

import pytest

from tests.protocols.tree_ack.small import TREES, explored, small
from tocsin.sim.exploration import Limits


def test_nothing_goes_wrong() -> None:
    """Two broadcasts down every tree. Up to N - 1 messages are under way at once; each order ends the same way."""
    for tree in TREES.values():
        assert explored(small(4, 2, tree=tree), Limits()).executions is not None


@pytest.mark.parametrize(
    "tree", ["chain", *(pytest.param(tree, marks=pytest.mark.long) for tree in TREES if tree != "chain")]
)
@pytest.mark.parametrize("watch", ["sender", pytest.param("root", marks=pytest.mark.long)])
def test_three_crashes_at_every_point(tree: str, watch: str) -> None:
    """Three of four fail, in any order, at any moment, the root among them; each hears of it at any later moment."""
    found = explored(small(4, 1, tree=TREES[tree], watch=watch), Limits(crashes=3, recoveries=0))
    assert found.states > 5_000


@pytest.mark.parametrize("shape", ["chain", pytest.param("bush", marks=pytest.mark.long)])
def test_a_crash_and_a_restart_at_every_point(shape: str) -> None:
    explored(small(3, 1, shape=shape), Limits(crashes=1, recoveries=1))


@pytest.mark.long
@pytest.mark.parametrize("shape", ["chain", "bush"])
def test_two_crashes_and_a_restart_at_every_point(shape: str) -> None:
    explored(small(3, 1, shape=shape), Limits(crashes=2, recoveries=1))


@pytest.mark.long
def test_two_crashes_and_a_restart_among_four() -> None:
    explored(small(4, 1, tree=TREES["chain"]), Limits(crashes=2, recoveries=1, prompt_detector=True))


@pytest.mark.long
@pytest.mark.parametrize("tree", [tree for tree in TREES if tree != "bush"])
def test_a_crash_and_a_restart_among_four(tree: str) -> None:
    """The bush has more than three million states: too many. Its restarts are explored among three sites."""
    explored(small(4, 1, tree=TREES[tree]), Limits(crashes=1, recoveries=1, prompt_detector=True))


def test_losses_and_hasty_timers() -> None:
    explored(small(3, 1, shape="chain"), Limits(losses=2))
    explored(small(3, 1, shape="bush"), Limits(losses=1, repeats=1))
    explored(small(2, 2, window=2), Limits(losses=1, early=1))


def test_a_window_and_a_crash() -> None:
    """Two broadcasts under way; the second may overtake the first, and either end may crash and come back."""
    explored(small(2, 2, window=2), Limits(crashes=1, recoveries=1))
    explored(small(3, 2, shape="chain", window=2), Limits(crashes=1, recoveries=0))
