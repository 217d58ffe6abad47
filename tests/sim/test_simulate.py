"""Scenarios from file to answer."""

import json
from pathlib import Path

import pytest

from tocsin.cli.main import main
from tocsin.sim.run import simulate
from tocsin.sim.scenario import Scenario, scenario_from_document
from tocsin.traces.reader import read_rows

SHOWCASE = Path(__file__).parents[2] / "examples" / "showcase.toml"


def scenario(**changes: object) -> Scenario:
    document: dict[str, object] = {"protocol": "ack_all", "sites": 4, "workload": {"messages": 50, "every_us": 1_000}}
    return scenario_from_document({**document, **changes}, "test", Path())


def test_without_faults_the_counts_are_those_of_the_algorithm() -> None:
    answer, report = simulate(scenario(), 1)
    assert answer["broadcasts"] == 50 and answer["deliveries"] == 200
    assert answer["sends"] == {"ack": 150, "data": 150} and answer["multicasts"] == {}
    assert answer["control_per_broadcast"] == 3.0
    assert answer["delay_us"] == {"mean": 1_000.0, "p50": 1_000, "p99": 1_000, "max": 1_000}
    assert {report.properties[name].verdict for name in ("integrity", "validity", "agreement")} == {"pass"}


def test_a_run_that_is_cut_off_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its time limit, before the workload was done and a fault had its time."""
    path = tmp_path / "cut.json"
    document = {"protocol": "ack_all", "sites": 3, "workload": {"messages": 60, "every_us": 1_000}}
    fault = {"at_us": 30_000, "crash": ["a"]}
    path.write_text(json.dumps({**document, "duration_us": 10_500, "faults": [fault]}))
    main(["simulate", str(path)])
    (said,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("what went wrong")]
    assert "cut off by duration_us with " in said
    assert "of 60 broadcasts not made" in said and "did not happen" in said and "still at work" in said
    main(["simulate", str(path), "--json"])
    left = json.loads(capsys.readouterr().out)["left"]
    assert 0 < left["broadcasts"] < 60 and left["faults"] == 1 and left["busy"]
    answer, _ = simulate(scenario(), 1)
    assert answer["left"] == {"broadcasts": 0, "faults": 0, "busy": False}


def test_on_a_lan_a_multicast_is_one_message() -> None:
    answer, _ = simulate(scenario(network={"model": "lan"}), 1)
    assert answer["multicasts"] == {"data": 50} and answer["sends"] == {"ack": 150}


@pytest.mark.parametrize(
    "workload",
    [
        {"messages": 40, "rate_per_site": 50.0},
        {"messages": 40, "every_us": 500, "burst": 7},
        {"messages": 40, "outstanding": 3},
        {"messages": 40, "every_us": 500, "senders": ["b"], "size": [0, 9]},
        {"messages": 0},
    ],
)
def test_every_workload_hands_out_all_its_messages(workload: dict[str, object]) -> None:
    answer, _ = simulate(scenario(workload=workload), 2)
    assert answer["broadcasts"] == workload["messages"]
    assert answer["deliveries"] == 4 * answer["broadcasts"]


def test_a_closed_loop_keeps_its_number_outstanding() -> None:
    document = {"messages": 30, "outstanding": 1, "senders": ["a"]}
    answer, _ = simulate(scenario(workload=document, network={"delay_us": 2_000}), 2)
    assert answer["broadcasts"] == 30 and answer["simulated_us"] < 10_000, "own deliveries are immediate"


def test_all_sites_restart_at_once_and_nothing_is_lost() -> None:
    faults = [{"at_us": 5_500, "restart": "*"}]
    answer, report = simulate(scenario(faults=faults, network={"loss": 0.3}), 3)
    assert answer["happened"]["crashes"] == answer["happened"]["recoveries"] == 4
    assert report.properties["uniform_agreement"].verdict == "pass"


def test_the_trace_says_the_same_as_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(SHOWCASE), "--trace", str(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    rows = list(read_rows([tmp_path]))
    assert sum(row.event == "deliver" for row in rows) == answer["deliveries"]
    assert sum(row.event == "send" for row in rows) == sum(answer["sends"].values())
    assert sum(row.event == "drop" for row in rows) == sum(answer["happened"]["drops"].values())
    assert main(["check", str(tmp_path), "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert {name: verdict["verdict"] for name, verdict in checked["properties"].items()} == answer["verdicts"]


def test_another_seed_is_another_run() -> None:
    answers = [simulate(scenario(network={"loss": 0.2}), seed)[0] for seed in (1, 1, 2)]
    assert answers[0] == answers[1] != answers[2]
