"""What the experiments on Chang and Hwang have in common.

N is the number of sites, A the broadcasts of a site a second (Poisson), T the token-owner time, P the propagation
delay, E the probability that a copy is lost. What the paper calls D is for three of the five protocols an amortised
time a message; what a message waits for its delivery everywhere is its latency, and both are measured.
"""

from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from tocsin.sim.scenario import scenario_from_document

# The paper's own protocol, times that suit its network, and buffers that never fill
PAPER_OPTIONS: dict[str, Any] = {
    "classic": True,
    "request_wait_us": 100_000,  # as long as data may travel: what the token has overtaken is not lost
    "request_us": 500_000,
    "reissue_us": 500_000,
    "buffer_bytes": 1 << 40,
    "overload_messages": 1 << 30,
}
SECOND_US = 1_000_000
PP_US = 100_000  # section 4.2: the propagation delay is uniform up to here
RING: dict[str, Any] = {"idle_us": 0, "retry_us": 4 * PP_US, "loss_us": 100 * PP_US}
PROTOCOLS: dict[str, str] = {
    "centralized": "sequencer",
    "two_phase": "two_phase",
    "optimistic": "optimistic_token",
    "fast_message": "totem_ring",
    "totem": "totem_ring",
    "counter_based": "counter_token",
}
Sites = Annotated[int, Meta(ge=2, le=200)]
Rate = Annotated[float, Meta(gt=0.0, le=1e6)]
Time = Annotated[int, Meta(ge=1, le=10**9)]


def site_names(sites: int) -> list[str]:
    return scenario_from_document({"protocol": "sequencer", "sites": sites}, "experiment", Path()).names
