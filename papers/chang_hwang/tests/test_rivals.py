"""The rivals' weaknesses, by experiment. Their costs: test_chang_hwang_tables.py; their levels: test_levels.py."""

from pathlib import Path
from typing import Any

from tocsin.core.config import decode_config
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.run import simulate
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig

DELAY_US = 1_000  # P, one way
LOSSY: dict[str, Any] = {"model": "mesh", "delay_us": [0, 5_000], "loss": 0.2}
BUSY: dict[str, Any] = {"messages": 60, "rate_per_site": 60.0}


def ran(protocol: str, sites: int, seed: int = 1, **parts: Any) -> dict[str, Any]:
    """The answer of `tocsin simulate` for a scenario."""
    document = {"protocol": protocol, "sites": sites, "duration_us": 5_000_000, **parts}
    scenario = Scenario(decode_config(document, ScenarioConfig, "paper"), "paper", Path(), REGISTRY[protocol])
    return simulate(scenario, seed)[0]


# The order that only a site that dies has seen

LOST_ORDER: dict[str, Any] = {
    "workload": {"messages": 3, "every_us": 300_000, "senders": ["a", "b"], "burst": 1},
    "network": {"model": "mesh", "delay_us": DELAY_US},
    "faults": [
        {"at_us": 0, "cut": [["a", "b"], ["a", "c"]]},
        {"at_us": 10_000, "crash": ["a"]},
        {"at_us": 11_000, "heal": True},
        {"at_us": 2_000_000, "recover": ["a"]},
    ],
}


def test_the_central_site_is_level_r2_and_r3_only_when_it_waits() -> None:
    """The sequencer orders what nobody else has, and dies: given at once, it is taken back; committed, never given."""
    at_once = ran("sequencer", 3, **LOST_ORDER)
    assert at_once["happened"]["rollbacks"] >= 1
    forms: list[dict[str, Any]] = [{"delivery": "committed"}, {"delivery": "committed", "rotate": True}]
    for options in forms:
        patient = ran("sequencer", 3, options=options, **LOST_ORDER)
        assert patient["happened"]["rollbacks"] == 0
    assert at_once["verdicts"]["agreement"] == patient["verdicts"]["agreement"] == "pass"


# The weaknesses


def test_optimistic_token_rolls_back_under_loss_and_not_without() -> None:
    calm = ran("optimistic_token", 5, workload={"messages": 20, "every_us": 50_000}, network={"delay_us": DELAY_US})
    assert (
        calm["happened"]["rollbacks"]
        < ran("optimistic_token", 5, workload=BUSY, network=LOSSY)["happened"]["rollbacks"]
    )
    single = {"messages": 20, "every_us": 10_000, "senders": ["a"]}
    assert ran("optimistic_token", 5, workload=single, network={"delay_us": DELAY_US})["happened"]["rollbacks"] == 0


DIES_BETWEEN_THE_PHASES: dict[str, Any] = {
    "workload": {"messages": 1, "every_us": 1, "senders": ["a"]},
    "network": {"model": "mesh", "delay_us": DELAY_US},
    "faults": [{"at_us": 1_500, "crash": ["a"]}],  # the message has arrived, the proposals have not
}


def test_two_phase_blocks_when_the_source_dies_between_the_phases_unless_somebody_takes_over() -> None:
    assert ran("two_phase", 4, options={"takeover": False}, **DIES_BETWEEN_THE_PHASES)["deliveries"] == 0
    assert ran("two_phase", 4, **DIES_BETWEEN_THE_PHASES)["deliveries"] == 3


def test_lamport_stalls_when_a_site_is_silent_and_null_messages_are_off() -> None:
    parts: dict[str, Any] = {
        "workload": {"messages": 20, "every_us": 1_000, "senders": ["a", "b"]},
        "network": {"delay_us": DELAY_US},
    }
    silent = ran("lamport", 3, options={"nulls": False}, **parts)
    assert ran("lamport", 3, **parts)["deliveries"] == 60
    assert silent["deliveries"] < 60 and silent["verdicts"]["validity"] == "fail"  # c alone hears everybody
