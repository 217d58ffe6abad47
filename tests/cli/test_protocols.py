"""`tocsin protocols`: the table, one protocol, and JSON."""

import json

import msgspec
import pytest

from tests.cli.terminal import on_terminal, plain
from tocsin.cli import protocols
from tocsin.cli.main import main
from tocsin.cli.protocols import cost, describe
from tocsin.protocols.protocol import Assumptions
from tocsin.protocols.registry import REGISTRY


def test_json_lists_every_protocol_with_its_options_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["protocols", "--json", "--no-costs"]) == 0
    found = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)["protocols"]}
    assert set(found) == set(REGISTRY)
    for entry in found.values():
        assert entry["guarantee"]
        assert entry["paper"] and entry["tolerates"] and entry["guarantees"]
        for option in entry["options"]:
            assert option["description"], f"{entry['name']}.{option['name']} says nothing of itself"
    assert {name: entry["level"] for name, entry in found.items()} == {  # docs/comparison.md, Table 4, measured
        "ack_all": "basic",
        "coordinator_tree": "basic",
        "counter_token": "safe",
        "lamport": "agreed",
        "optimistic_token": "agreed",
        "propagation_graph": "fifo",  # and one total order, which need not be causal
        "push_gossip": "none",
        "reliability_tree": "none",
        "sequencer": "agreed",
        "totem_ring": "safe",
        "tree_ack": "fifo",
        "two_phase": "safe",
    }
    assert found["counter_token"]["guarantee"] == "safe, views, causal with one group only"
    assert found["propagation_graph"]["guarantee"] == "fifo, total order, uniform agreement, views"


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


def test_the_table_has_a_row_for_every_protocol_and_a_column_for_every_question(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = {name: REGISTRY[name] for name in ("ack_all", "two_phase")}
    monkeypatch.setattr(protocols, "REGISTRY", chosen)
    assert main(["protocols"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for heading in ("name", "guarantee", "lan 5", "lan 20", "mesh 5", "mesh 20", "delay ms", "paper", "tolerates"):
        assert heading in lines[0]
    assert lines[0].split()[-1] == "assumes"
    row = next(line for line in lines if line.startswith("two_phase"))
    assert {"6", "21", "12", "57", "safe"} <= set(row.split())  # N + 1, 3(N - 1)
    assert any(line.startswith("ack_all") for line in lines)


def test_a_protocol_that_runs_on_other_networks_only_is_listed_without_costs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lossy = Assumptions(networks=("lossy",), crashes="none", partitions=False)
    other = msgspec.structs.replace(REGISTRY["push_gossip"], name="other", assumptions=lossy)
    monkeypatch.setattr(protocols, "REGISTRY", {"other": other})
    assert describe(other, True)["costs"] == []
    assert main(["protocols"]) == 0
    said = capsys.readouterr().out
    assert "no crashes" in said and "no partitions" in said


def test_on_a_narrow_console_words_follow_the_figures() -> None:
    said = " ".join(plain(on_terminal(["protocols", "--no-costs"])[1]).split())
    assert "totem_ring guarantee safe, views paper Amir" in said
    assert "tolerates loss up to 0.3" in said and "assumes one group of all sites" in said
