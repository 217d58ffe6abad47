"""Garcia-Molina and Kogan, section 6: control messages, and the period of null messages."""

from typing import Literal

from papers.kogan.experiments.runs import DELAY_US, Hosts, Messages, Micros, Which, started, two_sides
from tocsin.core.rng import Rng
from tocsin.spark.sweep.experiment import Experiment


class Control(Experiment, frozen=True):
    """Section 6: control messages in twenty seconds, for few and many messages, with and without a partition."""

    protocol: Which
    messages: Messages
    parted: bool
    hosts: Hosts = 5  # beyond the bridge; there is one more on the source's side

    def cost(self) -> float:
        return self.messages + 100.0

    def measure(self, seed: int) -> dict[str, float]:
        faults = [{"at_us": 3_000_000, "fail": ["bridge"]}, {"at_us": 6_000_000, "repair": ["bridge"]}]
        run = started(
            self.protocol,
            two_sides(self.hosts),
            ["bridge", "to_h1"],
            seed,
            duration_us=20_000_000,
            workload={"messages": self.messages, "every_us": 10_000_000 // self.messages, "senders": ["h1"]},
            faults=faults if self.parted else [],
        )
        run.until(20_000_000)
        tally = run.simulation.world.tally
        delays = [at - tally.broadcast_at[message] for message, at in tally.delivered_at.items()]
        total = sum(count for (_, kind), count in run.network.sent.items() if kind != "data")
        return {
            "control": total,
            "control.null": run.network.sent_kind("null"),
            "control.per_message_and_host": total / self.messages / (self.hosts + 1),
            "data.bridge": run.network.copies[0].get("data", 0) / self.messages,
            "data.server": run.network.copies[1].get("data", 0) / self.messages,
            "delay_us": sum(delays) / len(delays),
            "lacking": run.lacking(),
        }


class Delta(Experiment, frozen=True):
    """Section 6: the period of null messages, what it costs, and how soon missing messages are noticed and there."""

    delta_us: Micros
    failure: Literal["transient", "partition"]
    hosts: Hosts = 5

    def measure(self, seed: int) -> dict[str, float]:
        last_us = 20_000_000 + Rng(seed).below(4 * self.delta_us)  # at any moment of the period
        repaired = last_us + (1_000 if self.failure == "transient" else 12 * self.delta_us)
        run = started(
            "coordinator_tree",
            two_sides(self.hosts),
            ["bridge"],
            seed,
            options={"delta_us": self.delta_us},
            duration_us=10**9,
            workload={"messages": 2, "every_us": last_us, "senders": ["h1"]},
            faults=[{"at_us": last_us - 100, "fail": ["bridge"]}, {"at_us": repaired, "repair": ["bridge"]}],
        )
        run.until(10_000_000)
        before = sum(run.network.sent.values())
        run.until(20_000_000)
        quiet = sum(run.network.sent.values()) - before
        run.until(repaired)
        done = run.until_delivered(10**9, DELAY_US)
        return {"recovery_us": done - repaired, "messages_in_10_s": quiet, "lacking": run.lacking()}
