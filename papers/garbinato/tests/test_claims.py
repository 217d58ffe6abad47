"""Garbinato et al.: the experiments against arithmetic, and verdicts that turn when the numbers do."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from papers.common.paper import AGREES, DIFFERS, NOT_REPRODUCED, Claim
from papers.common.reproduction import grid_file, sections_of
from papers.common.table import Mean, Point, Table
from papers.garbinato.experiments.learning import Convergence, Heartbeats, Patience, Size
from papers.garbinato.experiments.line_19 import Line19
from papers.garbinato.experiments.messages import Messages
from papers.garbinato.experiments.two_paths import TwoPaths
from papers.garbinato.paper import PAPER
from tocsin.spark.sweep.grid import load_grid

# Calculations


def test_two_paths_miss_as_often_as_arithmetic_says() -> None:
    found = TwoPaths(loss=0.2, alpha=3.0, sends=2, trials=40_000).measure(1)
    assert found["missed.best"] == pytest.approx(0.2**2, abs=0.004)
    assert found["missed.alternating"] == pytest.approx(0.2 * 0.6, abs=0.008)
    assert found["missed.random"] == pytest.approx(0.4**2, abs=0.008), "not the paper's 0.12"


def test_line_19_as_printed_believes_a_perfect_link_to_be_dead() -> None:
    found = Line19(loss=0.0).measure(1)
    assert found["printed"] > 0.99 and found["corrected"] < 0.002
    assert Line19(loss=0.2).measure(1)["corrected"] == pytest.approx(0.2, abs=0.04)


def test_messages_of_a_small_network() -> None:
    found = Messages(connectivity=4, sites=12, loss=0.05, reach=0.99, broadcasts=40, executions=200).measure(1)
    assert found["messages"] == found["optimum"] > 11
    assert found["broadcasts"] == 40 and found["incomplete"] <= 3
    assert found["ratio.with_acks"] > found["ratio"] == found["gossip.data"] / found["messages"]


def test_learning_in_a_small_network() -> None:
    small: dict[str, Any] = {"connectivity": 3, "sites": 8, "loss": 0.05, "reach": 0.99}
    found = Convergence(**small, broadcasts=20).measure(1)
    assert found["heartbeats"] > 20 and found["reach.missed"] < 0.02 and abs(found["excess"]) < 0.3
    early, late = (Patience(**small, heartbeats=count).measure(1) for count in (10, 300))
    assert early["excess"] > late["excess"] >= -0.05
    assert Heartbeats(**small, spell=5).measure(1)["bytes.largest"] < 500


def test_a_ring_takes_longer_than_a_tree() -> None:
    ring, tree = (Size(shape=shape, sites=24).measure(1) for shape in ("ring", "tree"))
    assert ring["heartbeats.known"] > tree["heartbeats.known"]
    assert ring["heartbeats"] >= ring["heartbeats.known"]


# Verdicts

Made = Callable[[str, dict[str, Any]], dict[str, float]]


def as_the_paper_says(grid: str, where: dict[str, Any]) -> dict[str, float]:
    """Numbers with which every claim agrees."""
    connectivity = where.get("connectivity", 2)
    failing = where.get("crash", where.get("loss", 0.05))
    if grid == "two_paths":
        missed = (math.sqrt(where["alpha"]) * 0.1) ** 4
        return {"missed.best": 1e-4, "missed.alternating": missed, "missed.random": missed}
    if grid.startswith("messages"):
        ratio = 0.25 * connectivity * (2 if where.get("spread") else 1)
        found = {"messages": 493, "optimum": 493, "incomplete": 0, "broadcasts": 1000, "ratio": ratio}
        return {**found, "ratio.with_acks": 1.9 * ratio, "gossip.steps": 3, "gossip.data": 9, "gossip.acks": 8}
    if grid.startswith("convergence"):
        hurt = 1 if "crash" in where else 4
        heartbeats = 200 * failing / 0.05 + (40 if connectivity == 2 else 0) + hurt * 10 * abs(connectivity - 4)
        found = {"heartbeats": heartbeats + 160, "optimum": 480, "messages": 484, "reach.missed": 9e-5}
        return {**found, "incomplete": 0, "broadcasts": 1000}
    if grid == "tolerance":
        return {"heartbeats": 0.16 / where["tolerance"] ** 2}
    if grid == "patience":
        return {"excess": 2.0 / where["heartbeats"]}
    if grid == "size":
        known = 0.3 * where["sites"] if where["shape"] == "ring" else 8
        return {"heartbeats.known": known, "heartbeats": known + 100}
    if grid == "heartbeats":
        return {f"bytes.{name}": 50_000 for name in ("first", "second", "fourth", "largest")}
    return {"printed": where["loss"], "corrected": where["loss"]}


def judged(made: Made, half_width: float = 1e-9) -> dict[str, list[Claim]]:
    """The claims of tables with those numbers, by section."""
    tables = {}
    for name in PAPER.grids:
        grid = load_grid(grid_file(PAPER, name))
        rows = []
        for combination in range(grid.combinations):
            where = grid.parameters(combination)
            for metric, value in made(name, where).items():
                rows.append(Mean(where, metric, Point(float(value), abs(value) * half_width, 3), value, value))
        tables[name] = Table(name, rows)
    return {section.title: list(section.claims) for section in sections_of(PAPER, tables, ())}


def test_numbers_as_the_paper_says_agree() -> None:
    for title, claims in judged(as_the_paper_says).items():
        for claim in claims:
            assert claim.verdict == AGREES, (title, claim)


@pytest.mark.parametrize(
    ("grid", "change", "says", "expected"),
    [
        (
            "two_paths",
            lambda found, where: {"missed.random": ((1 + where["alpha"]) / 2 * 0.1) ** 4},
            "randomly",
            DIFFERS,
        ),
        ("two_paths", lambda found, where: {"missed.random": 0.5}, "randomly", NOT_REPRODUCED),
        ("two_paths", lambda found, where: {"missed.best": 0.5}, "no difference", NOT_REPRODUCED),
        ("messages_crashes", lambda found, where: {"ratio": found["ratio"] * 0.65}, "4 times fewer", DIFFERS),
        ("messages_crashes", lambda found, where: {"ratio": 9, "ratio.with_acks": 9}, "4 times", NOT_REPRODUCED),
        ("messages_losses", lambda found, where: {"ratio": 20 - found["ratio"]}, "better results", NOT_REPRODUCED),
        ("messages_losses", lambda found, where: {"incomplete": 2}, "reached with probability", NOT_REPRODUCED),
        ("messages_losses", lambda found, where: {"messages": 494}, "reached with probability", NOT_REPRODUCED),
        ("messages_unequal", lambda found, where: {"ratio": 1}, "unequal", NOT_REPRODUCED),
        ("convergence_losses", lambda found, where: {"heartbeats": 2 * found["heartbeats"]}, "400", NOT_REPRODUCED),
        ("convergence_losses", lambda found, where: {"heartbeats": 100}, "low probabilities", NOT_REPRODUCED),
        ("convergence_losses", lambda found, where: {"heartbeats": where["connectivity"]}, "helps", DIFFERS),
        ("convergence_crashes", lambda found, where: {"heartbeats": where["connectivity"]}, "noticeable", DIFFERS),
        ("convergence_crashes", lambda found, where: {"incomplete": 5}, "after convergence", NOT_REPRODUCED),
        ("convergence_crashes", lambda found, where: {"reach.missed": 2e-4}, "arithmetic", DIFFERS),
        ("patience", lambda found, where: {"excess": 0.2}, "converges to", NOT_REPRODUCED),
        ("size", lambda found, where: {"heartbeats.known": where["sites"] ** 2}, "linearly", NOT_REPRODUCED),
        ("size", lambda found, where: {"heartbeats.known": where["sites"]}, "almost constant", NOT_REPRODUCED),
        ("size", lambda found, where: {"heartbeats": 100}, "worst case", NOT_REPRODUCED),
        ("heartbeats", lambda found, where: {"bytes.largest": 2_000}, "50K", DIFFERS),
        ("heartbeats", lambda found, where: {"bytes.largest": 30_000}, "50K", NOT_REPRODUCED),
        ("line_19", lambda found, where: {"printed": 0.99}, "suspected", DIFFERS),
    ],
)
def test_other_numbers_turn_the_verdict(grid: str, change: Any, says: str, expected: str) -> None:
    def made(name: str, where: dict[str, Any]) -> dict[str, float]:
        found = as_the_paper_says(name, where)
        return {**found, **change(found, where)} if name == grid else found

    claims = [claim for claims in judged(made).values() for claim in claims if says in claim.says]
    assert claims
    verdicts = [claim.verdict for claim in claims]
    assert expected in verdicts, claims
    assert all(claim.because for claim in claims if claim.verdict == DIFFERS)


@pytest.mark.parametrize(("factor", "expected"), [(1.0, AGREES), (1.6, DIFFERS), (3.0, NOT_REPRODUCED)])
def test_the_example_of_figure_3_depends_on_what_converged_means(factor: float, expected: str) -> None:
    def made(name: str, where: dict[str, Any]) -> dict[str, float]:
        found = as_the_paper_says(name, where)
        if name in ("convergence_losses", "tolerance"):
            return {**found, "heartbeats": factor * found["heartbeats"]}
        return found

    (claim,) = [claim for claims in judged(made).values() for claim in claims if "about 400" in claim.says]
    assert claim.verdict == expected, claim
    assert bool(claim.because) == (expected == DIFFERS)
