"""Every order of events of `tree_ack` among four sites, whatever the tree: crashes at every point, the root's too.

A detector whose every word takes its time, restarts at every point and four sites together are too many orders: with
restarts the detector is prompt, and a site comes back when nothing is in flight; the chain, and any three sites, have
restarts at every point too.
"""

import pytest

from tests.protocols.tree_ack.small import TREES, explored, small
from tocsin.sim.explore.exploration import Limits


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
    assert found.stands_for > 5_000


@pytest.mark.parametrize("shape", ["chain", pytest.param("bush", marks=pytest.mark.long)])
def test_a_crash_and_a_restart_at_every_point(shape: str) -> None:
    explored(small(3, 1, shape=shape), Limits(crashes=1, recoveries=1))


@pytest.mark.long
@pytest.mark.parametrize("shape", ["chain", "bush"])
def test_two_crashes_and_a_restart_at_every_point(shape: str) -> None:
    explored(small(3, 1, shape=shape), Limits(crashes=2, recoveries=1))


@pytest.mark.long
@pytest.mark.parametrize("tree", TREES)
def test_three_crashes_and_a_restart_among_four(tree: str) -> None:
    """Crashes at every point, those of the restart among them. The bush: a million states."""
    limits = Limits(crashes=3, recoveries=1, prompt_detector=True, late_recoveries=True)
    assert explored(small(4, 1, tree=TREES[tree]), limits).stands_for > 100_000


@pytest.mark.long
def test_three_crashes_and_a_restart_at_every_point_among_four() -> None:
    limits = Limits(crashes=3, recoveries=1, prompt_detector=True)
    assert explored(small(4, 1, tree=TREES["chain"]), limits).stands_for > 1_000_000


def test_losses_and_hasty_timers() -> None:
    explored(small(3, 1, shape="chain"), Limits(losses=2))
    explored(small(3, 1, shape="bush"), Limits(losses=1, repeats=1))
    explored(small(2, 2, window=2), Limits(losses=1, early=1))


def test_a_window_and_a_crash() -> None:
    """Two broadcasts under way; the second may overtake the first, and either end may crash and come back."""
    explored(small(2, 2, window=2), Limits(crashes=1, recoveries=1))
    explored(small(3, 2, shape="chain", window=2), Limits(crashes=1, recoveries=0))
