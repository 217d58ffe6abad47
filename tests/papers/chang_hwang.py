"""Tables 1 and 2 of Chang and Hwang by measurement: each protocol under the load its formula speaks of.

P is the one-way delay, T the token-owner time, A the broadcasts of a site a second (Poisson). Num counts the messages
that the paper counts (a multicast of a broadcast network is one); `all` counts everything that was sent, so also the
messages by which a real protocol learns what may be forgotten. D of the two pessimistic protocols is the time from
broadcast to last delivery; D of the others is an amortised time per message: `docs/comparison.md` has both.
"""

from pathlib import Path
from typing import Any

import msgspec

from tests.protocols.counter_token.runs import PAPER
from tocsin.check import Report
from tocsin.core.config import decode_config
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.run import answer, without_trace
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig

P_US = 1_000
T_US = 10_000
A = 20.0
ROUNDS = 40  # broadcasts of a site
SITES = (5, 20)


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of the tables."""

    approach: str
    protocol: str
    sites: int
    num: float
    num_expected: float
    everything: float  # all messages sent, a broadcast
    time_us: float  # D as the paper means it for this protocol
    time_expected_us: float
    latency_us: int  # one message at a time: broadcast to last delivery, median


def counted(protocol: str, sites: int, **parts: Any) -> dict[str, Any]:
    """The numbers of a run without faults."""
    document = {"protocol": protocol, "sites": sites, "duration_us": 10**9, **parts}
    scenario = Scenario(decode_config(document, ScenarioConfig, "table"), "table", Path(), REGISTRY[protocol])
    simulation = without_trace(scenario, 1)
    found = answer(scenario, 1, simulation, Report(0, 0, 0, {}))
    tally = simulation.world.tally
    found["first_us"] = min(tally.broadcast_at.values())
    found["last_us"] = max(tally.delivered_at.values())
    return found


def per_broadcast(found: dict[str, Any], *kinds: str) -> float:
    """Messages of these kinds, or of all, a broadcast; a multicast of a lan is one."""
    total = 0
    for way in ("sends", "multicasts"):
        total += sum(count for kind, count in found[way].items() if not kinds or kind in kinds)
    return float(total / found["broadcasts"])


def network(model: str) -> dict[str, Any]:
    return {"model": model, "delay_us": P_US}


def seldom(sites: int, senders: list[str] | None = None) -> dict[str, Any]:
    """One message at a time."""
    load: dict[str, Any] = {"messages": 4 * sites, "rate_per_site": 100.0 / sites**2}
    return {**load, "senders": senders} if senders else load


def latency(protocol: str, sites: int, model: str, options: dict[str, Any]) -> int:
    found = counted(protocol, sites, options=options, workload=seldom(sites), network=network(model))
    return int(found["delay_us"]["p50"])


def centralized(sites: int, model: str) -> Measured:
    """All but the central site broadcast: its own messages need one less."""
    others = [chr(ord("a") + site) for site in range(1, sites)]
    found = counted("sequencer", sites, workload=seldom(sites, others), network=network(model))
    return Measured(
        approach="centralized",
        protocol="sequencer",
        sites=sites,
        num=per_broadcast(found, "data"),
        num_expected=2 if model == "lan" else sites,
        everything=per_broadcast(found),
        time_us=found["delay_us"]["p50"],
        time_expected_us=2 * P_US,
        latency_us=found["delay_us"]["p50"],
    )


def two_phase(sites: int, model: str) -> Measured:
    found = counted("two_phase", sites, workload=seldom(sites), network=network(model))
    return Measured(
        approach="two-phase",
        protocol="two_phase",
        sites=sites,
        num=per_broadcast(found, "data", "ack", "final"),
        num_expected=sites + 1 if model == "lan" else 3 * (sites - 1),
        everything=per_broadcast(found),
        time_us=found["delay_us"]["p50"],
        time_expected_us=3 * P_US,
        latency_us=found["delay_us"]["p50"],
    )


def optimistic(sites: int, model: str) -> Measured:
    """Every site broadcasts once in an owner time."""
    options = {"hold_us": T_US, "resend_us": 500_000}
    load = {"messages": ROUNDS * sites, "every_us": T_US + P_US}
    found = counted("optimistic_token", sites, options=options, workload=load, network=network(model))
    copies = 1 if model == "lan" else sites - 1
    return Measured(
        approach="optimistic",
        protocol="optimistic_token",
        sites=sites,
        num=per_broadcast(found, "data", "token"),
        num_expected=copies * (1 + 1 / sites),
        everything=per_broadcast(found),
        time_us=(found["last_us"] - found["first_us"]) / found["broadcasts"],
        time_expected_us=(T_US + P_US) / sites,
        latency_us=latency("optimistic_token", sites, model, options),
    )


def fast_message(sites: int, model: str) -> Measured:
    """Full queues, and one message a visit of the token, which nobody holds longer: T = 0."""
    load = {"messages": ROUNDS * sites, "every_us": 1, "burst": ROUNDS}
    found = counted("totem_ring", sites, options={"burst": 1}, workload=load, network=network(model))
    return Measured(
        approach="fast message",
        protocol="totem_ring",
        sites=sites,
        num=per_broadcast(found, "data", "token"),
        num_expected=2 if model == "lan" else 2 * (sites - 1),
        everything=per_broadcast(found),
        time_us=(found["last_us"] - found["first_us"]) / found["broadcasts"],
        time_expected_us=P_US,
        latency_us=latency("totem_ring", sites, model, {"burst": 1}),
    )


def counter_based(sites: int, model: str) -> Measured:
    options = {**PAPER, "token_hold_us": T_US, "commit": "cycle"}
    load = {"messages": 4 * ROUNDS * sites, "rate_per_site": A, "size": 1}  # much longer than the last two cycles
    found = counted("counter_token", sites, options=options, workload=load, network=network(model))
    copies = 1 if model == "lan" else sites - 1
    return Measured(
        approach="counter-based",
        protocol="counter_token",
        sites=sites,
        num=per_broadcast(found, "data", "token"),
        num_expected=copies * (1 + 1e6 / (sites * A * (T_US + P_US))),
        everything=per_broadcast(found),
        time_us=2 * (found["last_us"] - found["first_us"]) / found["broadcasts"],
        time_expected_us=2e6 / (sites * A),
        latency_us=latency("counter_token", sites, model, options),
    )


COLUMNS = (centralized, two_phase, optimistic, fast_message, counter_based)


def table(model: str) -> list[Measured]:
    return [column(sites, model) for column in COLUMNS for sites in SITES]


def told(measured: list[Measured]) -> str:
    """The table in Markdown."""
    lines = [
        "| approach | protocol | N | Num measured | formula | all sent | D measured, ms | formula, ms | latency, ms |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for each in measured:
        lines.append(
            f"| {each.approach} | `{each.protocol}` | {each.sites} | {each.num:.2f} | {each.num_expected:.2f} | "
            f"{each.everything:.2f} | {each.time_us / 1000:.2f} | {each.time_expected_us / 1000:.2f} | "
            f"{each.latency_us / 1000:.1f} |"
        )
    return "\n".join(lines) + "\n"
