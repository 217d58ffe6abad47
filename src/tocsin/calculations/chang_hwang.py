"""Experiments on Chang, Hwang: the five protocols of their comparison in the simulator.

N is the number of sites, A the broadcasts of a site a second (Poisson), T the token-owner time, P the propagation
delay, E the probability that a copy is lost. What the paper calls D is for three of the five protocols an amortised
time a message; what a message waits for its delivery everywhere is its latency, and both are measured.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from tocsin.calculations.calculation import Calculation
from tocsin.calculations.chang_hwang_formulas import Approach, Model, copies
from tocsin.calculations.counts import Counts, counted
from tocsin.core.rng import Rng
from tocsin.sim.run import run_to_end
from tocsin.sim.scenario import scenario_from_document
from tocsin.traces.buffer import TraceBuffer
from tocsin.traces.rows import Row

# The paper's own protocol, times that suit its network, and buffers that never fill
PAPER: dict[str, Any] = {
    "classic": True,
    "request_wait_us": 100_000,  # as long as data may travel: what the token has overtaken is not lost
    "request_us": 500_000,
    "reissue_us": 500_000,
    "buffer_bytes": 1 << 40,
    "overload_messages": 1 << 30,
}
SECOND_US = 1_000_000
PP_US = 100_000  # section 4.2: the propagation delay is uniform up to here
PATIENT = {"resend_us": 4 * PP_US, "election_us": 20 * PP_US}  # two round trips, and several
RING: dict[str, Any] = {"idle_us": 0, "retry_us": 4 * PP_US, "loss_us": 100 * PP_US}
PROTOCOLS: dict[str, str] = {
    "centralized": "sequencer",
    "two_phase": "two_phase",
    "optimistic": "optimistic_token",
    "fast_message": "totem_ring",
    "totem": "totem_ring",
    "counter_based": "counter_token",
}
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
CYCLES = 3.2  # of a steady load: two commits of whole cycles lie inside

Sites = Annotated[int, Meta(ge=2, le=200)]
Rate = Annotated[float, Meta(gt=0.0, le=1e6)]
Time = Annotated[int, Meta(ge=1, le=10**9)]


class Control(Calculation, frozen=True):
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
            **PAPER,
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


class Comparison(Calculation, frozen=True):
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
        senders = {"senders": _names(self.sites)[1:]} if self.approach == "centralized" else {}
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
        options = {**PAPER, "token_hold_us": self.hold_us}
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


class SharedLoad(Calculation, frozen=True):
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
            "counter_based": {**PAPER, "token_hold_us": self.hold_us},
        }
        return options[self.approach]


class Repair(Calculation, frozen=True):
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
        names = _names(self.sites)
        source, victim = names[0], names[rng.between(2, self.sites - 1)]
        # the ring's site broadcasts when the token comes, and its token goes to its neighbour only
        heal_us = at_us + self.delay_us + 1 if counter else at_us + cycle_us + 2 * self.delay_us
        options: dict[str, Any] = {**PAPER, "token_hold_us": self.hold_us, "request_wait_us": 2 * self.delay_us}
        rows = _traced(
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


def _names(sites: int) -> list[str]:
    return scenario_from_document({"protocol": "sequencer", "sites": sites}, "experiment", Path()).names


def _traced(document: dict[str, Any], seed: int) -> list[Row]:
    scenario = scenario_from_document(document, "experiment", Path())
    trace = TraceBuffer("experiment", scenario.names)
    run_to_end(scenario.build(seed, trace), scenario.config.duration_us)
    return list(trace.rows())
