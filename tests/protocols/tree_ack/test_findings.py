"""What was once found by trying to break it: schedules that failed, and the cause of each."""

from pathlib import Path
from typing import Any

import pytest

from tests.protocols.walks import first_wrong_walk
from tocsin.cli.main import main
from tocsin.protocols.tree_ack import PROTOCOL
from tocsin.protocols.tree_ack.machine import TreeAck
from tocsin.sim.scenario import scenario_from_document
from tocsin.sim.simulation import Simulation
from tocsin.sim.swarm.swarm import run_document

HERE = Path(__file__).parent


def started(document: dict[str, Any], seed: int = 0) -> Simulation:
    simulation = scenario_from_document({"protocol": "tree_ack", **document}, "found", Path()).build(seed, None)
    simulation.stop_when_quiet = False
    simulation.start()
    return simulation


def until(simulation: Simulation, at_us: int) -> None:
    while simulation.run(at_us, 100_000):
        pass


def machine(simulation: Simulation, site: int) -> TreeAck:
    found = simulation.world.sites[site].machine
    assert isinstance(found, TreeAck)
    return found


@pytest.mark.parametrize("shape", ["bush", "chain", "minimum"])
@pytest.mark.parametrize("detector", ["timeout", "perfect"])
@pytest.mark.parametrize("dead", [[["a", "c"]], [["a", "c"], ["c", "a"]], [["c", "a"]]])
def test_a_site_behind_a_dead_link_has_everything(shape: str, detector: str, dead: list[list[str]]) -> None:
    """TA2: "directly or indirectly" (2.1). The root's link to c is dead from 1 s on, and b reaches c."""
    document = {
        "sites": 3,
        "duration_us": 20_000_000,
        "options": {"announce_us": 0, "window": 8, "shape": shape, "detector": detector},
        "workload": {"messages": 100, "every_us": 50_000, "senders": ["a"]},
        "network": {"delay_us": 200, **({"detect_us": 1_000} if detector == "perfect" else {})},
        "faults": [{"at_us": 1_000_000, "dead": dead}],
    }
    simulation = started(document)
    until(simulation, 10_000_000)
    assert [site.disk.end(0) for site in simulation.world.sites] == [100, 100, 100]


def test_the_detector_is_as_wrong_as_documented() -> None:
    """TA3: a silent site that lives is suspected with probability (1 - (1 - p)^2)^n, of n probes: once the first is in
    vain, with all but one factor of it."""
    loss, probes, runs = 0.2, 2, 120
    document = {
        "sites": 2,
        "duration_us": 10**12,
        "options": {"suspect_probes": probes, "announce_us": 0},
        "workload": {"messages": 1, "every_us": 1, "senders": ["a"]},
        "network": {"delay_us": 200, "loss": loss},
    }
    spells = 0
    for seed in range(runs):
        simulation = started(document, seed)
        watcher, at_us, periods = machine(simulation, 1), 0, 0
        while 0 not in watcher._peers.failed and periods < 2_000:
            at_us += 100_000
            periods += 1
            until(simulation, at_us)
            spells += watcher._peers._watched.get(0, -1) == 1  # a probe was sent in this period, and is not answered
    wrong = (1 - (1 - loss) ** 2) ** (probes - 1)
    assert 0.75 * wrong < runs / spells < 1.33 * wrong


@pytest.mark.parametrize("delay_us", [200, 200_000])
def test_a_hasty_root_says_it_once_in_a_round_trip(delay_us: int) -> None:
    """`announce_us` may be far shorter than the way to the members: Complete was said again each time."""
    document = {
        "sites": 5,
        "duration_us": 20_000_000,
        "options": {"announce_us": 3, "suspect_probes": 8},
        "workload": {"messages": 1, "every_us": 1, "senders": ["a"]},
        "network": {"delay_us": delay_us},
    }
    simulation = started(document)
    until(simulation, 10_000_000)
    told = simulation.world.tally.sends["null"]
    assert 8 <= told <= (8 if delay_us == 200 else 2 * 4 * 6)  # resend_us doubles: five times in a round trip of 0.4 s


def test_a_large_group_that_loses_a_fifth_falls_silent() -> None:
    """Who seeks makes everybody speak: not for ever, though what is lost makes others be heard each time."""
    document = {
        "sites": 30,
        "duration_us": 20_000_000,
        "options": {"shape": "bush"},
        "workload": {"messages": 1, "every_us": 1, "senders": ["s0"]},
        "network": {"delay_us": 200, "loss": 0.2},
        "faults": [{"at_us": 0, "crash": ["s2"]}, {"at_us": 2_000_000, "recover": ["s2"]}],
    }
    simulation = started(document)
    until(simulation, 6_000_000)
    spent = simulation.world.tally.sends["links"]
    assert spent > 0
    until(simulation, 12_000_000)
    assert simulation.world.tally.sends["links"] == spent


def test_a_dead_member_pins_no_more_than_retain() -> None:
    """c is away while a sends 200 messages; 20 are kept for it, and it is told what it missed."""
    document = {
        "sites": 3,
        "duration_us": 60_000_000,
        "options": {"retain": 20, "records_max": 16, "window": 4},
        "workload": {"messages": 200, "every_us": 10_000, "senders": ["a"], "start_us": 2_000_000},
        "network": {"delay_us": 200},
        "faults": [{"at_us": 1_000_000, "crash": ["c"]}, {"at_us": 10_000_000, "recover": ["c"]}],
    }
    outcome = run_document(PROTOCOL, {"protocol": "tree_ack", **document}, 0)
    assert outcome.violated is None, outcome.violated
    simulation = started(document)
    until(simulation, 9_000_000)
    assert simulation.world.sites[0].disk.end(0) - simulation.world.sites[0].disk.first(0) <= 20 + 3 * 16
    until(simulation, 20_000_000)
    assert simulation.world.tally.missed > 0
    assert simulation.world.tally.missed + simulation.world.sites[2].disk.end(0) == 200


def test_a_wiped_site_comes_back_as_a_new_one() -> None:
    """TA4: its numbers go on beyond what anyone has seen, and everybody delivers what it sends."""
    document = {
        "sites": 3,
        "duration_us": 30_000_000,
        "options": {"window": 8},
        "workload": {"messages": 60, "every_us": 200_000},
        "network": {"delay_us": 200},
        "faults": [
            {"at_us": 3_000_000, "crash": ["c"]},
            {"at_us": 4_000_000, "wipe": ["c"]},
            {"at_us": 4_500_000, "recover": ["c"]},
        ],
    }
    outcome = run_document(PROTOCOL, {"protocol": "tree_ack", **document}, 0)
    assert outcome.violated is None, outcome.violated


@pytest.mark.long
@pytest.mark.parametrize("words", [["tree_ack-dead-link.toml"], ["tree_ack-wiped.toml", "--wipes", "1"]])
def test_explored(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", str(HERE / words[0]), *words[1:]]) == 0
    assert "every promise kept" in capsys.readouterr().out


OVERLAPPING = [[0, 1, 2], [1, 2, 3], [0, 3], [2]]
DISKS = ["wipe", "restore", "dead"]


@pytest.mark.parametrize(
    ("seed", "small", "groups"),
    [
        (11, False, OVERLAPPING),  # a root outside its group has lost its disk: nobody was told that all is complete
        (19, False, OVERLAPPING),  # the only member has lost what a root outside the group has let go
        (2, True, OVERLAPPING),
        (16, True, OVERLAPPING),
        (56, True, None),  # a message is held whose predecessor was on a lost disk alone
    ],
)
def test_what_a_lost_disk_leaves_behind(seed: int, small: bool, groups: list[list[int]] | None) -> None:
    messages = 6 if groups is None else 8
    options = PROTOCOL.small if small else {}
    assert first_wrong_walk(PROTOCOL, 4, messages, range(seed, seed + 1), options, groups, DISKS) is None
