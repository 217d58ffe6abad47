"""Who comes back takes broadcasts only when it knows a way to everybody, and the others know their way to it. The
network loses nothing here: everything that is taken has to arrive."""

from pathlib import Path
from typing import Any

import pytest

from tests.protocols.reliability_tree.runs import built, run_until
from tocsin.core.config import decode_config
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.simulation import Simulation

BEGAN_US = 3_000_000
SHORT_US = 300_000
GONE_US = 10_000_000  # longer than `vanish_after` suspicions
RUN_US = 4_000_000  # after it is back


def run(sites: int, sender: str, faults: list[dict[str, Any]], until_us: int, seed: int) -> Simulation:
    """A broadcast of the sender every 7 ms."""
    document: dict[str, Any] = {
        "protocol": "reliability_tree",
        "sites": sites,
        "duration_us": until_us,
        "workload": {"messages": 100_000, "every_us": 7_000, "size": 1, "senders": [sender]},
        "network": {"model": "mesh", "delay_us": [100, 20_000]},
        "faults": faults,
    }
    simulation = built(Scenario(decode_config(document, ScenarioConfig, "test"), "test", Path()), seed)
    simulation.start()
    return simulation


def away(loses: str, away_us: int) -> list[dict[str, Any]]:
    wiped: list[dict[str, Any]] = [{"at_us": BEGAN_US + 1, "wipe": ["a"]}] if loses == "wipe" else []
    return [{"at_us": BEGAN_US, "crash": ["a"]}, *wiped, {"at_us": BEGAN_US + away_us, "recover": ["a"]}]


def delivered(simulation: Simulation, site: int, origin: int, after: int = -1) -> set[int]:
    disk = simulation.world.sites[site].disk
    entries = disk.read(0, disk.first(0), 1 << 60)
    return {entry.seqno for entry in entries if entry.origin == origin and entry.seqno > after}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("away_us", [SHORT_US, GONE_US])
@pytest.mark.parametrize("loses", ["nothing", "wipe"])
def test_what_who_comes_back_takes_arrives(loses: str, away_us: int, seed: int) -> None:
    simulation = run(4, "a", away(loses, away_us), BEGAN_US + away_us + RUN_US, seed)
    run_until(simulation, BEGAN_US + away_us - 1)
    before = max(delivered(simulation, 1, 0) | {-1})
    run_until(simulation, BEGAN_US + away_us + RUN_US - 100_000)
    own = delivered(simulation, 0, 0, before)
    run_until(simulation, BEGAN_US + away_us + RUN_US)
    assert len(own) > 200, "it takes broadcasts again"
    assert [sorted(own - delivered(simulation, site, 0)) for site in (1, 2, 3)] == [[], [], []]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("loses", ["nothing", "wipe"])
def test_what_the_others_send_to_who_was_away_for_a_moment_arrives(loses: str, seed: int) -> None:
    """What b sends while a asks others what it has missed is told as missed, if it is not delivered."""
    simulation = run(2, "b", away(loses, SHORT_US), BEGAN_US + SHORT_US + RUN_US, seed)
    machine = None
    at = BEGAN_US + SHORT_US
    while machine is None or not machine.room():
        at += 1_000
        run_until(simulation, at)
        machine = simulation.world.sites[0].machine
    sent = max(delivered(simulation, 1, 1))
    run_until(simulation, BEGAN_US + SHORT_US + RUN_US - 100_000)
    later = delivered(simulation, 1, 1, sent)
    run_until(simulation, BEGAN_US + SHORT_US + RUN_US)
    assert len(later) > 200
    assert sorted(later - delivered(simulation, 0, 1)) == []
