"""Section 4.3 of Chang and Hwang: how soon a lost message is there again."""

from papers.chang_hwang.words import NAMES
from papers.common.paper import Claim, Listing, verdict
from papers.common.table import Point, Table
from papers.common.words import replications_of


def slow_repair(table: Table) -> Claim:
    cells = [(sites, _repair(table, "repair.cycles", "fast_message", sites)) for sites in table.values("sites")]
    seconds = {
        approach: _repair(table, "repair_s", approach, max(table.values("sites"))).told(3)
        for approach in ("fast_message", "counter_based")
    }
    return Claim(
        where="section 4.3",
        says="the fast message protocol takes a long time, a cycle, until a lost message is sent again",
        measured=", ".join(f"N = {sites}: {point.told(3)} cycles" for sites, point in cells)
        + f" until it arrives ({replications_of(table)}). The cycles differ: at the largest N the ring takes "
        f"{seconds['fast_message']} s, the counter-based protocol {seconds['counter_based']} s with T = 1 s",
        verdict=verdict(all(point.low >= 1.0 for _, point in cells)),
    )


def two_cycles(table: Table) -> Claim:
    largest = max(
        row.high
        for row in table.rows
        if row.metric == "repair.cycles" and row.parameters["approach"] == "counter_based"
    )
    return Claim(
        where="section 1",
        says="the counter-based protocol detects a message loss in at most two cycles",
        measured=f"detected, asked for, sent again and received within {largest:.3g} cycles at most "
        f"({replications_of(table)} for each N)",
        verdict=verdict(largest <= 2.0),
    )


def _repair(table: Table, metric: str, approach: str, sites: int) -> Point:
    return table.point(metric, {"approach": approach, "sites": sites})


def repair_listing(table: Table) -> Listing:
    rows = [
        [
            NAMES[approach],
            str(sites),
            _repair(table, "repair.cycles", approach, sites).told(3),
            _repair(table, "repair_s", approach, sites).told(3),
        ]
        for approach in ("fast_message", "counter_based")
        for sites in table.values("sites")
    ]
    return Listing(
        "From the loss of one copy to its arrival",
        ["protocol", "N", "cycles of the token", "seconds"],
        rows,
        note="P = 0.05 s; a cycle is N P in the ring, which does not hold its token, and N (T + P) with T = 1 s in the "
        "other.",
    )
