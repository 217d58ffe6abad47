"""Is the order causal? Not by itself: the explorer finds the shortest ways in which it is not. With `causal` it is.

Chiu and Hsiao (1998) showed it of a follow-up of the paper: a causally later message overtakes on a shorter path.
"""

import msgspec
import pytest

from tests.protocols.propagation_graph.overlapping import CHAIN, overlapping
from tests.protocols.small import explored
from tocsin.core.errors import InputError
from tocsin.protocols.propagation_graph import PROTOCOL
from tocsin.protocols.protocol import Protocol
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.explore.search import explore
from tocsin.sim.explore.telling import tell_violation
from tocsin.sim.scenario import Scenario
from tocsin.sim.swarm.kinds import EARLIER
from tocsin.sim.swarm.swarm import run_seed

STRICT = msgspec.structs.replace(PROTOCOL, guarantees=(*PROTOCOL.guarantees, "causal"))
CAUSAL = msgspec.structs.replace(STRICT, variations={"failures": ("atomic",), "causal": (True,)})
SEEDS = 40


def one_source(protocol: Protocol, causal: bool, failures: str = "atomic") -> Scenario:
    """c sends to x, whose messages come down from a, and then to y, whose messages come from b."""
    workload = {"messages": 2, "every_us": 1, "senders": ["c"]}
    return overlapping(protocol, CHAIN, 2, 600_000, {"causal": causal, "failures": failures}, workload=workload)


def two_sources(protocol: Protocol, causal: bool) -> Scenario:
    """b and c are below a, d below c. b may deliver a's message to x and then send to y, which c orders."""
    return overlapping(
        protocol,
        {"x": ["a", "b", "c", "d"], "y": ["c", "d"], "z": ["a", "b"], "w": ["a"]},
        2,
        600_000,
        {"causal": causal},
        sites=["a", "b", "c", "d"],
        workload={"messages": 2, "every_us": 1, "senders": ["a", "b"]},
    )


def test_a_source_overtakes_itself() -> None:
    found = explore(one_source(STRICT, False), Limits())
    assert found.violation is not None and found.violation.why.startswith("causal")


def test_an_answer_overtakes_the_question() -> None:
    scenario = two_sources(STRICT, False)
    found = explore(scenario, Limits())
    assert found.violation is not None and found.violation.why.startswith("causal")
    story = tell_violation(scenario, found.violation, 0)
    assert "broadcast a x" in story and "broadcast b y" in story


def test_no_order_of_events_breaks_it_with_the_option() -> None:
    explored(one_source(STRICT, True), Limits(losses=1))
    explored(two_sources(STRICT, True), Limits())


def test_who_was_left_out_catches_up_in_another_order() -> None:
    """So the option is refused where sites are left out: their messages come from several trees at once."""
    with pytest.raises(InputError, match="needs failures"):
        one_source(PROTOCOL, True, "non_atomic")


def test_random_scenarios_with_the_option() -> None:
    for seed in range(SEEDS):
        outcome = run_seed(CAUSAL, seed, only=EARLIER)
        assert outcome.violated is None, f"seed {seed}: {outcome.violated}"
