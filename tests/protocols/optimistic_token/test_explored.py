"""Every order of events of `optimistic_token` in small groups."""

import msgspec

from tests.protocols.small import explored, small
from tocsin.protocols.baselines.optimistic_token import PROTOCOL
from tocsin.sim.explore.exploration import Limits

# While guesses stand, sites may disagree on the order; what is promised at every moment is less.
AT_EVERY_MOMENT = ("integrity", "validity", "agreement", "uniform_agreement")


def test_one_message() -> None:
    explored(small(PROTOCOL, 3, 1, 600_000), Limits(losses=1))
    explored(small(PROTOCOL, 3, 1, 600_000), Limits(repeats=1))
    explored(small(PROTOCOL, 2, 1, 600_000), Limits(losses=1, early=1))


def test_two_messages_guessed_in_every_order() -> None:
    guessing = msgspec.structs.replace(PROTOCOL, guarantees=AT_EVERY_MOMENT)
    explored(small(guessing, 2, 2, 600_000), Limits(losses=1))


def test_a_crash_at_any_point() -> None:
    explored(small(PROTOCOL, 2, 1, 2_000_000), Limits(crashes=1))


def test_three_sites_go_on_without_one_that_dies_at_any_point() -> None:
    """Beyond what is assumed: it never comes back, and keeps its guesses. The others never settle: they wait for it."""
    outside = msgspec.structs.replace(PROTOCOL.assumptions, crashes_recover=False)
    kept = tuple(name for name in PROTOCOL.guarantees if name != "uniform_agreement")
    dying = msgspec.structs.replace(PROTOCOL, assumptions=outside, guarantees=kept)
    hasty = {"suspect_after": 1, "election_us": 20_000}
    explored(small(dying, 3, 1, 500_000, hasty), Limits(crashes=1, recoveries=0, liveness=False))
