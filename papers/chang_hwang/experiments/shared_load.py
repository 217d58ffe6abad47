"""Section 4.3 of Chang and Hwang in words: all protocols under one load, with and without errors."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from papers.chang_hwang.experiments.counts import counted
from papers.chang_hwang.experiments.settings import PAPER_OPTIONS, PP_US, PROTOCOLS, RING, SECOND_US, Rate, Sites, Time
from tocsin.spark.sweep.experiment import Experiment

PATIENT = {"resend_us": 4 * PP_US, "election_us": 20 * PP_US}  # two round trips, and several

# What Num counts: all that carries, orders, acknowledges or asks for a broadcast; not how `sequencer` learns what it
# may forget
NUM_KINDS: dict[str, tuple[str, ...]] = {
    "centralized": ("data", "request"),
    "two_phase": ("data", "ack", "final", "request"),
    "optimistic": ("data", "token", "request"),
    "fast_message": ("data", "token"),
    "totem": ("data", "token"),
    "counter_based": ("data", "token", "request", "ack"),
}


class SharedLoad(Experiment, frozen=True):
    """All protocols under the load of the counter-based one, with and without errors. Each message has the same delay,
    as section 4.3 has it: where delays differ, `sequencer` and others ask for messages that are only late."""

    approach: Literal["centralized", "two_phase", "optimistic", "fast_message", "totem", "counter_based"]
    sites: Sites
    loss: Annotated[float, Meta(ge=0.0, lt=1.0)]
    rate: Rate = 10.0
    hold_us: Time = SECOND_US
    messages: Annotated[int, Meta(ge=1, le=10**6)] = 6_000

    def cost(self) -> float:
        return self.messages * self.sites * (3.0 if self.approach == "two_phase" else 1.0)

    def measure(self, seed: int) -> dict[str, float]:
        counts = counted(
            PROTOCOLS[self.approach],
            seed,
            sites=self.sites,
            options=self._options(),
            workload={"messages": self.messages, "rate_per_site": self.rate, "size": 1},
            network={"model": "lan", "delay_us": PP_US // 2, "loss": self.loss},
        )
        num = counts.in_all(*NUM_KINDS[self.approach])
        if self.approach == "counter_based":  # its token turns every T; those after the load only commit
            num += counts.during_load("token") - counts.in_all("token")
        found = {
            "num": num,
            "all": counts.in_all(),
            "requests": counts.in_all("request"),
            "rollback_requests": counts.in_all("rollback"),
            "latency_s": counts.latency_us() / SECOND_US,
            "rollbacks": counts.rollbacks / counts.broadcasts / self.sites,
            "lost": counts.drops / counts.broadcasts,
            "undelivered": counts.broadcasts * self.sites - (counts.deliveries - counts.rollbacks),
        }
        between_us = counts.between_deliveries_us(counts.busy_us)
        if between_us is not None:
            found["between_s"] = between_us / SECOND_US
        return found

    def _options(self) -> dict[str, Any]:
        options: dict[str, dict[str, Any]] = {
            "centralized": PATIENT,
            "two_phase": {"resend_us": PATIENT["resend_us"]},
            "optimistic": {**PATIENT, "hold_us": self.hold_us, "resend_us": 2 * (self.hold_us + PP_US)},
            "fast_message": {**RING, "burst": 1},
            "totem": RING,
            "counter_based": {**PAPER_OPTIONS, "token_hold_us": self.hold_us},
        }
        return options[self.approach]
