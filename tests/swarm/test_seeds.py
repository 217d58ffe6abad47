"""Random scenarios for every protocol: a few dozen seeds each, and for ever those that once failed (seeds.toml)."""

import tomllib
from pathlib import Path

import pytest

from tocsin.protocols.registry import REGISTRY
from tocsin.sim.swarm.swarm import add_up, never_happened, run_seed

KEPT: dict[str, list[int]] = tomllib.loads((Path(__file__).parent / "seeds.toml").read_text())
SEEDS = 40
MANY = 1_000


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_few_seeds(name: str) -> None:
    for seed in range(SEEDS):
        outcome = run_seed(REGISTRY[name], seed)
        assert outcome.violated is None, f"{outcome.violated}; repeat: tocsin swarm {name} --seeds {seed}"


@pytest.mark.parametrize("name", sorted(KEPT))
def test_seeds_that_once_failed(name: str) -> None:
    for seed in KEPT[name]:
        outcome = run_seed(REGISTRY[name], seed)
        assert outcome.violated is None, f"{outcome.violated}; repeat: tocsin swarm {name} --seeds {seed}"


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_many_seeds(name: str) -> None:
    protocol = REGISTRY[name]
    outcomes = [run_seed(protocol, seed) for seed in range(MANY)]
    violated = [outcome for outcome in outcomes if outcome.violated is not None]
    assert not violated, f"{violated[0].violated}; repeat: tocsin swarm {name} --seeds {violated[0].seed}"
    assert not never_happened(protocol, add_up(outcomes), len(outcomes))
