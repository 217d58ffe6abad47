"""The experiments on Chang and Hwang on small cases, and that their claims can come out otherwise."""

from collections.abc import Callable
from typing import Any

import pytest

from papers.chang_hwang.experiments.comparison import Comparison
from papers.chang_hwang.experiments.control import Control
from papers.chang_hwang.experiments.counts import Counts
from papers.chang_hwang.experiments.levels import SERVICES, Kept
from papers.chang_hwang.experiments.repair import Repair
from papers.chang_hwang.experiments.shared_load import SharedLoad
from papers.chang_hwang.formulas import delay, num, requests, tokens
from papers.chang_hwang.paper import PAPER
from papers.common.paper import AGREES, DIFFERS, NOT_REPRODUCED, Claim
from papers.common.reproduction import FOLDER, grid_file, sections_of
from papers.common.table import Mean, Point, Table
from papers.common.tests.small_tables import altered, judged
from tocsin.spark.sweep.grid import load_grid

# The experiments


def counts(complete_at: list[int]) -> Counts:
    return Counts(
        broadcasts=len(complete_at),
        deliveries=0,
        busy={"token": 2},
        whole={"token": 3, "data": 8},
        busy_us=30,
        drops=0,
        rollbacks=0,
        latencies_us=[1, 2, 3],
        complete_at=complete_at,
    )


def test_time_a_message_leaves_out_start_and_end() -> None:
    batches = counts([10, 10, 20, 20, 30, 99])
    assert batches.between_deliveries_us(batches.busy_us) == 20 / 3, "three messages after the first moment"
    assert batches.between_deliveries_us() == 89 / 4
    assert counts([10, 10, 99]).between_deliveries_us(30) is None
    assert (batches.during_load("token"), batches.in_all("token"), batches.in_all()) == (2 / 6, 3 / 6, 11 / 6)


def test_control_messages_are_those_of_the_formula() -> None:
    found = Control(sites=5, rate=20.0, hold_s=0.5, messages=1_000).measure(1)
    assert found["control"] == pytest.approx(tokens("lan", 5, 20.0, 0.5, 0.05), rel=0.1)
    assert found["requests"] == found["undelivered"] == 0.0
    assert found["amortised_s"] == pytest.approx(delay("counter_based", 5, 20.0, 0.5, 0.05), rel=0.1)
    assert 2.0 < found["longest.cycles"] < 3.0
    lossy = Control(sites=5, rate=20.0, hold_s=0.5, messages=1_000, loss=0.1, model="mesh").measure(1)
    assert lossy["requests"] == pytest.approx(requests(5, 0.1), rel=0.25) and lossy["undelivered"] == 0.0
    assert lossy["control.sent"] == pytest.approx(lossy["tokens"] + 4 * lossy["requests"])


def test_a_request_at_once_is_often_for_nothing() -> None:
    found = Control(sites=5, rate=20.0, hold_s=0.5, messages=1_000, wait_us=0).measure(1)
    assert found["requests"] > found["tokens"] > 0.0


@pytest.mark.parametrize(
    "approach", ["centralized", "two_phase", "optimistic", "fast_message", "totem", "counter_based"]
)
def test_everything_is_delivered_with_errors(approach: Any) -> None:
    found = SharedLoad(approach=approach, sites=4, loss=0.05, messages=200).measure(1)
    assert found["undelivered"] == 0.0 and found["lost"] > 0.0 and found["num"] > 1.0
    assert (found["rollbacks"] > 0.0) == (approach == "optimistic")


def test_comparison_beyond_26_sites() -> None:
    found = Comparison(approach="centralized", model="lan", sites=30).measure(1)
    assert found["num"] == pytest.approx(num("centralized", "lan", 30, 10.0, 1.0, 0.05), rel=0.02)


def test_a_lost_copy_is_repaired() -> None:
    ring = [Repair(approach="fast_message", sites=6).measure(seed)["repair.cycles"] for seed in range(3)]
    ours = [Repair(approach="counter_based", sites=6).measure(seed)["repair.cycles"] for seed in range(3)]
    assert all(1.0 <= cycles <= 2.5 for cycles in ring)
    assert all(0.0 < cycles <= 2.0 for cycles in ours)


def test_a_level_is_a_number() -> None:
    found = Kept(form="sequencer", experiment="lost order").measure(1)
    assert found == {"reliability": 2, "service": SERVICES.index("agreed")}


# The claims, on tables as the formulas have them

T_S, P_S = 0.2, 0.05


def control(where: dict[str, Any]) -> dict[str, float]:
    setting = {"rate": 10.0, "hold_s": 1, "model": "lan", "loss": 0.0, "wait_us": 100_000, "commit": "cycle", **where}
    sites, rate, hold_s, model = (setting[key] for key in ("sites", "rate", "hold_s", "model"))
    token = tokens(model, sites, rate, hold_s, P_S, setting["loss"])
    request = requests(sites, setting["loss"]) + (0.05 if setting["wait_us"] == 0 else 0.0)
    many = 1 if model == "lan" else sites - 1
    return {
        "turns": 100.0,
        "tokens": token,
        "requests": request,
        "control": token + request,
        "control.sent": token + many * request,
        "control.to_the_end": 1.2 * token + request,
        "latency_s": 1.85 * sites * (hold_s + P_S),
        "latency.cycles": 1.85,
        "longest.cycles": 2.8 if setting["commit"] == "cycle" else 1.9,
        "amortised_s": delay("counter_based", sites, rate, hold_s, P_S),
        "undelivered": 0.0,
    }


def compared(where: dict[str, Any]) -> dict[str, float]:
    approach, model = where["approach"], where["model"]
    numbers = where["sites"], where.get("rate", 10.0), where.get("hold_us", 200_000) / 1e6, P_S
    latency = 2 * where["sites"] * (T_S + P_S) if approach == "counter_based" else 0.1
    return {
        "num": num(approach, model, *numbers),
        "all": num(approach, model, *numbers),
        "time_us": 1e6 * delay(approach, *numbers),
        "latency_us": 1e6 * latency,
    }


def loaded(where: dict[str, Any]) -> dict[str, float]:
    approach, loss = where["approach"], where["loss"]
    first = {"counter_based": 1.01, "optimistic": 1.2, "totem": 1.5}.get(approach, 2.5)
    return {
        "num": first + 5 * loss,
        "requests": 9 * loss,
        "rollback_requests": 0.0,
        "latency_s": 1.0,
        "rollbacks": (1.0 + loss) if approach == "optimistic" else 0.0,
        "lost": 1.0 + 10 * loss,
        "undelivered": 0.0,
        "between_s": 0.05 if approach == "fast_message" else 0.01,
    }


def repaired(where: dict[str, Any]) -> dict[str, float]:
    return {"repair.cycles": 1.7 if where["approach"] == "fast_message" else 0.6, "repair_s": 1.0}


def kept(where: dict[str, Any]) -> dict[str, float]:
    low = {"sequencer": (2, "agreed"), "optimistic_token": (2, "agreed"), "two_phase": (3, "safe")}
    reliability, service = low.get(where["form"], (3, "safe"))
    return {"reliability": float(reliability), "service": float(SERVICES.index(service))}


MEASURES: dict[str, Callable[[dict[str, Any]], dict[str, float]]] = {
    "Comparison": compared,
    "Control": control,
    "Kept": kept,
    "Repair": repaired,
    "SharedLoad": loaded,
}


def tables() -> dict[str, Table]:
    found = {}
    for name in PAPER.grids:
        grid = load_grid(grid_file(PAPER, name), quick=True)
        measure = MEASURES[str(grid.config.experiment).partition(":")[2]]
        rows = []
        for combination in range(grid.combinations):
            parameters = grid.parameters(combination)
            for metric, value in measure({**grid.config.arguments, **parameters}).items():
                rows.append(Mean(parameters, metric, Point(value, 0.001 * value, 3), value, value))
        found[name] = Table(name, rows)
    return found


def claims(found: dict[str, Table]) -> list[Claim]:
    return [claim for section in sections_of(PAPER, found, ()) for claim in section.claims]


@pytest.fixture(name="made", scope="module")
def made_tables() -> dict[str, Table]:
    return tables()


def test_every_grid_belongs_to_the_paper() -> None:
    assert set(PAPER.grids) == {path.stem for path in (FOLDER / "chang_hwang" / "grids").glob("*.toml")}
    for name in PAPER.grids:
        assert load_grid(grid_file(PAPER, name)).combinations > 0


# What comes out otherwise even if every formula holds to the letter
DIFFERENT = {
    "a node that lacks a message",  # data that the token overtook
    "messages broadcast in one cycle",  # three cycles
    "D, the time from the broadcast",  # amortised is not latency
    "the delay to commit a message is the same",
    "as the number of nodes is increased, the delay",
    "given the same N, the cost",  # at small E
    "on a point-to-point network with errors C",  # a request is N - 1 messages
    "a shorter delay to commit",
    "shortest delay D",  # N = 2, A = 10 against 2 P: equal
    "… and needs fewer control messages",  # A (T + P) < 1
    "centralized: R3",
    "two-phase: agreed",
    "optimistic: safe",
    "the amortised D",  # every protocol that keeps up
}


def test_perfect_formulas_agree(made: dict[str, Table]) -> None:
    found = claims(made)
    assert len(found) > 60
    for claim in found:
        different = any(claim.says.startswith(start) or start in claim.says for start in DIFFERENT)
        expected = DIFFERS if different else NOT_REPRODUCED if "rollback request" in claim.says else AGREES
        assert claim.verdict == expected, claim
        assert bool(claim.because) == (claim.verdict == DIFFERS), claim
        assert "replications" in claim.measured, claim


PLANTED: list[tuple[str, str, str, Callable[[dict[str, Any], float], float], str]] = [
    # grid, metric, claim, what becomes of the mean, verdict
    ("figure_3", "control", "without failures C = exp(A, N) /", lambda where, mean: 1.2 * mean, NOT_REPRODUCED),
    ("figure_3", "control", "as T increases, C decreases", lambda where, mean: 0.01, NOT_REPRODUCED),
    ("figure_3", "control", "without errors, as N increases", lambda where, mean: 0.01, NOT_REPRODUCED),
    ("figure_3", "control", "about twice", lambda where, mean: 1 / where["sites"] ** 2, NOT_REPRODUCED),
    ("figure_3", "control", "smaller than 0.1", lambda where, mean: 0.11, NOT_REPRODUCED),
    (
        "overtaken",
        "control",
        "a node that lacks",
        lambda where, mean: control({**where, "wait_us": 1})["control"],
        AGREES,
    ),
    ("figure_3", "amortised_s", "D = 2 exp", lambda where, mean: 2 * mean, NOT_REPRODUCED),
    ("figure_3", "amortised_s", "D is the same no matter", lambda where, mean: mean * where["hold_s"], NOT_REPRODUCED),
    ("figure_3", "amortised_s", "a higher arrival rate", lambda where, mean: 0.1, NOT_REPRODUCED),
    ("figure_3", "amortised_s", "as N increases, D", lambda where, mean: 0.1, NOT_REPRODUCED),
    ("commit", "longest.cycles", "messages broadcast in one cycle", lambda where, mean: 1.9, AGREES),
    ("figure_4", "requests", "with errors there are", lambda where, mean: 0.8 * mean, DIFFERS),
    ("figure_4", "tokens", "with errors the tokens", lambda where, mean: 0.8 * mean, DIFFERS),
    ("figure_4", "control", "as E increases", lambda where, mean: 0.3, NOT_REPRODUCED),
    ("figure_4", "control", "with errors, as N increases", lambda where, mean: 0.3, NOT_REPRODUCED),
    ("figure_4", "requests", "requests dominate", lambda where, mean: 0.01, NOT_REPRODUCED),
    ("figure_4", "requests", "proportional to E", lambda where, mean: mean**2, NOT_REPRODUCED),
    ("figure_4", "latency_s", "D on a point-to-point", lambda where, mean: len(where["model"]), NOT_REPRODUCED),
    ("rivals", "num", "two-phase: Num = N + 1", lambda where, mean: mean + 1, NOT_REPRODUCED),
    ("rivals", "num", "fast message: Num = 2 (N - 1)", lambda where, mean: where["sites"], DIFFERS),
    ("rivals", "time_us", "fast message: D = T + P", lambda where, mean: 50_000.0, DIFFERS),
    ("rivals", "time_us", "have a constant delay", lambda where, mean: mean * where["sites"], NOT_REPRODUCED),
    ("rivals", "num", "in the optimistic protocol", lambda where, mean: 2.0, NOT_REPRODUCED),
    ("counter_lan", "num", "counter-based protocol requires the fewest messages", lambda where, mean: 3.0, ""),
    ("counter_mesh", "num", "fewer messages than the optimistic", lambda where, mean: mean + 1.0, NOT_REPRODUCED),
    ("owner_time", "num", "… and needs fewer", lambda where, mean: 20 - len(where["approach"]), AGREES),
    ("load", "num", "Num of the centralized and the two-phase protocol is", lambda where, mean: 2.0, NOT_REPRODUCED),
    ("load", "requests", "same number of requests", lambda where, mean: len(where["approach"]), DIFFERS),
    ("load", "rollbacks", "(rollbacks)", lambda where, mean: 1.0, NOT_REPRODUCED),
    ("load", "rollback_requests", "rollback request", lambda where, mean: 1.0, AGREES),
    ("load", "between_s", "low throughput", lambda where, mean: 0.01, NOT_REPRODUCED),
    ("repair", "repair.cycles", "a long time, a cycle", lambda where, mean: 0.5, NOT_REPRODUCED),
]


@pytest.mark.parametrize(
    ("grid", "metric", "says", "change", "expected"), PLANTED, ids=[f"{each[0]}: {each[2]}" for each in PLANTED]
)
def test_a_planted_table_turns_the_verdict(
    made: dict[str, Table],
    grid: str,
    metric: str,
    says: str,
    change: Callable[[dict[str, Any], float], float],
    expected: str,
) -> None:
    wrong = altered(made[grid], lambda where, each, mean: change(where, mean) if each == metric else mean)
    found = [claim for claim in claims({**made, grid: wrong}) if says in claim.says]
    before = [claim.verdict for claim in claims(made) if says in claim.says]
    assert [claim.verdict for claim in found] != before
    if expected:
        assert expected in {claim.verdict for claim in found}


def test_one_bad_run_lowers_a_level(made: dict[str, Table]) -> None:
    rows = [
        row._replace(low=1.0) if row.metric == "reliability" and row.parameters["form"] == "counter_token" else row
        for row in made["levels"].rows
    ]
    found = claims({**made, "levels": Table("levels", rows)})
    assert judged(found, "counter-based: R3").verdict == NOT_REPRODUCED
    assert judged(found, "no lower than that of all others").verdict == NOT_REPRODUCED


def test_something_undelivered_is_seen(made: dict[str, Table]) -> None:
    rows = [row._replace(high=1.0) if row.metric == "undelivered" else row for row in made["load"].rows]
    found = claims({**made, "load": Table("load", rows)})
    assert judged(found, "all of the receivers").verdict == NOT_REPRODUCED
