"""What a simulated run knows about its end, and what `settled` makes of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.mutation import mutated
from tocsin.cli.main import main
from tocsin.core.config import decode_config
from tocsin.properties import FAIL, NOT_CHECKABLE, PASS, Verdict
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.calm import calm_at_end
from tocsin.sim.run import run_to_end, simulate
from tocsin.sim.scenario import Scenario, scenario_from_document
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.traces.calm import Calm, calm_of

SITES = ["a", "b", "c", "d", "e"]


def document(protocol: str, *faults: dict[str, Any], **more: Any) -> dict[str, Any]:
    workload = {"messages": 40, "every_us": 50_000}
    said: dict[str, Any] = {"protocol": protocol, "sites": SITES, "workload": workload, "faults": list(faults)}
    return {**said, "duration_us": 40_000_000, **more}


def at(second: float, **what: Any) -> dict[str, Any]:
    return {"at_us": round(second * 1e6), **what}


def calm_of_run(said: dict[str, Any]) -> Calm | None:
    scenario = scenario_from_document(said, "test", Path())
    simulation = scenario.build(0, None)
    run_to_end(simulation, scenario.config.duration_us)
    return calm_at_end(scenario, simulation)


def settled(said: dict[str, Any]) -> Verdict:
    return simulate(scenario_from_document(said, "test", Path()), 0)[1]["settled"]


# What a run says about its end


def test_faults_are_over_with_the_last_that_happened() -> None:
    calm = calm_of_run(document("tree_ack", at(1, crash=["b"]), at(2, recover=["b"])))
    assert calm == Calm(2_000_000, 5_000_000)


def test_who_is_down_stopped_or_absent_is_named() -> None:
    calm = calm_of_run(document("tree_ack", at(0.5, crash=["b"]), at(0.6, pause=["c"])))
    assert calm is not None and calm.down == {"b", "c"}


def test_more_are_away_than_the_protocol_stands() -> None:
    assert calm_of_run(document("lamport", at(0.5, crash=["b"]))) is None
    assert calm_of_run(document("counter_token", at(0.5, crash=["b", "c", "d"]))) is None
    calm = calm_of_run(document("counter_token", at(0.01, crash=["b", "c"])))
    assert calm is not None and calm.down == {"b", "c"}


def test_who_was_removed_and_told_so_is_owed_nothing() -> None:
    """It is up and connected, and knows that it is no voter any more. Whose removal is not heard of is owed all."""
    workload = {"messages": 60, "every_us": 50_000, "senders": ["a"]}
    removed = document("counter_token", at(1, remove=["e"]), workload=workload)
    result, report = simulate(scenario_from_document(removed, "test", Path()), 0)
    assert report["settled"].verdict == PASS and FAIL not in result["duties"].values()
    waiting = document("counter_token", at(0.5, crash=["b", "c"]), at(1, remove=["e"]), workload=workload)
    found = settled(waiting)  # three of four would have to be there: it is refused, and e is owed everything
    assert found.verdict == PASS and found.checked > 60


@pytest.mark.parametrize(
    ("fault", "down"),
    [
        ({"partition": [["a", "b", "c"], ["d", "e"]]}, {"d", "e"}),
        ({"partition": [["a", "b"], ["c", "d"], ["e"]]}, set(SITES)),
        ({"cut": [["a", "b"], ["b", "a"]]}, set()),  # through others
        ({"dead": [["a", "b"]]}, set()),
        ({"cut": [["a", other] for other in "bcde"]}, {"a"}),  # it hears, and is not heard
    ],
)
def test_connected_is_who_reaches_the_others_and_is_reached_through_others_too(
    fault: dict[str, Any], down: set[str]
) -> None:
    calm = calm_of_run(document("tree_ack", at(1, **fault), duration_us=8_000_000))
    assert calm is not None and calm.down == down


def test_links_of_a_topology_count() -> None:
    topology = {"shape": "ring", "nodes": 4}
    said = {"protocol": "reliability_tree", "topology": topology, "network": {"model": "lossy"}}
    scenario = scenario_from_document({**document("x"), **said} | {"sites": None}, "test", Path())
    assert scenario.topology is not None
    names = scenario.topology.link_labels()
    for failing, left in ((names[:1], 4), ([names[0], names[2]], 0)):
        cut = {**document("x"), **said, "sites": None, "faults": [at(1, fail=failing)]}
        calm = calm_of_run(cut)
        assert calm is not None and len(calm.down) == 4 - left


def test_weather_that_goes_on() -> None:
    lossy = {"network": {"loss": 0.2}}
    calm = calm_of_run(document("tree_ack", **lossy))
    assert calm is not None and calm.since_us > 400_000  # all was quiet: calm is the end
    cut_off = document("tree_ack", **lossy, duration_us=200_000)
    assert calm_of_run(cut_off) is None
    assert settled(cut_off).verdict == NOT_CHECKABLE


def test_a_run_that_is_cut_off_before_the_bound_is_not_checkable() -> None:
    found = settled(document("tree_ack", duration_us=200_000))
    assert found.verdict == NOT_CHECKABLE and "before the group had its" in (found.why or "")


def test_a_file_says_what_the_run_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "s.json"
    scenario.write_text(json.dumps(document("tree_ack", at(0.1, crash=["b"]))))
    assert main(["simulate", str(scenario), "--json", "--trace", str(tmp_path / "out")]) == 0
    assert json.loads(capsys.readouterr().out)["verdicts"]["settled"] == PASS
    said = calm_of(pq.read_metadata(tmp_path / "out" / "trace.parquet").metadata, "file")
    assert said == Calm(100_000, 5_000_000, frozenset("b"))
    assert main(["check", str(tmp_path / "out"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["properties"]["settled"]["verdict"] == PASS


# The findings that kept every other property, or most: mended, and seen when their cause is planted again


def return_in_another_order() -> dict[str, Any]:
    """CT3: the group froze for good, with everybody up."""
    faults = [at(1, leave=["d"]), at(3, leave=["b"]), at(4, restart=["d"]), at(6, restart=["b"])]
    said = document("counter_token", *faults, sites=4, groups={"left": ["b", "d"], "right": ["a", "c"]})
    return said | {"workload": {"messages": 200, "every_us": 50_000, "senders": ["a"]}}


def one_dead_link() -> dict[str, Any]:
    """CT5: everyone reaches everyone, and views were changed without end."""
    said = document("counter_token", at(1, cut=[["c", "a"]]), sites=3)
    return said | {"workload": {"messages": 60, "every_us": 100_000}}


def a_group_that_moves_while_its_members_are_away() -> dict[str, Any]:
    """PG3: the group was dead, though everybody was up."""
    faults = [at(1, crash=["a"]), at(3, change={"g": ["a"]}), at(4, change={"g": ["c"]}), at(5, recover=["a"])]
    said = document("propagation_graph", *faults, groups={"x": SITES, "g": ["a", "b"]})
    said |= {"options": {"failures": "non_atomic"}, "network": {"delay_us": 1000}}
    return said | {"workload": {"messages": 400, "every_us": 50_000, "senders": ["b", "d", "e"]}}


def a_site_that_only_the_root_does_not_reach() -> dict[str, Any]:
    """TA2: "directly or indirectly", says the paper; the site starved."""
    said = document("tree_ack", at(1, cut=[["a", "c"]]), sites=3, options={"announce_us": 0})
    return said | {"workload": {"messages": 60, "every_us": 50_000, "senders": ["a"]}}


# By name: the scenario; module, text, what it becomes; what settled says then; which promised properties do not see it
Planted = tuple[Callable[[], dict[str, Any]], list[tuple[str, str, str]], str, list[str]]
PLANTED: dict[str, Planted] = {
    "who comes back is not let in": (
        return_in_another_order,
        [("counter_token.joining", "            self._let_in(now, source)\n", "            pass\n")],
        "site b, up and connected, is still in view ",
        ["validity", "agreement", "view_synchrony"],
    ),
    "nothing goes round a dead link": (
        one_dead_link,
        [
            ("counter_token.relay", "if not self._deaf or (target, self._site) not in self._deaf:", "if True:"),
            ("counter_token.relay", "if others and relayed is not None:", "if not others and relayed is not None:"),
        ],
        "site a installed view ",
        ["agreement", "view_synchrony"],
    ),
    "who is new in a group does not learn how far its sources are": (
        a_group_that_moves_while_its_members_are_away,
        [
            (
                "propagation_graph.places",
                "for group, source, place in places:",
                "for group, source, place in places[:0]:",
            )
        ],
        "neither site c, up and connected, nor anybody else has delivered g:",
        ["validity", "agreement"],
    ),
    "no way over others is found": (
        a_site_that_only_the_root_does_not_reach,
        [("links", "                    self.found[site] = paths[-1]\n", "                    pass\n")],
        "site c, up and connected, has not delivered all:a/",
        ["validity"],
    ),
}


@pytest.mark.parametrize("story", [story for story, _, _, _ in PLANTED.values()])
def test_what_was_found_is_mended(story: Callable[[], dict[str, Any]]) -> None:
    said = story()
    result, report = simulate(scenario_from_document(said, "test", Path()), 0)
    promised = REGISTRY[said["protocol"]].guarantees
    assert {name: report[name].why for name in promised if report[name].verdict == FAIL} == {}
    assert report["settled"].verdict == PASS and FAIL not in result["duties"].values()


@pytest.mark.parametrize("name", PLANTED)
def test_settled_sees_it_when_it_is_planted_again(name: str) -> None:
    story, changes, why, blind = PLANTED[name]
    said = story()
    homes = {"links": "tocsin.core."}
    (first, old, new), *more = [(homes.get(part, "tocsin.protocols.") + part, old, new) for part, old, new in changes]
    mutant = mutated(REGISTRY[said["protocol"]], first, old, new, *more)
    scenario = Scenario(decode_config(said, ScenarioConfig, "test"), "test", Path(), mutant)
    _, report = simulate(scenario, 0)
    assert report["settled"].verdict == FAIL and str(report["settled"].why).startswith(why), report["settled"]
    assert [each for each in blind if report[each].verdict != PASS] == []


# What the trace says besides


def test_leaves_and_missed_ranges_are_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario = tmp_path / "s.json"
    said = document("counter_token", at(1, leave=["d"]), at(1.2, join=["e"]))
    scenario.write_text(json.dumps(said))
    main(["simulate", str(scenario), "--json", "--trace", str(tmp_path)])
    table = pq.read_table(tmp_path / "trace.parquet").to_pylist()
    assert [row["site"] for row in table if row["event"] == "leave"] == ["d"]
    missed = [row for row in table if row["event"] == "missed"]
    assert {(row["site"], row["group"], row["position"]) for row in missed} == {("e", "all", 0)}
    assert json.loads(capsys.readouterr().out)["happened"]["missed"] == sum(row["size"] for row in missed)
