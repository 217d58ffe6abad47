"""Section 4.3 of Chang and Hwang: Num and D of each protocol under the load of its formula."""

from typing import Annotated, Any

from msgspec import Meta

from papers.chang_hwang.experiments.counts import Counts, counted
from papers.chang_hwang.experiments.settings import (
    PAPER_OPTIONS,
    PP_US,
    PROTOCOLS,
    SECOND_US,
    Rate,
    Sites,
    Time,
    site_names,
)
from papers.chang_hwang.formulas import Approach, Model
from tocsin.spark.sweep.experiment import Experiment

CYCLES = 3.2  # of a steady load: two commits of whole cycles lie inside


class Comparison(Experiment, frozen=True):
    """Section 4.3: Num and D of each protocol, under the load that its formula speaks of, without errors."""

    approach: Approach
    model: Model
    sites: Sites
    rate: Rate = 10.0  # of the counter-based protocol; the formulas of the others are of other loads
    hold_us: Time = SECOND_US
    delay_us: Time = PP_US // 2  # of every message
    rounds: Annotated[int, Meta(ge=1, le=1_000)] = 40  # broadcasts of a site
    messages_max: Annotated[int, Meta(ge=1)] = 10**6

    def cost(self) -> float:
        messages = self._counter_messages() if self.approach == "counter_based" else 10 * self.rounds * self.sites
        return messages * self.sites

    def measure(self, seed: int) -> dict[str, float]:
        if self.approach == "counter_based":
            found = self._counter_based(seed)
        elif self.approach == "optimistic":
            found = self._optimistic(seed)
        elif self.approach == "fast_message":
            found = self._fast_message(seed)
        else:
            found = self._pessimistic(seed)
        return found

    def _pessimistic(self, seed: int) -> dict[str, float]:
        """One message at a time. All but the central site broadcast: its own messages need one less."""
        senders = {"senders": site_names(self.sites)[1:]} if self.approach == "centralized" else {}
        load = {**self._seldom(50 * self.delay_us), **senders}
        counts = self._counted(seed, {"resend_us": max(20_000, 8 * self.delay_us)}, load)
        kinds = ("data",) if self.approach == "centralized" else ("data", "ack", "final")
        return {
            "num": counts.in_all(*kinds),
            "all": counts.in_all(),
            "time_us": counts.median_us(),
            "latency_us": counts.latency_us(),
            "latency.median_us": counts.median_us(),
        }

    def _optimistic(self, seed: int) -> dict[str, float]:
        """Every site broadcasts once in an owner time."""
        period_us = self.hold_us + self.delay_us
        options = {"hold_us": self.hold_us, "resend_us": 10**9}  # nothing is lost: nothing need be sent again
        counts = self._counted(seed, options, {"messages": self.rounds * self.sites, "every_us": period_us})
        # the data is that of whole turns of all sites; the token of the last of them comes after it
        data = counts.in_all("data")
        turns = counts.busy["token"] / counts.broadcasts * self.rounds / (self.rounds - 1)
        return {
            "num": data + turns,
            "all": counts.in_all(),
            "time_us": (counts.complete_at[-1] - counts.complete_at[0]) / (counts.broadcasts - self.sites),
            **self._latency(seed, options),
        }

    def _fast_message(self, seed: int) -> dict[str, float]:
        """Full queues, and one message a visit of the token, which nobody holds longer: T = 0."""
        rounds = 3 * self.rounds  # so that the last ones, in which the token only tells what is safe, count little
        load = {"messages": rounds * self.sites, "every_us": 1, "burst": rounds}
        patience_us = 4 * self.sites * self.delay_us  # without data, a token is seen again only after a cycle
        options = {"burst": 1, "retry_us": max(20_000, patience_us), "loss_us": max(400_000, 10 * patience_us)}
        counts = self._counted(seed, options, load)
        between_us = counts.between_deliveries_us()
        assert between_us is not None
        return {
            "num": counts.in_all("data", "token"),
            "all": counts.in_all(),
            "time_us": between_us,
            **self._latency(seed, options),
        }

    def _counter_based(self, seed: int) -> dict[str, float]:
        options = {**PAPER_OPTIONS, "token_hold_us": self.hold_us}
        load = {"messages": self._counter_messages(), "rate_per_site": self.rate, "size": 1}
        counts = self._counted(seed, options, load)
        found = {
            "num": counts.in_all("data") + counts.during_load("token"),
            "all": counts.in_all(),
            **self._latency(seed, options),
        }
        between_us = counts.between_deliveries_us(counts.busy_us)
        if between_us is not None:
            found["time_us"] = 2 * between_us
        return found

    def _counter_messages(self) -> int:
        cycle_us = self.sites * (self.hold_us + self.delay_us)
        steady = int(CYCLES * cycle_us * self.sites * self.rate / SECOND_US)
        return min(self.messages_max, max(6_000, steady))

    def _latency(self, seed: int, options: dict[str, Any]) -> dict[str, float]:
        """Of messages that come one at a time, over some cycles of the token."""
        counts = self._counted(seed, options, self._seldom(self.hold_us + self.delay_us))
        return {"latency_us": counts.latency_us(), "latency.median_us": counts.median_us()}

    def _seldom(self, gap_us: int) -> dict[str, Any]:
        return {"messages": 4 * self.sites, "rate_per_site": SECOND_US / gap_us / self.sites}

    def _counted(self, seed: int, options: dict[str, Any], load: dict[str, Any]) -> Counts:
        return counted(
            PROTOCOLS[self.approach],
            seed,
            sites=self.sites,
            options=options,
            workload=load,
            network={"model": self.model, "delay_us": self.delay_us},
        )
