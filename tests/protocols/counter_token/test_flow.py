"""Flow control: a slow node, nearly full buffers, the window, idle groups and hurry."""

from typing import Any

from tests.protocols.counter_token.runs import scenario_of, simulated
from tocsin.protocols.counter_token.context import MESSAGE_OVERHEAD
from tocsin.protocols.counter_token.machine import CounterToken
from tocsin.sim.simulation import Simulation

SLOW_US = 1_000  # what the slow node needs for a message: 100 times as long as the others


class Peaks:
    """The most that a run ever kept, over all sites."""

    def __init__(self) -> None:
        self.held_bytes = 0
        self.own = 0
        self.window = 0
        self.overloaded = False
        self.flagged = False


def watched(document: dict[str, Any]) -> tuple[Simulation, Peaks]:
    scenario = scenario_of(document)
    simulation = scenario.build(1, None)
    simulation.start()
    peaks = Peaks()
    more = True
    while more:
        more = simulation.run(scenario.config.duration_us, 200)
        for site in simulation.world.sites:
            machine = site.machine
            assert isinstance(machine, CounterToken)
            peaks.held_bytes = max(peaks.held_bytes, machine._receiving.held_bytes())
            peaks.own = max(peaks.own, len(machine._sending.own))
            peaks.window = max(peaks.window, machine._sending.window)
            peaks.overloaded = peaks.overloaded or machine._sending.overloaded
            peaks.flagged = peaks.flagged or len(machine._sending.blocked_sites) > 0
    return simulation, peaks


def with_a_slow_node(messages: int, **options: Any) -> dict[str, Any]:
    return {
        "sites": 5,
        "duration_us": 10**9,
        "options": options,
        "workload": {"messages": messages, "rate_per_site": 4_000.0, "size": 1_000},
        "network": {
            "model": "mesh",
            "delay_us": 100,
            "receive_us": dict.fromkeys("abcd", SLOW_US // 100) | {"e": SLOW_US},
            "receive_buffer": 4_096,
        },
    }


def test_the_group_runs_at_the_speed_of_its_slowest_node_in_bounded_memory() -> None:
    messages = 1_500
    simulation, peaks = watched(with_a_slow_node(messages, window_bytes=1 << 20, queue_messages=64))
    assert simulation.world.tally.deliveries == 5 * messages
    assert simulation.world.tally.drops == {}  # nothing is dropped
    received = messages * 4 // 5  # the slow node's own messages cost it nothing
    assert 0.8 * received * SLOW_US < simulation.kernel.now < 1.4 * received * SLOW_US
    assert peaks.held_bytes <= (1 << 20) + 5 * (1_000 + MESSAGE_OVERHEAD)
    assert peaks.own < 64 + (1 << 20) // (1_000 + MESSAGE_OVERHEAD)


def test_a_nearly_full_buffer_stops_the_senders_and_releases_them() -> None:
    """The paper's local flag alone, without a window: everything is delivered."""
    simulation, peaks = watched(with_a_slow_node(400, window_bytes=0, buffer_bytes=100_000, queue_messages=16))
    assert peaks.flagged
    assert simulation.world.tally.deliveries == 5 * 400


def test_the_global_flag_stops_everybody_and_releases_them() -> None:
    simulation, peaks = watched(with_a_slow_node(400, window_bytes=0, overload_messages=50, queue_messages=16))
    assert peaks.overloaded
    assert simulation.world.tally.deliveries == 5 * 400


def test_the_window_grows_under_load_and_shrinks_on_loss() -> None:
    document = {
        "sites": 3,
        "duration_us": 10**9,
        "workload": {"messages": 4_000, "rate_per_site": 50_000.0, "size": 1_000},
        "network": {"model": "mesh", "delay_us": 1_000},
    }
    _, calm = watched(document)
    _, lossy = watched({**document, "network": {"model": "mesh", "delay_us": 1_000, "loss": 0.05}})
    assert calm.window > 2 * (128 << 10)
    assert lossy.window < calm.window


def latencies(sites: int, rate: float, loss: float = 0.0, **options: Any) -> dict[str, Any]:
    return simulated(
        {
            "sites": sites,
            "duration_us": 10**9,
            "options": options,
            "workload": {"messages": 200, "rate_per_site": rate, "size": 100},
            "network": {"model": "mesh", "delay_us": 100, "loss": loss},
        }
    )


def test_a_message_is_committed_within_two_rounds_under_load() -> None:
    for sites in (3, 5, 10):
        delay = latencies(sites, 1_000.0)["delay_us"]
        assert delay["max"] <= (2 * sites + 1) * 100  # two rounds of the token, and a hurry at the start


def test_the_first_message_after_idle_moves_the_token_and_takes_two_rounds() -> None:
    for sites in (3, 5, 10):
        answer = latencies(sites, 0.5 / sites)  # one message every two seconds
        assert answer["delay_us"]["max"] <= (1 + 2 * sites) * 100
        assert answer["sends"].get("hurry", 0) < 5  # the data makes the owner pass the token, unless they cross
        seconds = answer["simulated_us"] / 1e6
        assert answer["sends"]["token"] / (sites - 1) < 60 * seconds  # quiet: no spinning token


def test_a_hurry_goes_where_the_data_was_lost() -> None:
    answer = latencies(3, 0.2, loss=0.05)
    assert answer["sends"]["hurry"] > 10
    assert answer["delay_us"]["p50"] <= (1 + 2 * 3) * 100


def test_without_hurry_idle_costs_latency() -> None:
    assert latencies(5, 0.1, pass_at_once=False)["delay_us"]["max"] > 20_000


def test_a_token_that_overtakes_data_starts_no_storm() -> None:
    document = {
        "sites": 5,
        "duration_us": 10**9,
        "workload": {"messages": 1_000, "rate_per_site": 2_000.0, "size": 100},
        "network": {"model": "mesh", "delay_us": [50, 350]},
    }
    calm = simulated(document, properties=())
    assert calm["sends"].get("request", 0) / 4 < 0.05 * calm["broadcasts"]
    lossy = simulated({**document, "network": {"model": "mesh", "delay_us": 100, "loss": 0.02}}, properties=())
    lost = lossy["happened"]["drops"]["loss"]
    assert lossy["sends"]["request"] / 4 < 2 * lost  # one multicast of a request is four messages here
