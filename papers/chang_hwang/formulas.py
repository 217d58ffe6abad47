"""The formulas of Chang and Hwang, sections 4.1 and 4.3, with `exp(A, N)` read as 1/A: messages arrive at each of N
nodes as a Poisson process of A a second. Times are in seconds: T the token-owner time, P the propagation delay.
"""

from typing import Literal

Approach = Literal["centralized", "two_phase", "optimistic", "fast_message", "counter_based"]
P_S = 0.05  # P of all experiments; where it is drawn, uniform between 0 and 0.1 s, its mean

Model = Literal["lan", "mesh"]  # a broadcast network; a point-to-point network


def copies(model: Model, sites: int) -> int:
    """Messages of one message to all."""
    return 1 if model == "lan" else sites - 1


def tokens(model: Model, sites: int, rate: float, hold_s: float, delay_s: float, loss: float = 0.0) -> float:
    """Token messages a broadcast: the first item of C."""
    return copies(model, sites) / (sites * rate * (hold_s + delay_s) * (1.0 - loss))


def requests(sites: int, loss: float) -> float:
    """Requests for retransmission a broadcast: the second item of C."""
    return (sites - 1) * loss / (1.0 - loss)


def num(approach: Approach, model: Model, sites: int, rate: float, hold_s: float, delay_s: float) -> float:
    """Num of Table 1 and Table 2: messages a broadcast, itself among them."""
    many = copies(model, sites)
    if approach == "centralized":
        return 2.0 if model == "lan" else float(sites)
    if approach == "two_phase":
        return float(sites + 1 if model == "lan" else 3 * (sites - 1))
    if approach == "optimistic":
        return many * (1.0 + 1.0 / sites)
    if approach == "fast_message":
        return 2.0 * many
    return many + tokens(model, sites, rate, hold_s, delay_s)


def delay(approach: Approach, sites: int, rate: float, hold_s: float, delay_s: float) -> float:
    """D of Table 1, in seconds."""
    if approach == "centralized":
        return 2.0 * delay_s
    if approach == "two_phase":
        return 3.0 * delay_s
    if approach == "optimistic":
        return (hold_s + delay_s) / sites
    if approach == "fast_message":
        return hold_s + delay_s
    return 2.0 / (sites * rate)
