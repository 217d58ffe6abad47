"""Chang, Hwang, sections 4.1 and 4.2: control messages and delay on a broadcast network, against the formulas.

Messages arrive at each node as a Poisson process of rate A (docs/protocols/counter_token.md on exp(A, N)). So N * A
messages and 1 / (T + P) tokens a second: C = 1 / (N * A * (T + P)), P being the mean propagation delay, PP / 2.
"""

from typing import Any

import pytest

from papers.chang_hwang.experiments.settings import PAPER_OPTIONS, PP_US
from tests.protocols.counter_token.runs import simulated


def on_lan(nodes: int, hold_s: int, rate: float, messages: int, loss: float = 0.0) -> dict[str, Any]:
    return simulated(
        {
            "sites": nodes,
            "duration_us": 10**11,
            "options": {**PAPER_OPTIONS, "token_hold_us": hold_s * 1_000_000, "commit": "entry"},
            "workload": {"messages": messages, "rate_per_site": rate, "size": 1},
            "network": {"model": "lan", "delay_us": [0, PP_US], "loss": loss},
        },
        properties=(),
    )


def control(answer: dict[str, Any]) -> float:
    """C: token and request messages for each broadcast."""
    multicasts = answer["multicasts"]
    other = sum(answer["sends"].values())
    return float(multicasts["token"] + multicasts.get("request", 0) + other) / float(answer["broadcasts"])


def formula(nodes: int, hold_s: int, rate: float) -> float:
    return 1.0 / (nodes * rate * (hold_s + PP_US / 2e6))


def check_without_errors(nodes: int, hold_s: int, rate: float, messages: int) -> float:
    answer = on_lan(nodes, hold_s, rate, messages)
    assert answer["broadcasts"] == messages
    assert answer["deliveries"] == messages * nodes
    assert "request" not in answer["multicasts"]
    assert control(answer) < 0.1
    # tokens are counted until the last message is committed: two rounds more than the formula's
    rounds_us = answer["simulated_us"] / (hold_s * 1e6 + PP_US / 2)
    assert answer["multicasts"]["token"] == pytest.approx(rounds_us, rel=0.05, abs=2)
    # no message is committed later than the end of the second cycle
    assert answer["delay_us"]["max"] <= 2 * nodes * (hold_s * 1_000_000 + PP_US)
    return control(answer)


def test_section_4_control_messages_fall_in_t_and_in_n() -> None:
    small = check_without_errors(10, 1, 10.0, 3_000)
    assert check_without_errors(10, 5, 10.0, 10_000) < small
    assert check_without_errors(20, 1, 10.0, 6_000) < small


def test_section_4_1_requests_rise_as_the_formula_says() -> None:
    """(N - 1) E / (1 - E) requests for each broadcast, one for each message that a node lacks."""
    for loss in (0.01, 0.05):
        answer = on_lan(10, 1, 10.0, 3_000, loss)
        requests = answer["multicasts"]["request"] / answer["broadcasts"]
        assert requests == pytest.approx(9 * loss / (1 - loss), rel=0.10)
        assert answer["deliveries"] == 30_000


@pytest.mark.long
@pytest.mark.parametrize("nodes", [10, 20])
@pytest.mark.parametrize("hold_s", [1, 5])
@pytest.mark.parametrize("rate", [10.0, 20.0])
def test_section_4_2_as_large_as_the_paper(nodes: int, hold_s: int, rate: float) -> None:
    found = check_without_errors(nodes, hold_s, rate, 30_000)
    cycles_us = 2 * nodes * (hold_s * 1_000_000 + PP_US)  # in which the last messages are only committed
    arrivals_us = 30_000 * 1e6 / (nodes * rate)
    expected = formula(nodes, hold_s, rate)
    assert 0.95 * expected <= found <= 1.05 * expected * (1 + cycles_us / arrivals_us)


@pytest.mark.long
@pytest.mark.parametrize("nodes", [10, 20])
@pytest.mark.parametrize("loss", [0.01, 0.03, 0.05])
def test_section_4_2_with_errors_as_large_as_the_paper(nodes: int, loss: float) -> None:
    answer = on_lan(nodes, 1, 10.0, 30_000, loss)
    requests = answer["multicasts"]["request"] / answer["broadcasts"]
    assert requests == pytest.approx((nodes - 1) * loss / (1 - loss), rel=0.10)
