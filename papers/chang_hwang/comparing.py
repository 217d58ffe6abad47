"""What Tables 1 and 2 of Chang and Hwang have in common: Num against its formula, and who needs fewest messages."""

import math

from papers.chang_hwang.columns import NUM_FORMULAS, RIVALS, Measured
from papers.chang_hwang.formulas import Approach
from papers.chang_hwang.words import NAMES, ratios
from papers.common.judging import agreeing, below, every, near, quotient, within
from papers.common.paper import Claim, verdict
from papers.common.table import Point
from papers.common.words import replications_of


def formula_pairs(measured: Measured, metric: str, approach: Approach) -> list[tuple[Point, float]]:
    expected = measured.formula if metric == "num" else measured.time_formula
    rates = measured.rates if approach == "counter_based" else [0.0]
    return [
        (point, expected(approach, rate, sites))
        for rate in rates
        for sites, point in measured.series(metric, approach, rate)
    ]


def num_claim(measured: Measured, approach: Approach, where: str) -> Claim:
    pairs = formula_pairs(measured, "num", approach)
    answers = [near(point, value) for point, value in pairs]
    fit = agreeing(answers)
    because = ""
    if fit < len(pairs) and approach == "fast_message" and measured.model == "mesh":
        to_next = agreeing(near(point, sites) for sites, point in measured.series("num", approach))
        because = (
            "the paper counts the token as sent to all; Amir et al. pass it to the next site, and so does "
            f"`totem_ring`: (N - 1) + 1 messages, which agrees in {to_next} of {len(pairs)} settings"
        )
    return Claim(
        where=where,
        says=f"{NAMES[approach]}: Num = {NUM_FORMULAS[measured.model][approach]}",
        measured=f"{ratios(pairs)} times the formula for N from {measured.sites[0]} to {measured.sites[-1]}; agrees in "
        f"{fit} of {len(pairs)} settings ({measured.replications(approach)})",
        verdict=verdict(every(answers), because),
        because=because,
    )


def two_phase_is_largest(measured: Measured, where: str) -> Claim:
    two_phase = dict(measured.series("num", "two_phase"))
    relations = []
    for _, approach, rate in measured.columns():
        if approach != "two_phase":
            relations += [quotient(two_phase[sites], point) for sites, point in measured.series("num", approach, rate)]
    return Claim(
        where=where,
        says="Num of the two-phase protocol is much larger than that of all others",
        measured=f"{min(each.low for each in relations):.3g} to {max(each.high for each in relations):.3g} times each "
        f"of the others, by the intervals, N from {measured.sites[0]} "
        f"to {measured.sites[-1]} ({replications_of(measured.rivals)})",
        verdict=verdict(every(within(each, 1.25, math.inf) for each in relations)),
    )


def settings_won(measured: Measured, metric: str, against: Approach) -> tuple[int, int, list[int]]:
    """In how many settings the counter-based protocol is below another, of how many, and where it is not (N)."""
    other = dict(measured.series(metric, against))
    won, total, lost = 0, 0, []
    for rate in measured.rates:
        for sites, point in measured.series(metric, "counter_based", rate):
            total += 1
            if below(point, other[sites]):
                won += 1
            else:
                lost.append(sites)
    return won, total, sorted(set(lost))


def fewest(measured: Measured, where: str, besides: tuple[Approach, ...]) -> Claim:
    rivals = [approach for approach in RIVALS if approach not in besides]
    found = {approach: settings_won(measured, "num", approach) for approach in rivals}
    also = {name: _beaten_by(measured, name, rivals) for name in besides}
    holds = all(won == total for won, total, _ in found.values()) and all(won == total for won, total in also.values())
    says = "the counter-based protocol requires the fewest messages"
    if besides:
        says = "the counter-based and the optimistic protocol require the fewest messages"
    text = [f"below {NAMES[name]} in {won} of {total} settings" for name, (won, total, _) in found.items()]
    text += [f"{NAMES[name]} below those others in {won} of {total}" for name, (won, total) in also.items()]
    return Claim(
        where=where,
        says=says,
        measured="counter-based " + ", ".join(text) + f" ({replications_of(measured.counter)})",
        verdict=verdict(holds),
    )


def _beaten_by(measured: Measured, winner: Approach, rivals: list[Approach]) -> tuple[int, int]:
    mine = dict(measured.series("num", winner))
    results = [below(mine[sites], point) for name in rivals for sites, point in measured.series("num", name)]
    return sum(results), len(results)
