"""Figures 5 to 7 of Chang and Hwang, and their Tables 1 to 3 in numbers."""

from typing import Any

from papers.chang_hwang.columns import TIME_FORMULAS, Measured
from papers.chang_hwang.formulas import P_S, Approach, num
from papers.chang_hwang.words import NAMES
from papers.common.paper import Chart, Line, Listing, exact
from papers.common.table import Point, Table, short


def num_chart(measured: Measured, figure: str, formulas: tuple[Approach, ...]) -> Chart:
    lines = []
    for name, approach, rate in measured.columns():
        if approach == "two_phase":
            continue  # as in the paper: much larger than all others
        points = measured.series("num", approach, rate)
        lines.append(Line(name, points))
        if approach in formulas:
            line = [(sites, exact(measured.formula(approach, rate, sites))) for sites, _ in points]
            lines.append(Line("formula", line, formula=True))
    return Chart(
        name=f"chang-hwang-figure-{figure}",
        title=f"Figure {figure}: messages a broadcast",
        x_label="nodes N",
        y_label="messages a broadcast, Num",
        lines=lines,
        note="T = 0.2 s, P = 0.05 s. The two-phase protocol is in the table below, as in the paper.",
    )


def time_chart(measured: Measured) -> Chart:
    lines = []
    for name, approach, rate in measured.columns():
        points = [(sites, point.over(1e6)) for sites, point in measured.series("time_us", approach, rate)]
        lines.append(Line(name, points))
        if approach in ("optimistic", "fast_message"):
            formula = [(sites, exact(measured.time_formula(approach, rate, sites) / 1e6)) for sites in measured.sites]
            lines.append(Line(f"formula {TIME_FORMULAS[approach]}", formula, formula=True))
    return Chart(
        name="chang-hwang-figure-6",
        title="Figure 6: D as in Table 1",
        x_label="nodes N",
        y_label="D, seconds",
        lines=lines,
        y_log=True,
        note="Amortised for the optimistic, the fast message and the counter-based protocol; T = 0.2 s, P = 0.05 s.",
    )


def latency_chart(measured: Measured) -> Chart:
    lines = [
        Line(name, [(sites, point.over(1e6)) for sites, point in measured.series("latency_us", approach, rate)])
        for name, approach, rate in measured.columns()
        if rate in (0.0, measured.rates[0])
    ]
    return Chart(
        name="chang-hwang-latency",
        title="What a message takes: broadcast to last delivery",
        x_label="nodes N",
        y_label="latency, seconds, mean",
        lines=lines,
        y_log=True,
        note="One message at a time; T = 0.2 s, P = 0.05 s. The optimistic protocol delivers on receipt and may roll "
        "back.",
    )


def owner_time_chart(table: Table) -> Chart:
    lines = []
    for approach in ("optimistic", "counter_based"):
        series = table.series("num", "hold_us", {"approach": approach})
        lines.append(Line(NAMES[approach], [(10 * (hold_us / 1e6 + P_S), point) for hold_us, point in series]))
    formula = [
        (10 * (hold_us / 1e6 + P_S), exact(num("counter_based", "mesh", 10, 10.0, hold_us / 1e6, P_S)))
        for hold_us in table.values("hold_us")
    ]
    lines.append(Line("formula, counter-based", formula, formula=True))
    return Chart(
        name="chang-hwang-owner-time",
        title="Where the order of Table 3 turns: N = 10, A = 10/s, point-to-point",
        x_label="A (T + P): messages of a site in a turn of the token",
        y_label="messages a broadcast, Num",
        lines=lines,
        x_log=True,
    )


def listing(measured: Measured, title: str) -> Listing:
    rows = []
    chosen = [sites for sites in measured.sites if sites in (5, 10, 20, 50)]
    for name, approach, rate in measured.columns():
        numbers: dict[str, dict[int, Point]] = {
            metric: dict(measured.series(metric, approach, rate)) for metric in ("num", "all", "time_us", "latency_us")
        }
        for sites in chosen:
            time = numbers["time_us"].get(sites)
            rows.append(
                [
                    name,
                    str(sites),
                    numbers["num"][sites].told(4),
                    short(measured.formula(approach, rate, sites), 4),
                    numbers["all"][sites].told(4),
                    time.over(1e6).told(3) if time else "",
                    short(measured.time_formula(approach, rate, sites) / 1e6, 3),
                    numbers["latency_us"][sites].over(1e6).told(3),
                ]
            )
    head = ["approach", "N", "Num", "formula", "all sent", "D, s", "formula, s", "latency, s"]
    note = "All sent: also how `sequencer` learns what it may forget, and the tokens after the last broadcast."
    return Listing(title, head, rows, note=note)


def table_3(measured: Measured) -> Listing:
    optimistic: dict[int, Point] = dict(measured.series("num", "optimistic"))
    columns: list[dict[Any, Point]] = [dict(measured.series("num", "counter_based", rate)) for rate in measured.rates]
    rows = [
        [str(sites), optimistic[sites].told(4), *[column[sites].told(4) for column in columns]]
        for sites in measured.sites
    ]
    head = ["N", "optimistic", *[f"counter-based, A = {rate:g}" for rate in measured.rates]]
    return Listing("Table 3, measured: Num on a point-to-point network", head, rows)
