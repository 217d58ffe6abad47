"""Every order of events of `sequencer` in small groups, in each of its forms."""

from typing import Any

import msgspec
import pytest

from tests.mutation import mutated
from tests.protocols.small import explored, small
from tocsin.protocols.baselines.sequencer import PROTOCOL
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.explore.search import explore

HASTY: dict[str, Any] = {"suspect_after": 1, "election_us": 20_000}  # fewer timers, fewer states

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
    assert explored(small(PROTOCOL, 3, 1, 500_000, {**options, **HASTY}), Limits(crashes=1)).stands_for > 100_000


@pytest.mark.parametrize("options", [FORMS[1], FORMS[3]], ids=str)
def test_three_sites_go_on_without_one_that_dies_at_any_point(options: dict[str, Any]) -> None:
    """Beyond what is assumed: it never comes back. Committed, for the dead must not have delivered what is lost. The
    others never settle: they go on telling the dead what it lacks."""
    outside = msgspec.structs.replace(PROTOCOL.assumptions, crashes_recover=False)
    dying = msgspec.structs.replace(PROTOCOL, assumptions=outside)
    explored(small(dying, 3, 1, 500_000, {**options, **HASTY}), Limits(crashes=1, recoveries=0, liveness=False))
    if "rotate" not in options:
        explored(
            small(dying, 3, 1, 700_000, {**options, **HASTY}), Limits(crashes=1, recoveries=0, losses=1, liveness=False)
        )


def test_a_site_that_is_not_on_the_token_list_is_not_forgotten() -> None:
    """It crashed before it had anything, and comes back to a ring that does not count on it."""
    old = "return self.absent if self.rotate else self._peers"
    module = "tocsin.protocols.baselines.sequencer.token_site"
    mutant = mutated(PROTOCOL, module, old, "return [] if self.rotate else self._peers")
    limits = Limits(crashes=1, states_max=120_000)
    found = explore(small(mutant, 3, 1, 500_000, {"rotate": True, **HASTY}), limits).violation
    assert found is not None and "agreement" in found.why
