"""Section 5 of Garbinato, Pedone and Schmidt: broadcasts with what was learned."""

import math

from papers.common.judging import agreeing, every, quotient, size, within
from papers.common.paper import Chart, Claim, Line, Listing, Section, verdict
from papers.common.table import Table
from papers.common.words import replications
from papers.garbinato.experiments.regular import REACH


def after_convergence(crashes: Table, losses: Table, patience: Table) -> Section:
    rows = []
    for key, table, name in (("crash", crashes, "P"), ("loss", losses, "L")):
        for where in table.combinations():
            rows.append(
                [
                    f"{name} = {where[key]:g}",
                    str(where["connectivity"]),
                    *[table.point(metric, where).told(4) for metric in ("heartbeats", "optimum", "messages")],
                    f"{1 - table.point('reach.missed', where).mean:.6f}",
                    f"{table.point('incomplete', where).mean:.2g}",
                ]
            )
    head = ["", "connectivity", "heartbeats", "optimum", "messages", "true reach", "incomplete of a run's broadcasts"]
    return Section(
        title="Definitions 1 and 2: what was learned is enough",
        text="At convergence, ten processes plan with what they have learned; the true reach of their plans is "
        "computed with the "
        "true losses, and broadcasts are made. Then the same over the number of heartbeats, at L = 0.05.",
        claims=[_complete(crashes, losses), _true_reach(crashes, losses), _to_the_optimum(patience)],
        charts=[
            Chart(
                name="garbinato-patience",
                title="Messages of a learned plan above the optimum, L = 0.05",
                x_label="heartbeats over each link",
                y_label="messages above the optimum, part",
                lines=[
                    Line(
                        f"connectivity {connectivity}",
                        patience.series("excess", "heartbeats", {"connectivity": connectivity}),
                    )
                    for connectivity in patience.values("connectivity")
                ],
                x_log=True,
            )
        ],
        listings=[Listing("At convergence", head, rows)],
    )


def _complete(crashes: Table, losses: Table) -> Claim:
    incomplete = broadcasts = 0.0
    for table in (crashes, losses):
        for where in table.combinations():
            point = table.point("incomplete", where)
            incomplete += point.mean * point.replications
            broadcasts += table.point("broadcasts", where).mean * point.replications
    expected = broadcasts * (1 - REACH)
    return Claim(
        where="section 4",
        says="after convergence all are reached with probability 0.9999",
        measured=f"{incomplete:.0f} of {broadcasts:,.0f} broadcasts with learned knowledge were incomplete, at most "
        f"{expected:.1f} are expected",
        verdict=verdict(incomplete <= expected + 3 * math.sqrt(expected) + 1),
    )


def _true_reach(crashes: Table, losses: Table) -> Claim:
    found = [
        (table.point("reach.missed", where), where) for table in (crashes, losses) for where in table.combinations()
    ]
    answers = [within(point, 0.0, 1 - REACH) for point, _ in found]
    good = agreeing(answers)
    worst, where = max(found, key=lambda pair: pair[0].mean)
    because = (
        "of many links that look alike the plan takes those that were lucky so far; the more there are to choose "
        "from, the "
        "luckier the chosen ones. It passes as evidence grows (the chart below)"
        if every(answers) is not True
        else ""
    )
    return Claim(
        where="section 4",
        says="… by arithmetic with the true losses",
        measured=f"plans of learned knowledge reach 0.9999 within the interval in {good} of {len(found)} settings; "
        "the worst "
        f"misses {worst.told(2)} instead of 0.0001 ({_setting(where)})",
        verdict=verdict(every(answers), because),
        because=because,
    )


def _setting(where: dict[str, float]) -> str:
    return ", ".join(f"{key} {value:g}" for key, value in where.items())


def _to_the_optimum(table: Table) -> Claim:
    told, answers = [], []
    for connectivity in table.values("connectivity"):
        series = table.series("excess", "heartbeats", {"connectivity": connectivity})
        first, last = series[0][1], series[-1][1]
        answers += [within(size(last), 0.0, 0.05), within(quotient(size(last), size(first)), 0.0, 1.0)]
        told.append(
            f"connectivity {connectivity}: {first.mean:+.1%} after {series[0][0]}, {last.mean:+.1%} after "
            f"{series[-1][0]}"
        )
    return Claim(
        where="section 2, Definition 2",
        says="the number of messages converges to that of the optimal algorithm",
        measured=f"messages above the optimum: {'; '.join(told)} heartbeats ({replications(series)}); plans are "
        "careful while "
        "little is known (two deviations of the belief)",
        verdict=verdict(every(answers)),
    )
