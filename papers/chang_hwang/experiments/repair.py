"""How long a lost copy takes to arrive, in the fast message and in the counter-based protocol."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from papers.chang_hwang.experiments.settings import PAPER_OPTIONS, PP_US, PROTOCOLS, RING, SECOND_US, Time, site_names
from papers.common.traced import traced
from tocsin.core.rng import Rng
from tocsin.spark.sweep.experiment import Experiment


class Repair(Experiment, frozen=True):
    """One copy of one message does not reach one site, which has to find out: how many cycles of the token later?"""

    approach: Literal["fast_message", "counter_based"]
    sites: Annotated[int, Meta(ge=4, le=200)]
    hold_us: Time = SECOND_US
    delay_us: Time = PP_US // 2

    def measure(self, seed: int) -> dict[str, float]:
        counter = self.approach == "counter_based"
        cycle_us = self.sites * (self.delay_us + (self.hold_us if counter else 0))
        rng = Rng(seed)
        at_us = 3 * cycle_us + rng.below(cycle_us)
        names = site_names(self.sites)
        source, victim = names[0], names[rng.between(2, self.sites - 1)]
        # the ring's site broadcasts when the token comes, and its token goes to its neighbour only
        heal_us = at_us + self.delay_us + 1 if counter else at_us + cycle_us + 2 * self.delay_us
        options: dict[str, Any] = {**PAPER_OPTIONS, "token_hold_us": self.hold_us, "request_wait_us": 2 * self.delay_us}
        rows = traced(
            {
                "protocol": PROTOCOLS[self.approach],
                "sites": self.sites,
                "duration_us": 10 * cycle_us,
                "options": options if counter else {**RING, "burst": 1},
                "workload": {"messages": 1, "every_us": 10**9, "senders": [source], "start_us": at_us},
                "network": {"model": "lan", "delay_us": self.delay_us},
                "faults": [{"at_us": at_us, "cut": [[source, victim]]}, {"at_us": heal_us, "heal": True}],
            },
            seed,
        )
        sent = [row.time_us for row in rows if row.site == source and row.event == "send" and row.kind == "data"]
        got = [row.time_us for row in rows if row.site == victim and row.event == "receive" and row.kind == "data"]
        return {"repair.cycles": (got[0] - sent[0]) / cycle_us, "repair_s": (got[0] - sent[0]) / SECOND_US}
