"""Forgetting old evidence: how soon a link that turns bad is noticed, and what that costs while nothing changes."""

import math

import pytest

from tocsin.core.rng import Rng
from tocsin.protocols.reliability_tree.beliefs import most_believed
from tocsin.protocols.reliability_tree.direct import Direct

BEFORE, AFTER = 0.02, 0.3


def heartbeats_until_noticed(memory: int, seed: int) -> int:
    """After 4,000 heartbeats at a loss of 0.02 the loss becomes 0.3: how many until the estimate is half way there?"""
    rng = Rng(seed)
    direct = Direct(1, 0, memory, 30)
    seqno = 0
    for _ in range(4_000):
        seqno += 1
        if not rng.chance(BEFORE):
            direct.on_heartbeat(1, seqno)
    for late in range(1, 20_000):
        seqno += 1
        if not rng.chance(AFTER):
            direct.on_heartbeat(1, seqno)
        if most_believed(direct.evidence.successes, direct.evidence.failures) > (BEFORE + AFTER) / 2:
            return late
    return 20_000


def error_at_rest(memory: int, seed: int) -> float:
    """Root mean square error of the estimate over 8,000 heartbeats at a loss of 0.05, after 4,000 others."""
    rng = Rng(seed)
    direct = Direct(1, 0, memory, 30)
    total = 0.0
    for seqno in range(1, 12_001):
        if not rng.chance(0.05):
            direct.on_heartbeat(1, seqno)
        if seqno > 4_000:
            total += (most_believed(direct.evidence.successes, direct.evidence.failures) - 0.05) ** 2
    return math.sqrt(total / 8_000)


@pytest.mark.parametrize("memory", [128, 512])
def test_what_is_remembered_says_how_soon_a_change_is_noticed(memory: int) -> None:
    reactions = [heartbeats_until_noticed(memory, seed) for seed in range(20)]
    assert 0.25 * memory < sum(reactions) / 20 < 0.9 * memory
    assert max(reactions) < 1.5 * memory


def test_without_forgetting_the_past_has_to_be_outweighed() -> None:
    assert min(heartbeats_until_noticed(0, seed) for seed in range(5)) > 3_500


@pytest.mark.parametrize("memory", [128, 512])
def test_what_it_costs_when_nothing_changes(memory: int) -> None:
    """Halving weighs observations by age, 1, 1/2, 1/4, …: in all times half of `memory`. Their squares say that this is
    worth one and a half times `memory` equal observations. Remembering all, the error is that of thousands."""
    errors = [error_at_rest(memory, seed) for seed in range(8)]
    expected = math.sqrt(0.05 * 0.95 / (1.5 * memory))
    assert sum(errors) / 8 == pytest.approx(expected, rel=0.15)
    assert sum(error_at_rest(0, seed) for seed in range(4)) / 4 < 0.006
