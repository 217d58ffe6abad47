"""Figure 3 of Chang and Hwang: control messages of the counter-based protocol without errors."""

from typing import Any

from papers.chang_hwang.formulas import P_S, Model, tokens
from papers.chang_hwang.words import ratios, widest
from papers.common.judging import agreeing, below, every, falls, near
from papers.common.paper import Chart, Claim, Line, Listing, Section, exact, verdict
from papers.common.table import Table, short
from papers.common.words import replications_of


def figure_3(table: Table, figure_4: Table, overtaken: Table) -> Section:
    return Section(
        title="Figure 3: control messages without errors",
        text="C is the number of token and request messages a broadcast; 30,000 broadcasts (fewer in the quick look), "
        "P uniform between 0 and 0.1 s. Tokens are counted until the last broadcast: those after it only commit. A "
        "formula agrees when it lies in the 95 % interval or within 5 % of the mean, give or take one token of a run.",
        claims=[
            _formula(table),
            _over_hold(table),
            _over_sites(table),
            _half(table),
            _small(table, figure_4),
            _asked_at_once(overtaken),
        ],
        charts=[_chart_3(table, sites, letter) for sites, letter in zip(table.values("sites"), "ab", strict=False)],
        listings=[_overtaken_listing(overtaken)],
    )


def token_formula(where: dict[str, Any], model: Model = "lan", loss: float = 0.0) -> float:
    return tokens(model, where["sites"], where["rate"], where["hold_s"], P_S, loss)


def one_token(table: Table, where: dict[str, Any]) -> float:
    """What one token more or less makes: a run is so short that it matters."""
    turns = table.point("turns", where).mean
    return table.point("tokens", where).mean / turns if turns else 1.0


def _formula(table: Table) -> Claim:
    cells = table.combinations()
    pairs = [(table.point("control", where), token_formula(where)) for where in cells]
    answers = [
        near(point, value, slack=one_token(table, where)) for where, (point, value) in zip(cells, pairs, strict=True)
    ]
    fit = agreeing(answers)
    ends = [(table.point("control.to_the_end", where), token_formula(where)) for where in cells]
    return Claim(
        where="section 4.1",
        says="without failures C = exp(A, N) / (N (T + P)), on a broadcast network",
        measured=f"{ratios(pairs)} times the formula; agrees in {fit} of {len(cells)} settings "
        f"({replications_of(table)}, {widest([point for point, _ in pairs])}). With the tokens that only commit "
        f"the last messages: {ratios(ends)} times",
        verdict=verdict(every(answers)),
    )


def _over_hold(table: Table) -> Claim:
    series = [
        [point for _, point in table.series("control", "hold_s", {"sites": sites, "rate": rate})]
        for sites in table.values("sites")
        for rate in table.values("rate")
    ]
    found = sum(falls(points) for points in series)
    return Claim(
        where="sections 4.1, 4.2, 6; Figure 3",
        says="as T increases, C decreases",
        measured=f"C falls by its intervals in {found} of {len(series)} series over T ({replications_of(table)})",
        verdict=verdict(found == len(series)),
    )


def _over_sites(table: Table) -> Claim:
    few, many = min(table.values("sites")), max(table.values("sites"))
    cells = [where for where in table.combinations() if where["sites"] == few]
    found = sum(
        below(table.point("control", {**where, "sites": many}), table.point("control", where)) for where in cells
    )
    return Claim(
        where="sections 4.1 and 6",
        says="without errors, as N increases, C decreases",
        measured=f"C at N = {many} below C at N = {few} in {found} of {len(cells)} settings ({replications_of(table)})",
        verdict=verdict(found == len(cells)),
    )


def _half(table: Table) -> Claim:
    few, many = min(table.values("sites")), max(table.values("sites"))
    found, holds = [], 0
    for where in (where for where in table.combinations() if where["sites"] == few):
        other = {**where, "sites": many}
        a, b = table.point("control", where), table.point("control", other)
        slack = (a.half_width + one_token(table, where)) / a.mean + (b.half_width + one_token(table, other)) / b.mean
        found.append(a.mean / b.mean)
        holds += abs(a.mean / b.mean * few / many - 1.0) <= 0.05 + slack
    return Claim(
        where="section 4.2, Figure 3",
        says="C in Figure 3-(a) is about twice that in Figure 3-(b)",
        measured=f"C at N = {few} over C at N = {many}: {min(found):.3g} to {max(found):.3g} "
        f"({replications_of(table)})",
        verdict=verdict(holds == len(found)),
    )


def _small(table: Table, figure_4: Table) -> Claim:
    points = [table.point("control", where) for where in table.combinations()]
    calm = [where for where in figure_4.combinations() if where["loss"] == 0.0]
    points += [figure_4.point("control", where) for where in calm]
    largest = max(points, key=lambda point: point.high)
    return Claim(
        where="sections 4.2 and 6",
        says="with E = 0 the cost is smaller than 0.1 in all cases",
        measured=f"at most {largest.told(3)} in {len(points)} settings, of both networks ({replications_of(table)})",
        verdict=verdict(largest.high < 0.1),
    )


def _asked_at_once(table: Table) -> Claim:
    at_once = [where for where in table.combinations() if where["wait_us"] == 0]
    pairs = [(table.point("control", where), token_formula(where)) for where in at_once]
    needless = [table.point("requests", where) for where in at_once]
    patient = [table.point("requests", {**where, "wait_us": max(table.values("wait_us"))}) for where in at_once]
    holds = every(near(point, value) for point, value in pairs)
    because = (
        ""
        if holds
        else "P is random, so the token overtakes data that is not lost, and the formal description asks for it at "
        f"once. Waiting as long as data may travel (0.1 s), as all other experiments here do: "
        f"{max(point.mean for point in patient):.2g} requests"
    )
    return Claim(
        where="section 3.1",
        says="a node that lacks a message which the token names sends a request (C without errors is tokens alone)",
        measured=f"asking at once, E = 0: {min(p.mean for p in needless):.2g} to {max(p.mean for p in needless):.2g} "
        f"requests a broadcast for nothing; C is {ratios(pairs)} times the formula ({replications_of(table)})",
        verdict=verdict(holds, because),
        because=because,
    )


def _overtaken_listing(table: Table) -> Listing:
    rows = []
    for where in table.combinations():
        if where["wait_us"] == 0:
            patient = {**where, "wait_us": max(table.values("wait_us"))}
            rows.append(
                [str(where["sites"]), f"{where['rate']:g}", f"{where['hold_s']:g}", short(token_formula(where), 3)]
                + [table.point("control", each).told(3) for each in (where, patient)]
            )
    return Listing(
        "C at E = 0: a message that the token has overtaken",
        ["N", "A, 1/s", "T, s", "formula", "asked for at once", "asked for after 0.1 s"],
        rows,
    )


def _chart_3(table: Table, sites: int, letter: str) -> Chart:
    lines = []
    for rate in table.values("rate"):
        points = table.series("control", "hold_s", {"sites": sites, "rate": rate})
        lines.append(Line(f"A = {rate:g}/s", points))
        formula = [
            (hold_s, exact(token_formula({"sites": sites, "rate": rate, "hold_s": hold_s}))) for hold_s, _ in points
        ]
        lines.append(Line("1/(N A (T + P))", formula, formula=True))
    return Chart(
        name=f"chang-hwang-figure-3{letter}",
        title=f"Figure 3-({letter}): control messages a broadcast, N = {sites}, E = 0",
        x_label="token-owner time T, seconds",
        y_label="control messages a broadcast, C",
        lines=lines,
        note="The paper: C decreases in T, is half as large in (b) as in (a), and smaller than 0.1.",
    )
