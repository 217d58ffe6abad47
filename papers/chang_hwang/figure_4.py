"""Figure 4 of Chang and Hwang: control messages of the counter-based protocol with errors, on both networks."""

import math
from collections.abc import Sequence
from typing import Any

from papers.chang_hwang.figure_3 import one_token, token_formula
from papers.chang_hwang.formulas import Model, requests
from papers.chang_hwang.words import MODELS, ratios, widest
from papers.common.judging import Range, agreeing, below, every, near, quotient, rises, within
from papers.common.paper import Chart, Claim, Line, Listing, Section, exact, verdict
from papers.common.table import Point, Table, short
from papers.common.words import replications_of

TURNS_MIN = 10  # fewer tokens in a run say nothing about how many more there are with errors


def figure_4(table: Table, alone: Table) -> Section:
    largest = max(table.values("sites"))
    charts = [_chart_4(table, "lan", largest, "a"), _chart_4(table, "mesh", largest, "b"), _chart_sites(table)]
    return Section(
        title="Figure 4: control messages with errors",
        text="Every copy of every message, tokens and requests too, is lost with probability E. A request counts as "
        "one message on both networks, as in the paper's formula; requests are counted until everything is committed.",
        claims=[
            _requests(table, alone),
            _token_term(table),
            _rising_with_errors(table),
            _rising_with_sites(table),
            _dominating(table),
            _proportional(table),
            _point_to_point(table),
            _alike(table),
            _one_message_a_request(table),
        ],
        charts=charts,
        listings=[_requests_listing(alone)],
    )


def _with_errors(table: Table, model: str | None = None) -> list[dict[str, Any]]:
    return [
        where for where in table.combinations() if where["loss"] > 0.0 and (model is None or where["model"] == model)
    ]


def _requests(table: Table, alone: Table) -> Claim:
    pairs = [(table.point("requests", where), requests(where["sites"], where["loss"])) for where in _with_errors(table)]
    answers = [near(point, value) for point, value in pairs]
    fit = agreeing(answers)
    few, many = min(alone.values("sites")), max(alone.values("sites"))
    worst = max(alone.values("loss"))

    def relation(sites: int) -> str:
        point = alone.point("requests", {"sites": sites, "loss": worst})
        return point.over(requests(sites, worst)).told(3)

    because = (
        ""
        if fit == len(pairs)
        else "the formula leaves out that a request or its answer is lost as well (more requests), and that the answer "
        f"is broadcast, so that it also serves others who have not asked yet (fewer). With E = {worst:g} and nobody "
        f"else to serve, N = {few}: {relation(few)} times the formula; N = {many}: {relation(many)} times"
    )
    return Claim(
        where="section 4.1",
        says="with errors there are (N - 1) E / (1 - E) requests a broadcast",
        measured=f"{ratios(pairs)} times the formula; within the interval or 5 % in {fit} of {len(pairs)} settings "
        f"({replications_of(table)}, {widest([point for point, _ in pairs])})",
        verdict=verdict(every(answers), because),
        because=because,
    )


def _token_term(table: Table) -> Claim:
    cells = [where for where in _with_errors(table) if table.point("turns", where).mean >= TURNS_MIN]
    pairs = [(table.point("tokens", where), token_formula(where, where["model"], where["loss"])) for where in cells]
    answers = [
        near(point, value, slack=one_token(table, where)) for where, (point, value) in zip(cells, pairs, strict=True)
    ]
    fit = agreeing(answers)
    worst = max(table.values("loss"))
    lossy = [where for where in cells if where["loss"] == worst]
    growth = {
        metric: [table.point(metric, where).mean / table.point(metric, {**where, "loss": 0.0}).mean for where in lossy]
        for metric in ("turns", "tokens")
    }
    alone, answered = (f"{min(parts):.3g} to {max(parts):.3g}" for parts in growth.values())
    because = (
        ""
        if fit == len(cells)
        else "a token is sent again when the next owner has not got it, and also when its sender has not heard the "
        f"next owner pass it on, which is then answered; and the wait lets more messages in. With E = {worst:g}: "
        f"{alone} times as many tokens as without errors, {answered} with the answers; the formula has "
        f"{1 / (1 - worst):.3g}"
    )
    return Claim(
        where="section 4.1",
        says="with errors the tokens are 1 / (1 - E) times as many",
        measured=f"{ratios(pairs)} times the formula; agrees in {fit} of {len(cells)} settings with {TURNS_MIN} "
        f"tokens or more ({replications_of(table)})",
        verdict=verdict(every(answers), because),
        because=because,
    )


def _rising_with_errors(table: Table) -> Claim:
    series = [
        [point for _, point in table.series("control", "loss", {k: v for k, v in where.items() if k != "loss"})]
        for where in table.combinations()
        if where["loss"] == 0.0
    ]
    found = sum(rises(points) for points in series)
    return Claim(
        where="sections 4.1, 4.2, 6; Figure 4",
        says="as E increases, C increases",
        measured=f"C rises by its intervals in {found} of {len(series)} series over E ({replications_of(table)})",
        verdict=verdict(found == len(series)),
    )


def _rising_with_sites(table: Table) -> Claim:
    few, many = min(table.values("sites")), max(table.values("sites"))
    cells = [where for where in _with_errors(table) if where["sites"] == few]
    found = sum(
        below(table.point("control", where), table.point("control", {**where, "sites": many})) for where in cells
    )
    return Claim(
        where="sections 4.1, 4.2, 6; Figure 4",
        says="with errors, as N increases, C increases",
        measured=f"C at N = {many} above C at N = {few} in {found} of {len(cells)} settings ({replications_of(table)})",
        verdict=verdict(found == len(cells)),
    )


def _dominating(table: Table) -> Claim:
    cells = _with_errors(table)
    parts = [table.point("requests", where).mean / table.point("control", where).mean for where in cells]
    least = cells[parts.index(min(parts))]
    ranges = [quotient(table.point("requests", where), table.point("control", where)) for where in cells]
    return Claim(
        where="sections 4.1 and 6",
        says="with errors, requests dominate C",
        measured=f"{100 * min(parts):.3g} to {100 * max(parts):.3g} % of C; least on a {MODELS[least['model']]} with "
        f"N = {least['sites']}, T = {least['hold_s']:g}, E = {least['loss']:g} ({replications_of(table)})",
        verdict=verdict(every(within(each, 0.5, math.inf) for each in ranges)),
    )


def _proportional(table: Table) -> Claim:
    spreads = []
    for where in table.combinations():
        if where["loss"] == 0.0:
            series = table.series("requests", "loss", {k: v for k, v in where.items() if k != "loss"})
            each = [point.over(loss) for loss, point in series if loss > 0.0]
            spreads.append(_spread(each))
    return Claim(
        where="section 4.2, Figure 4",
        says="the number of requests is proportional to E",
        measured="requests over E differ within a series by a factor of at most "
        f"{max(each.low for each in spreads):.3g} to {max(each.high for each in spreads):.3g} by the intervals, "
        f"where E / (1 - E) has {1 / (1 - max(table.values('loss'))):.3g} ({replications_of(table)})",
        verdict=verdict(every(within(each, 0.0, 1.25) for each in spreads)),
    )


def _point_to_point(table: Table) -> Claim:
    cells = [where for where in table.combinations() if where["loss"] == 0.0 and where["model"] == "mesh"]
    pairs = [(table.point("control", where), token_formula(where, "mesh")) for where in cells]
    answers = [
        near(point, value, slack=one_token(table, where)) for where, (point, value) in zip(cells, pairs, strict=True)
    ]
    fit = agreeing(answers)
    return Claim(
        where="section 4.1",
        says="without failures C = (N - 1) exp(A, N) / (N (T + P)), on a point-to-point network",
        measured=f"{ratios(pairs)} times the formula; agrees in {fit} of {len(cells)} settings "
        f"({replications_of(table)})",
        verdict=verdict(every(answers)),
    )


def _spread(points: Sequence[Point]) -> Range:
    """How many times the smallest the largest is, at least and at most."""
    found = [quotient(one, other) for one in points for other in points if one != other]
    return Range(max([1.0, *[each.low for each in found]]), max([1.0, *[each.high for each in found]]))


def _relations(table: Table, loss: float) -> list[Range]:
    return [
        quotient(table.point("control", {**where, "model": "mesh"}), table.point("control", where))
        for where in _with_errors(table, "lan")
        if where["loss"] == loss
    ]


def _alike(table: Table) -> Claim:
    losses = [loss for loss in table.values("loss") if loss > 0.0]
    relations = {loss: _relations(table, loss) for loss in losses}
    holds = every(within(each, 0.0, 1.1) for found in relations.values() for each in found)
    because = (
        ""
        if holds
        else "a token is N - 1 messages there, about 1 / (A (T + P)) a broadcast; that is little only where E is much "
        "larger than 1 / (N A (T + P)), so with the larger error rates"
    )
    return Claim(
        where="section 4.2, Figure 4",
        says="given the same N, the cost on a broadcast network is almost that on a point-to-point network",
        measured="C point-to-point over C broadcast, the largest of the settings: "
        + ", ".join(f"{max(each.high for each in found):.3g} at E = {loss:g}" for loss, found in relations.items())
        + ", by the intervals"
        + f" ({replications_of(table)})",
        verdict=verdict(holds, because),
        because=because,
    )


def _one_message_a_request(table: Table) -> Claim:
    cells = _with_errors(table, "mesh")
    pairs = [
        (
            table.point("control.sent", where),
            token_formula(where, "mesh", where["loss"]) + requests(where["sites"], where["loss"]),
        )
        for where in cells
    ]
    holds = every(within(point, 0.0, 1.5 * value) for point, value in pairs)
    because = (
        ""
        if holds
        else "section 2.3 broadcasts the request, and without multicast a broadcast is N - 1 messages; the formula "
        "counts one. Counted as one, it is as in the other lines"
    )
    return Claim(
        where="section 4.1",
        says="on a point-to-point network with errors C = (N - 1) exp(A, N) / (N (T + P) (1 - E)) + (N - 1) E / (1 - "
        "E)",
        measured=f"all control messages sent are {ratios(pairs)} times the formula ({replications_of(table)})",
        verdict=verdict(holds, because),
        because=because,
    )


def _chart_4(table: Table, model: Model, sites: int, letter: str) -> Chart:
    lines = []
    for rate in table.values("rate"):
        for hold_s in table.values("hold_s"):
            where = {"model": model, "sites": sites, "rate": rate, "hold_s": hold_s}
            lines.append(Line(f"{rate:g} - {hold_s:g}", table.series("control", "loss", where)))
            if len(lines) == 1:
                lines.append(Line("formula", _formula_line(table, where), formula=True))
    return Chart(
        name=f"chang-hwang-figure-4{letter}",
        title=f"Figure 4-({letter}): control messages a broadcast, N = {sites}, {MODELS[model]}",
        x_label="error rate E",
        y_label="control messages a broadcast, C",
        lines=lines,
        note="Legend as in the paper: arrival rate (A) - token owner time (T); the formula is that of the first line.",
    )


def _formula_line(table: Table, where: dict[str, Any]) -> list[tuple[float, Point]]:
    return [
        (loss, exact(token_formula(where, where["model"], loss) + requests(where["sites"], loss)))
        for loss in table.values("loss")
    ]


def _chart_sites(table: Table) -> Chart:
    lines = []
    base = {"rate": min(table.values("rate")), "hold_s": min(table.values("hold_s"))}
    for sites in table.values("sites"):
        for model, name in MODELS.items():
            where = {"model": model, "sites": sites, **base}
            lines.append(Line(f"N = {sites}, {name}", table.series("control", "loss", where)))
        lines.append(Line(f"formula, N = {sites}", _formula_line(table, where), formula=True))
    return Chart(
        name="chang-hwang-figure-4-sites",
        title=f"Control messages a broadcast with errors, A = {base['rate']:g}/s, T = {base['hold_s']:g} s",
        x_label="error rate E",
        y_label="control messages a broadcast, C",
        lines=lines,
        note="The paper: C increases in E and in N, and is almost the same on both networks.",
    )


def _requests_listing(table: Table) -> Listing:
    rows = []
    for loss in table.values("loss"):
        for sites in table.values("sites"):
            point = table.point("requests", {"sites": sites, "loss": loss})
            formula = requests(sites, loss)
            rows.append([f"{loss:g}", str(sites), point.told(3), short(formula, 3), point.over(formula).told(3)])
    return Listing(
        "Requests a broadcast over N, broadcast network, A = 10/s, T = 1 s",
        ["E", "N", "measured", "(N - 1) E / (1 - E)", "ratio"],
        rows,
        note="N = 2: nobody else is served by an answer, and lost requests and answers show.",
    )
