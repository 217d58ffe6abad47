"""Every duty is seen to be neglected by a machine that neglects it, and kept by the protocols in calm weather."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.sim.faithless import FAITHLESS, TOTAL
from tocsin.core.config import decode_config
from tocsin.protocols.protocol import Protocol
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.duties.duties import FAIL, NOT_CHECKABLE, PASS, REACH, Duties, Duty, first_unknown, neglected
from tocsin.sim.run import run_to_end
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig

CALM: dict[str, Any] = {
    "sites": 3,
    "duration_us": 3_000_000,
    "workload": {"messages": 8, "every_us": 10_000, "senders": ["a"]},
    "network": {"delay_us": 1_000},
}


def judged(protocol: Protocol, document: dict[str, Any], whole: bool = False) -> dict[str, Duty]:
    """The duties of a run; `whole`: it goes on to its time limit, quiet or not."""
    config = decode_config({"protocol": protocol.name, **document}, ScenarioConfig, "duties")
    scenario = Scenario(config, "duties", Path(), protocol)
    simulation = scenario.build(0, None, codec_on_the_way=True)
    simulation.stop_when_quiet = not whole
    duties = Duties(scenario, simulation)
    run_to_end(simulation, config.duration_us)
    return duties.judge(config.duration_us)


def failed(duties: dict[str, Duty]) -> set[str]:
    return {name for name, duty in duties.items() if duty.verdict == FAIL}


@pytest.mark.parametrize(
    ("way", "duties", "words"),
    [
        ("never quiet", {"quiet"}, "quiet: a has something outstanding"),
        ("quiet for a while", {"quiet"}, "quiet: the group was quiet and is not any more: a has something"),
        ("to some only", {"acknowledged"}, "acknowledged: a:0 was acknowledged to its sender, and c neither has it"),
        ("keeps", {"held"}, "held: b holds 8 messages; the limit is 5"),
        ("keeps records", {"held"}, "held: a has 70 records on disk; the limit is 50"),
        ("talks", {"costs"}, "costs: an idle group sent 6000 copies in 1.0 s; the limit is 50"),
        ("repeats", {"costs"}, "costs: 320 copies were sent; the limit is 174"),
    ],
)
def test_a_planted_neglect_is_seen(way: str, duties: set[str], words: str) -> None:
    found = judged(FAITHLESS, {**CALM, "options": {"way": way}})
    assert failed(found) == duties
    assert neglected(found)[0].startswith(words)


@pytest.mark.parametrize(
    ("way", "words"),
    [
        ("endless views", "quiet: views or groups are installed without end"),
        ("missed what it has", "told: b was told that it missed a:0, which it has delivered"),
        ("missed what is not there", "told: b was told that it missed position 8, which nobody has"),
        ("missed more than there is", "told: b was told that it missed 1000 messages of c from number 0 on, which has"),
        ("skips", "told: b is told that it missed positions 9 to 9, where the next position was 8"),
        ("takes back", "told: 1 deliveries were taken back by a protocol that never does"),
    ],
)
def test_what_is_told_wrongly_later_on_is_seen(way: str, words: str) -> None:
    found = judged(FAITHLESS, {**CALM, "options": {"way": way}}, whole=True)
    assert any(each.startswith(words) for each in neglected(found)), neglected(found)


def test_nothing_is_wrong_with_a_faithful_one() -> None:
    for whole in (False, True):
        assert {duty.verdict for duty in judged(FAITHLESS, CALM, whole).values()} == {PASS}


def test_where_positions_are_the_groups_one_position_is_one_message() -> None:
    both = {**CALM, "workload": {"messages": 8, "every_us": 10_000, "senders": ["a", "b"]}}
    assert not neglected(judged(FAITHLESS, both))
    assert neglected(judged(TOTAL, both))[0].startswith("told: position 0 of group 0 is a:0 at one site and b:0 at b")


def test_a_run_that_has_not_healed_is_not_judged_by_what_is_owed() -> None:
    cut = {**CALM, "options": {"way": "to some only"}, "faults": [{"at_us": 0, "cut": [["a", "c"]]}]}
    found = judged(FAITHLESS, cut)
    assert found["acknowledged"] == Duty(NOT_CHECKABLE, "not everyone who is up reaches everyone who is up")
    assert found["told"].verdict == PASS
    through_others = msgspec.structs.replace(FAITHLESS.assumptions, dead_links=True)
    relaying = msgspec.structs.replace(FAITHLESS, assumptions=through_others)
    assert failed(judged(relaying, cut)) == {"acknowledged"}


def test_a_run_that_ended_too_early_is_not_judged_either() -> None:
    found = judged(FAITHLESS, {**CALM, "duration_us": 500_000, "options": {"way": "never quiet"}})
    assert found["quiet"].verdict == NOT_CHECKABLE and "the bound is 1 s" in str(found["quiet"].why)


def test_what_is_known_of_a_protocol_is_told_apart() -> None:
    found = judged(FAITHLESS, {**CALM, "options": {"way": "never quiet"}})
    knowing = msgspec.structs.replace(FAITHLESS, neglects=("quiet: has something outstanding", "held: anything"))
    assert first_unknown(found, FAITHLESS) == neglected(found)[0]
    assert first_unknown(found, knowing) is None
    assert first_unknown({"held": Duty(FAIL, "a has 7")}, knowing) == "held: a has 7"


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_protocols_keep_their_duties_where_nothing_goes_wrong(name: str) -> None:
    """Even those with a known neglect. (Promises of reach need a longer run: tests/sim/test_duties_reach.py.)"""
    protocol = REGISTRY[name]
    found = judged(protocol, {"sites": 4, "workload": {"messages": 60, "every_us": 20_000}, "network": CALM["network"]})
    assert {duty.verdict for what, duty in found.items() if what != REACH} == {PASS}, found
