"""Chang, Hwang, Tables 1 and 2: messages and delay of the five protocols, measured next to the formulas.

`pytest papers/chang_hwang/tests/test_tables.py --rewrite` writes the measured tables into docs/comparison.md.
"""

from pathlib import Path
from typing import NamedTuple

import pytest

from papers.chang_hwang.experiments.comparison import Comparison
from papers.chang_hwang.experiments.settings import PROTOCOLS
from papers.chang_hwang.formulas import Approach, Model, delay, num

PAGE = Path(__file__).parents[3] / "docs" / "comparison.md"
HEADINGS: dict[Model, str] = {"lan": "## Table 1: a broadcast network", "mesh": "## Table 2: a point-to-point network"}
APPROACHES: tuple[Approach, ...] = ("centralized", "two_phase", "optimistic", "fast_message", "counter_based")
SITES = (5, 20)
P_US, T_US, A = 1_000, 10_000, 20.0


class Measured(NamedTuple):
    """One line of a table."""

    approach: Approach
    sites: int
    found: dict[str, float]
    num: float
    delay_us: float  # the formula's


def line(approach: Approach, model: Model, sites: int) -> Measured:
    calculation = Comparison(approach=approach, model=model, sites=sites, rate=A, hold_us=T_US, delay_us=P_US)
    hold_us = 0 if approach == "fast_message" else T_US  # its token is passed at once
    numbers = sites, A, hold_us / 1e6, P_US / 1e6
    return Measured(
        approach, sites, calculation.measure(1), num(approach, model, *numbers), delay(approach, *numbers) * 1e6
    )


def told(lines: list[Measured]) -> str:
    """The table in Markdown."""
    text = [
        "| approach | protocol | N | Num measured | formula | all sent | D measured, ms | formula, ms | latency, ms |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for each in lines:
        found = each.found
        text.append(
            f"| {each.approach.replace('_', ' ')} | `{PROTOCOLS[each.approach]}` | {each.sites} | {found['num']:.2f} | "
            f"{each.num:.2f} | {found['all']:.2f} | {found['time_us'] / 1000:.2f} | {each.delay_us / 1000:.2f} | "
            f"{found['latency.median_us'] / 1000:.1f} |"
        )
    return "\n".join(text) + "\n"


@pytest.fixture(scope="module", params=["lan", "mesh"])
def measured(request: pytest.FixtureRequest) -> tuple[Model, list[Measured]]:
    model: Model = request.param
    return model, [line(approach, model, sites) for approach in APPROACHES for sites in SITES]


def test_messages_and_delays_are_those_of_the_formulas(measured: tuple[Model, list[Measured]]) -> None:
    """Within a twentieth: the ring's token goes round twice after the last broadcast, which the formula leaves out."""
    model, lines = measured
    assert len(lines) == 2 * len(APPROACHES)
    for each in lines:
        expected = each.num
        if each.approach == "fast_message" and model == "mesh":
            expected = each.sites  # the paper sends the token to all; the protocol's own paper, and we, to the next
        assert each.found["num"] == pytest.approx(expected, rel=0.05), each
        assert each.found["time_us"] == pytest.approx(each.delay_us, rel=0.05), each
        assert each.found["all"] >= each.found["num"] - 1e-9


def test_the_page_shows_what_was_measured(
    measured: tuple[Model, list[Measured]], request: pytest.FixtureRequest
) -> None:
    model, lines = measured
    before, heading, rest = PAGE.read_text().partition(HEADINGS[model] + "\n")
    assert heading, f"{PAGE.name} has no heading {HEADINGS[model]}"
    shown, _, after = rest.lstrip("\n").partition("\n\n")
    if request.config.getoption("--rewrite"):
        PAGE.write_text(f"{before}{heading}\n{told(lines)}\n{after}")
    else:
        assert [_values(row) for row in shown.splitlines()] == [_values(row) for row in told(lines).splitlines()]


def _values(row: str) -> list[object]:
    """The cells of a row; figures count as equal when they differ by a twentieth."""
    values: list[object] = []
    for cell in row.split("|"):
        try:
            values.append(pytest.approx(float(cell), rel=0.05))
        except ValueError:
            values.append(cell.strip())
    return values
