"""`tocsin protocols`: the table, one protocol, and JSON."""

import json

import pytest

from tocsin.cli.main import main
from tocsin.cli.protocols import cost
from tocsin.protocols.registry import REGISTRY


def test_json_lists_every_protocol_with_its_options_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocols", "--json", "--no-costs"]) == 0
    found = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)["protocols"]}
    assert set(found) == set(REGISTRY)
    for entry in found.values():
        assert entry["paper"] and entry["tolerates"] and entry["guarantees"]
        for option in entry["options"]:
            assert option["description"], f"{entry['name']}.{option['name']} says nothing of itself"
    assert found["two_phase"]["level"] == "safe" and found["ack_all"]["level"] == "basic"


def test_one_protocol_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocols", "two_phase", "--no-costs"]) == 0
    said = capsys.readouterr().out
    assert "takeover_after" in said and "Birman, Joseph 1987" in said


def test_an_unknown_name_is_one_line_and_exit_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocols", "two_fase"]) == 2
    assert capsys.readouterr().err.strip().endswith("(did you mean `two_phase`?)")


def test_costs_are_measured() -> None:
    measured = cost(REGISTRY["two_phase"], "lan", 5)
    assert measured is not None
    assert measured["messages_per_broadcast"] == 6.0  # N + 1
    assert 3_000 <= measured["delay_us"] < 3_300  # three one-way trips; more where two broadcasts meet
