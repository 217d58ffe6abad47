"""Random scenarios for every protocol: a few dozen seeds each, and for ever those that once failed (kept/).

A failing seed is kept as the scenario that it was: the draw may change, the schedule does not. `seeds.toml` says why.
"""

import tomllib
from pathlib import Path

import pytest

from tests.known_failures import assert_seeds_hold
from tocsin.core.files import read_document
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.swarm.swarm import never_happened, run_document

HERE = Path(__file__).parent
KEPT: dict[str, list[int]] = tomllib.loads((HERE / "seeds.toml").read_text())
SEEDS = 40
MANY = 1_000


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_few_seeds(name: str) -> None:
    assert_seeds_hold(REGISTRY[name], range(SEEDS))


@pytest.mark.parametrize("name", sorted(KEPT))
def test_seeds_that_once_failed(name: str) -> None:
    for seed in KEPT[name]:
        path = HERE / "kept" / f"{name}-{seed}.json"
        outcome = run_document(REGISTRY[name], read_document(path), seed)
        assert outcome.violated is None, f"{outcome.violated}; repeat: tocsin simulate {path} --seed {seed}"


def test_every_kept_scenario_is_named() -> None:
    named = {f"{name}-{seed}.json" for name, seeds in KEPT.items() for seed in seeds}
    assert {path.name for path in (HERE / "kept").glob("*.json")} == named


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_many_seeds(name: str) -> None:
    protocol = REGISTRY[name]
    assert not never_happened(protocol, assert_seeds_hold(protocol, range(MANY)))
