"""Every order of events of `sequencer` in small groups, in each of its forms."""

from typing import Any

import pytest

from tests.protocols.small import explored, small
from tocsin.protocols.baselines.sequencer import PROTOCOL
from tocsin.sim.exploration import Limits

FORMS: list[dict[str, Any]] = [
    {},
    {"delivery": "committed"},
    {"rotate": True},
    {"rotate": True, "delivery": "committed"},
]


@pytest.mark.parametrize("options", FORMS, ids=str)
def test_nothing_goes_wrong(options: dict[str, Any]) -> None:
    explored(small(PROTOCOL, 3, 1, 400_000, options), Limits())
    explored(small(PROTOCOL, 2, 2, 400_000, options), Limits())


@pytest.mark.parametrize("options", FORMS, ids=str)
def test_losses_and_hasty_timers(options: dict[str, Any]) -> None:
    explored(small(PROTOCOL, 3, 1, 600_000, options), Limits(losses=1))
    explored(small(PROTOCOL, 2, 1, 600_000, options), Limits(losses=1, early=1))


@pytest.mark.parametrize("options", FORMS[2:], ids=str)
def test_a_crash_at_any_point(options: dict[str, Any]) -> None:
    explored(small(PROTOCOL, 2, 1, 2_000_000, options), Limits(crashes=1))


@pytest.mark.long
@pytest.mark.parametrize("options", FORMS[:2], ids=str)
def test_a_crash_of_the_central_site_at_any_point(options: dict[str, Any]) -> None:
    explored(small(PROTOCOL, 2, 1, 2_000_000, options), Limits(crashes=1))
