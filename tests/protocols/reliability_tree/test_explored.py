"""Every order of events of `reliability_tree` among three sites: nothing is delivered twice, or invented."""

from tests.protocols.small import explored, small
from tocsin.protocols.reliability_tree import PROTOCOL
from tocsin.sim.explore.exploration import Limits

GIVEN = {"knowledge": "given", "given_loss": 0.3, "reach": 0.8}  # two copies to one, one to the other


def test_given_knowledge_losses_and_repeats() -> None:
    explored(small(PROTOCOL, 3, 2, 100_000, GIVEN), Limits(losses=2, repeats=1))


def test_given_knowledge_and_crashes() -> None:
    explored(small(PROTOCOL, 3, 2, 100_000, GIVEN), Limits(losses=1, crashes=1))


def test_learned_knowledge() -> None:
    """Both processes learn in every order of their first heartbeats, one of which is lost, and one process crashes."""
    options = {"settle_us": 0, "heartbeat_us": 100_000, "tick_us": 10_000_000, "reach": 0.6, "caution": 0.0}
    explored(small(PROTOCOL, 2, 1, 150_000, options), Limits(losses=1, crashes=1))
