"""Section 4.2 of Chang and Hwang: control messages and delay of the counter-based protocol."""

from typing import Annotated, Literal

from msgspec import Meta

from papers.chang_hwang.experiments.counts import counted
from papers.chang_hwang.experiments.settings import PAPER_OPTIONS, PP_US, SECOND_US, Rate, Sites
from papers.chang_hwang.formulas import Model, copies
from tocsin.spark.sweep.experiment import Experiment


class Control(Experiment, frozen=True):
    """Section 4.2: control messages and delay of the counter-based protocol, for Figures 3 and 4."""

    sites: Sites
    rate: Rate
    hold_s: Annotated[float, Meta(gt=0.0, le=100.0)]
    model: Model = "lan"
    loss: Annotated[float, Meta(ge=0.0, lt=1.0)] = 0.0
    messages: Annotated[int, Meta(ge=1, le=10**6)] = 30_000
    commit: Literal["cycle", "entry"] = "cycle"
    wait_us: Annotated[int, Meta(ge=0, le=10**9)] = PP_US  # before something that the token names is asked for

    def cost(self) -> float:
        return self.messages * self.sites * (1.0 + 10 * self.loss)

    def measure(self, seed: int) -> dict[str, float]:
        options = {
            **PAPER_OPTIONS,
            "token_hold_us": int(self.hold_s * SECOND_US),
            "commit": self.commit,
            "request_wait_us": self.wait_us,
        }
        counts = counted(
            "counter_token",
            seed,
            sites=self.sites,
            options=options,
            workload={"messages": self.messages, "rate_per_site": self.rate, "size": 1},
            network={"model": self.model, "delay_us": [0, PP_US], "loss": self.loss},
        )
        many = copies(self.model, self.sites)
        tokens = counts.during_load("token", "ack")
        requests = counts.in_all("request") / many
        turns = counts.busy.get("token", 0) / many
        cycle_us = counts.busy_us / max(1.0, turns) * self.sites
        found = {
            "turns": turns,
            "tokens": tokens,
            "requests": requests,
            "control": tokens + requests,
            "control.sent": tokens + requests * many,
            "control.to_the_end": counts.in_all("token", "ack") + requests,
            "latency_s": counts.latency_us() / SECOND_US,
            "latency.cycles": counts.latency_us() / cycle_us,
            "longest.cycles": counts.latencies_us[-1] / cycle_us,
            "undelivered": counts.broadcasts * self.sites - counts.deliveries,
        }
        between_us = counts.between_deliveries_us(counts.busy_us)
        if between_us is not None:
            found["amortised_s"] = 2 * between_us / SECOND_US
        return found
