"""Storms that found something once."""

import pytest

from tests.protocols.propagation_graph.storms import violation
from tocsin.protocols.propagation_graph import PROTOCOL


@pytest.mark.parametrize(
    ("seed", "failures"),
    [
        (48, "atomic"),  # back after a crash, its first word to its parent lost: it kept what everybody had, for ever
        (56, "non_atomic"),  # a site that is alone in its group: nobody answered it
    ],
)
def test_storm(seed: int, failures: str) -> None:
    assert violation(PROTOCOL, seed, {"failures": failures}) is None
