"""`tocsin simulate` refuses faults that a protocol does not claim to stand, unless it is told to run them."""

import json
from pathlib import Path

import msgspec
import pytest

import tocsin
from tocsin.cli.main import main
from tocsin.core.config import decode_config
from tocsin.core.errors import InputError
from tocsin.protocols.protocol import Assumptions
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.beyond import first_beyond
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.swarm.draw import draw_scenario

BEYOND = {
    "protocol": "ack_all",
    "sites": 3,
    "duration_us": 1_000_000,
    "workload": {"messages": 3, "every_us": 1000},
    "faults": [{"at_us": 1, "crash": ["a"]}, {"at_us": 2, "leave": ["b"]}],
}


def test_from_python_too() -> None:
    with pytest.raises(InputError, match=r"faults\[1\].leave`: a fault outside .*; beyond_assumptions=True runs it"):
        tocsin.simulate(BEYOND)
    assert tocsin.simulate(BEYOND, beyond_assumptions=True).summary["happened"]["crashes"] == 1


NOTHING = Assumptions(
    crashes="none",
    partitions=False,
    one_way_cuts=False,
    pauses=False,
    lossy_disk=False,
    wipes=False,
    restores=False,
    damages=False,
    slow_sites=False,
    clocks=False,
)


def judged(assume: Assumptions, *happenings: dict[str, object], model: str = "mesh") -> str:
    document = {"protocol": "x", "sites": 3, "network": {"model": model}, "faults": list(happenings)}
    return first_beyond(decode_config(document, ScenarioConfig, "test"), assume)


@pytest.mark.parametrize(
    ("what", "allowed"),
    [
        ({"crash": ["c"]}, {"crashes": "any"}),
        ({"restart": "*"}, {"crashes": "minority"}),
        ({"tear": ["c"]}, {"crashes": "any", "lossy_disk": True}),
        ({"wipe": ["c"]}, {"wipes": True}),
        ({"restore": ["c"]}, {"restores": True}),
        ({"damage": ["c"]}, {"damages": True}),
        ({"partition": [["a"], ["b"]]}, {"partitions": True}),
        ({"cut": [["a", "b"]]}, {"one_way_cuts": True}),
        ({"dead": [["a", "b"]]}, {"dead_links": True}),
        ({"slow": ["c"]}, {"slow_sites": True}),
        ({"fail": ["l1"]}, {"links_change": True}),
        ({"pause": ["c"]}, {"pauses": True}),
        ({"leave": ["c"]}, {"leaves": True}),
        ({"join": ["c"]}, {"joins": True}),
        ({"jump": {"c": 5}}, {"clocks": True}),
    ],
)
def test_a_fault_needs_its_assumption(what: dict[str, object], allowed: dict[str, object]) -> None:
    fault = {"at_us": 1, **what}
    assert judged(NOTHING, {"at_us": 0, "heal": True}, fault) == f"faults[1].{next(iter(what))}"
    assert judged(msgspec.structs.replace(NOTHING, **allowed), fault) == ""


def test_what_ends_a_fault_needs_none() -> None:
    ends: list[dict[str, object]] = [{"heal": True}, {"calm": True}, {"save": ["a"]}, {"quick": ["a"]}]
    ends += [{"recover": ["a"]}, {"resume": ["a"]}, {"repair": ["l1"]}]
    assert judged(NOTHING, *[{"at_us": 0, **end} for end in ends]) == ""


def test_clocks_of_their_own_need_an_assumption() -> None:
    document = {"protocol": "x", "sites": 3, "clocks": {"a": 100}}
    config = decode_config(document, ScenarioConfig, "test")
    assert first_beyond(config, NOTHING) == "clocks"
    assert first_beyond(config, msgspec.structs.replace(NOTHING, clocks=True)) == ""


def test_between_switches_a_link_that_fails_is_a_partition() -> None:
    assume = msgspec.structs.replace(NOTHING, partitions=True)
    assert judged(assume, {"at_us": 0, "fail": ["l1"]}, model="switched") == ""
    assert judged(assume, {"at_us": 0, "fail": ["l1"]}, model="lossy") == "faults[0].fail"


def test_who_left_comes_back_only_where_that_is_assumed() -> None:
    leaving = msgspec.structs.replace(NOTHING, leaves=True, crashes="any")
    back: dict[str, object] = {"at_us": 1, "restart": ["c"]}
    left: dict[str, object] = {"at_us": 2, "leave": ["b", "c"]}
    assert judged(leaving, back, left) == "", "a restart before leaving"
    for later in ({"restart": "*"}, {"restart": ["c"]}, {"recover": ["a", "c"]}):
        assert judged(leaving, {"at_us": 3, **later}, left).startswith("faults[0].re")
        assert judged(msgspec.structs.replace(leaving, returns=True), {"at_us": 3, **later}, left) == ""
    assert judged(leaving, {"at_us": 3, "restart": ["a"]}, left) == ""


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_swarm_draws_within_the_assumptions(name: str) -> None:
    protocol = REGISTRY[name]
    for seed in range(100):
        config = decode_config(draw_scenario(protocol, seed), ScenarioConfig, "swarm")
        assert first_beyond(config, protocol.assumptions) == "", f"seed {seed}"


def test_the_command_refuses_by_name_and_runs_when_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "dead.toml"
    path.write_text(
        'protocol = "ack_all"\nsites = 4\nworkload = { messages = 20, every_us = 1000, senders = ["a"] }\n'
        'faults = [{ at_us = 2000, dead = [["a", "c"]] }]\n'
    )
    assert main(["simulate", str(path), "--json"]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    for word in (str(path), "`faults[0].dead`", "`ack_all`", "--beyond-assumptions"):
        assert word in said.err
    assert main(["simulate", str(path), "--json", "--beyond-assumptions"]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["happened"]["dead"] == 1
    main(["simulate", str(path), "--beyond-assumptions"])
    assert "1 dead links" in capsys.readouterr().out
