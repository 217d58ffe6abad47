"""Figure 1 of Garbinato, Pedone and Schmidt: two paths, one alpha times worse."""

import math
from collections.abc import Mapping

from papers.common.judging import near
from papers.common.paper import Chart, Claim, Line, Section, exact, verdict
from papers.common.table import Point, Table
from papers.common.words import replications

EXAMPLE_LOSS, EXAMPLE_ALPHA = 0.0001, 10.0  # of the text beside Figure 1

PATHS_LOSS, PATHS_SENDS = 0.1, 4  # of grids/two_paths.toml


def _share(lost: float, best: float) -> float:
    """Messages of the adaptive algorithm for one of the other's: both miss as often."""
    return math.log(lost) / math.log(best)


def _measured_share(table: Table, way: str, alpha: float) -> Point:
    """The same from how often nothing arrived, with the interval that this leaves."""
    missed = table.point(f"missed.{way}", {"alpha": alpha})
    expected = PATHS_SENDS * math.log(PATHS_LOSS)  # of the best path
    if missed.low <= 0.0:
        return Point(math.log(missed.mean) / expected, math.inf, missed.replications)
    ends = [math.log(end) / expected for end in (missed.low, missed.high)]
    return Point(sum(ends) / 2, abs(ends[0] - ends[1]) / 2, missed.replications)


def two_paths(table: Table) -> Section:
    alphas = table.values("alpha")
    measured = {
        way: [(alpha, _measured_share(table, way, alpha)) for alpha in alphas] for way in ("alternating", "random")
    }
    printed = [(alpha, exact(_share(math.sqrt(alpha) * PATHS_LOSS, PATHS_LOSS))) for alpha in alphas]
    drawn = [(alpha, exact(_share((1 + alpha) / 2 * PATHS_LOSS, PATHS_LOSS))) for alpha in alphas]
    return Section(
        title="Figure 1: two paths, one alpha times worse",
        text=f"Two nodes, paths that lose L = {PATHS_LOSS} and alpha L. Of {PATHS_SENDS} messages we count how often "
        "none "
        "arrives, and derive how many messages the adaptive algorithm (always the better path) sends for one of the "
        "other's.",
        claims=[_formula_claim(table, measured), _example_claim(), _equal_paths_claim(table)],
        charts=[
            Chart(
                name="garbinato-two-paths",
                title=f"Messages of the adaptive algorithm for one of typical gossip, L = {PATHS_LOSS}",
                x_label="alpha: how many times worse the second path is",
                y_label="k1 / k0",
                lines=[
                    Line("paths in turn", measured["alternating"]),
                    Line("the paper: ln(sqrt(alpha) L) / ln L", printed, formula=True),
                    Line("paths at random", measured["random"]),
                    Line("ln((1 + alpha) L / 2) / ln L", drawn, formula=True),
                ],
            )
        ],
    )


def _formula_claim(table: Table, measured: Mapping[str, list[tuple[float, Point]]]) -> Claim:
    alpha, at_random = measured["random"][-1]
    _, in_turn = measured["alternating"][-1]
    printed = _share(math.sqrt(alpha) * PATHS_LOSS, PATHS_LOSS)
    holds = near(at_random, printed, 0.02)
    explained = near(in_turn, printed, 0.02) and near(at_random, _share((1 + alpha) / 2 * PATHS_LOSS, PATHS_LOSS), 0.02)
    because = (
        "a path drawn at random loses (1 + alpha) L / 2; sqrt(alpha) L is the loss of a message when the two paths are "
        "taken in turn, and that is what we measure then. Gossip at random is worse than the figure shows"
        if explained and not holds
        else ""
    )
    return Claim(
        where="section 1, Figure 1",
        says="choosing paths randomly for every send, k messages all fail with probability (sqrt(alpha) L)^k",
        measured=f"alpha = {alpha:g}, L = {PATHS_LOSS}: k1/k0 is {at_random.told(3)} at random, {in_turn.told(3)} in "
        "turn; "
        f"the formula gives {printed:.3f} ({replications(measured['random'])})",
        verdict=verdict(holds, because),
        because=because,
    )


def _example_claim() -> Claim:
    printed = _share(math.sqrt(EXAMPLE_ALPHA) * EXAMPLE_LOSS, EXAMPLE_LOSS)
    drawn = _share((1 + EXAMPLE_ALPHA) / 2 * EXAMPLE_LOSS, EXAMPLE_LOSS)
    return Claim(
        where="section 1",
        says="alpha = 10, L = 0.0001: an adaptive algorithm needs about 87 % of the messages",
        measured=f"{printed:.1%} by the paper's formula; {drawn:.1%} with paths really drawn at random (arithmetic, no "
        "replications: such losses are too rare to count)",
        verdict=verdict(abs(printed - 0.87) < 0.01),
    )


def _equal_paths_claim(table: Table) -> Claim:
    found = {way: table.point(f"missed.{way}", {"alpha": 1}) for way in ("best", "alternating", "random")}
    low, high = max(point.low for point in found.values()), min(point.high for point in found.values())
    told = ", ".join(f"{way} {point.told(2)}" for way, point in found.items())
    return Claim(
        where="section 1",
        says="when alpha = 1 there is no difference between the algorithms",
        measured=f"nothing arrived in a part of the trials: {told} ({found['best'].replications} replications)",
        verdict=verdict(low <= high),
    )
