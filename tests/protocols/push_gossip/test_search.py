"""The search for the number of steps: against arithmetic where there is any, and against the machine."""

from pathlib import Path

from tocsin.core.config import decode_config
from tocsin.core.rng import Rng
from tocsin.protocols.baselines.push_gossip import PROTOCOL
from tocsin.protocols.baselines.push_gossip.search import Rounds, steps_for_reach
from tocsin.sim.run import without_trace
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig


def rounds(neighbours: list[list[int]], loss: float, fanout: int = 0) -> Rounds:
    return Rounds(neighbours, [[loss] * len(beside) for beside in neighbours], fanout)


def complete_graph(sites: int) -> list[list[int]]:
    """Everybody is beside everybody."""
    return [[other for other in range(sites) if other != site] for site in range(sites)]


def reached_by(network: Rounds, steps: int, rng: Rng) -> list[int]:
    """By step: how many have the message after it."""
    network.start()
    return [1, *[network.step(rng) for _ in range(steps)]]


def test_a_lone_neighbour_needs_as_many_steps_as_arithmetic_says() -> None:
    """loss^steps <= 1 - reach: 0.5^7 < 0.01 < 0.5^6."""
    assert steps_for_reach(rounds(complete_graph(2), 0.5), 0.99, 4_000, Rng(1)) == 7


def test_a_chain_without_loss_needs_its_length() -> None:
    chain = [[1], [0, 2], [1, 3], [2]]
    assert reached_by(rounds(chain, 0.0), 4, Rng(1)) == [1, 2, 3, 4, 4]
    assert steps_for_reach(rounds(chain, 0.0), 0.9999, 10, Rng(1)) == 3


def test_what_cannot_be_reached_is_said() -> None:
    assert steps_for_reach(rounds([[], []], 0.0), 0.9, 2, Rng(1)) == -1


def test_a_limited_fanout_needs_more_steps() -> None:
    everybody = steps_for_reach(rounds(complete_graph(10), 0.2), 0.95, 300, Rng(1))
    assert steps_for_reach(rounds(complete_graph(10), 0.2, 1), 0.95, 300, Rng(1)) > everybody


def test_the_machine_reaches_what_the_search_says() -> None:
    """Four sites, loss 0.4, three steps, 400 broadcasts: both reach everybody about as often."""
    document = {
        "protocol": "push_gossip",
        "sites": 4,
        "options": {"steps": 3, "step_us": 10_000},
        "workload": {"messages": 400, "every_us": 100_000, "senders": ["a"]},
        "network": {"delay_us": 1_000, "loss": 0.4},
    }
    scenario = Scenario(decode_config(document, ScenarioConfig, "search"), "search", Path(), PROTOCOL)
    delivered = without_trace(scenario, 1).world.tally.deliveries
    rng = Rng(2)
    expected = sum(reached_by(rounds(complete_graph(4), 0.4), 3, rng)[-1] for _ in range(400))
    assert abs(delivered - expected) < 0.03 * expected
