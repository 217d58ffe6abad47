"""A holder of the key cannot crash a member: whatever decodes, every protocol takes or drops."""

import os

import pytest

from tests.protocols.hostile import attack
from tocsin.protocols.registry import REGISTRY

FEW = 2_000
MANY = int(os.environ.get("TOCSIN_HOSTILE_MESSAGES", "10000000"))


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_hostile_messages(name: str) -> None:
    attack(REGISTRY[name], FEW, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_millions_of_hostile_messages(name: str) -> None:
    attack(REGISTRY[name], MANY, seed=1_000_000)
