"""Section 4.1 of Chang and Hwang on D: amortised, as the formula has it, and as the time that a message takes."""

from typing import Any

from papers.chang_hwang.formulas import delay
from papers.chang_hwang.words import ratios, widest
from papers.common.judging import agreeing, alike, below, constant, every, near, rises
from papers.common.paper import Chart, Claim, Line, Section, exact, verdict
from papers.common.table import Table
from papers.common.words import replications_of

BECAUSE = (
    "the formula is two cycles divided by the messages of one cycle: time a message under load, not the time that a "
    "message takes, which is what the paper defines as D"
)


def delays(table: Table, commit: Table, figure_4: Table) -> Section:
    return Section(
        title="Section 4.1: the delay D",
        text="Amortised: twice the time a committed message, between the first and the last commit of whole cycles "
        "under load (where a run is long enough for two of them). Latency: from a broadcast to its last delivery, "
        "mean.",
        claims=[
            _formula(table),
            _over_hold(table),
            _over_rate(table),
            _over_sites(table),
            _both_networks(figure_4),
            _latency_formula(table),
            _latency_hold(table),
            _latency_sites(table),
            _second_cycle(commit),
        ],
        charts=[_chart(table)],
    )


def _expected(where: dict[str, Any]) -> float:
    return delay("counter_based", where["sites"], where["rate"], where["hold_s"], 0.05)


def _measured(table: Table) -> list[dict[str, Any]]:
    """Where every run was long enough."""
    return [
        where
        for where in table.combinations()
        if table.has("amortised_s", where)
        and table.point("amortised_s", where).replications == table.point("latency_s", where).replications
    ]


def _formula(table: Table) -> Claim:
    cells = _measured(table)
    pairs = [(table.point("amortised_s", where), _expected(where)) for where in cells]
    answers = [near(point, value) for point, value in pairs]
    fit = agreeing(answers)
    return Claim(
        where="section 4.1, Table 1",
        says="D = 2 exp(A, N) / N",
        measured=f"amortised, {ratios(pairs)} times the formula; agrees in {fit} of {len(cells)} settings "
        f"({replications_of(table)}, {widest([point for point, _ in pairs])})",
        verdict=verdict(every(answers) if answers else False),
    )


def _over_hold(table: Table) -> Claim:
    where = {"sites": min(table.values("sites")), "rate": min(table.values("rate"))}
    points = [table.point("amortised_s", each) for each in _measured(table) if where.items() <= each.items()]
    return Claim(
        where="sections 4.1 and 6",
        says="D is the same no matter how T is changed",
        measured=f"amortised, N = {where['sites']}, A = {where['rate']:g}/s: "
        + ", ".join(f"{point.told(3)} s" for point in points)
        + f" for T of {min(table.values('hold_s')):g} to {max(table.values('hold_s')):g} s ({replications_of(table)})",
        verdict=verdict(constant(points)),
    )


def _over_rate(table: Table) -> Claim:
    slow, fast = min(table.values("rate")), max(table.values("rate"))
    cells = [where for where in _measured(table) if where["rate"] == fast]
    found = sum(
        below(table.point("amortised_s", where), table.point("amortised_s", {**where, "rate": slow})) for where in cells
    )
    return Claim(
        where="section 4.1",
        says="a higher arrival rate needs a smaller D",
        measured=f"amortised, A = {fast:g} below A = {slow:g} in {found} of {len(cells)} settings "
        f"({replications_of(table)})",
        verdict=verdict(found == len(cells) and found > 0),
    )


def _over_sites(table: Table) -> Claim:
    few, many = min(table.values("sites")), max(table.values("sites"))
    cells = [where for where in _measured(table) if where["sites"] == many]
    found = sum(
        below(table.point("amortised_s", where), table.point("amortised_s", {**where, "sites": few})) for where in cells
    )
    return Claim(
        where="sections 4.1 and 6",
        says="as N increases, D decreases",
        measured=f"amortised, N = {many} below N = {few} in {found} of {len(cells)} settings "
        f"({replications_of(table)})",
        verdict=verdict(found == len(cells) and found > 0),
    )


def _both_networks(table: Table) -> Claim:
    cells = [where for where in table.combinations() if where["loss"] == 0.0 and where["model"] == "lan"]
    pairs = [(table.point("latency_s", {**where, "model": "mesh"}), table.point("latency_s", where)) for where in cells]
    answers = [alike(mesh, lan) for mesh, lan in pairs]
    fit = agreeing(answers)
    return Claim(
        where="section 4.1",
        says="D on a point-to-point network is the same as on a broadcast network",
        measured=f"latency there over latency here: {ratios([(mesh, lan.mean) for mesh, lan in pairs])}; equal within "
        f"5 % or the intervals in {fit} of {len(pairs)} settings ({replications_of(table)})",
        verdict=verdict(every(answers)),
    )


def _latency_formula(table: Table) -> Claim:
    cells = table.combinations()
    pairs = [(table.point("latency_s", where), _expected(where)) for where in cells]
    answers = [near(point, value) for point, value in pairs]
    fit = agreeing(answers)
    cycles = [table.point("latency.cycles", where).mean for where in cells]
    because = "" if fit == len(cells) else BECAUSE
    return Claim(
        where="section 4.1",
        says="D, the time from the broadcast until all nodes can deliver, is 2 exp(A, N) / N",
        measured=f"latency is {ratios(pairs)} times the formula: {min(cycles):.3g} to {max(cycles):.3g} cycles of "
        f"N (T + P) ({replications_of(table)})",
        verdict=verdict(every(answers), because),
        because=because,
    )


def _latency_hold(table: Table) -> Claim:
    where = {"sites": min(table.values("sites")), "rate": min(table.values("rate"))}
    points = [point for _, point in table.series("latency_s", "hold_s", where)]
    same = constant(points)
    because = "" if same else f"{BECAUSE}; a cycle is as long as T makes it"
    return Claim(
        where="sections 4.1 and 6",
        says="the delay to commit a message is the same no matter how T is changed",
        measured=f"latency, N = {where['sites']}, A = {where['rate']:g}/s: {points[0].told(3)} s to "
        f"{points[-1].told(3)} s, {'rising' if rises(points) else 'not rising'} in T ({replications_of(table)})",
        verdict=verdict(same, because),
        because=because,
    )


def _latency_sites(table: Table) -> Claim:
    few, many = min(table.values("sites")), max(table.values("sites"))
    cells = [where for where in table.combinations() if where["sites"] == few]
    found = sum(
        below(table.point("latency_s", {**where, "sites": many}), table.point("latency_s", where)) for where in cells
    )
    relations = [
        table.point("latency_s", {**where, "sites": many}).mean / table.point("latency_s", where).mean
        for where in cells
    ]
    because = "" if found == len(cells) else f"{BECAUSE}; a cycle has N turns"
    return Claim(
        where="section 6",
        says="as the number of nodes is increased, the delay to commit a message is decreased",
        measured=f"latency at N = {many} is {min(relations):.3g} to {max(relations):.3g} times that at N = {few}; "
        f"below it in {found} of {len(cells)} settings ({replications_of(table)})",
        verdict=verdict(found == len(cells), because),
        because=because,
    )


def _longest(table: Table, commit: str) -> list[float]:
    return [table.point("longest.cycles", {"commit": commit, "sites": sites}).high for sites in table.values("sites")]


def _second_cycle(table: Table) -> Claim:
    whole, single = _longest(table, "cycle"), _longest(table, "entry")
    holds = max(whole) <= 2.0
    because = (
        ""
        if holds
        else "a message sent just after its sender's turn waits a cycle to be announced, and its cycle is complete "
        "only when its last entry has gone round, up to a third cycle (Figure 2 shows it). Committed entry by entry, "
        f"which the order allows, the longest takes {max(single):.3g} cycles"
    )
    return Claim(
        where="section 4.1",
        says="messages broadcast in one cycle are committed at the end of the second",
        measured=f"by whole cycles, the slowest message takes {min(whole):.3g} to {max(whole):.3g} cycles "
        f"({replications_of(table)})",
        verdict=verdict(holds, because),
        because=because,
    )


def _chart(table: Table) -> Chart:
    rate = min(table.values("rate"))
    lines = []
    for sites in table.values("sites"):
        where = {"sites": sites, "rate": rate}
        lines.append(Line(f"latency, N = {sites}", table.series("latency_s", "hold_s", where)))
    for sites in table.values("sites"):
        where = {"sites": sites, "rate": rate}
        points = table.series("amortised_s", "hold_s", where)
        if points:
            lines.append(Line(f"amortised, N = {sites}", points))
            formula = [(hold_s, exact(_expected({**where, "hold_s": hold_s}))) for hold_s in table.values("hold_s")]
            lines.append(Line(f"2/(N A), N = {sites}", formula, formula=True))
    return Chart(
        name="chang-hwang-delay",
        title=f"The two readings of D, A = {rate:g}/s, E = 0",
        x_label="token-owner time T, seconds",
        y_label="seconds",
        lines=lines,
        y_log=True,
        note="The paper: D is the same for every T, and decreases in N.",
    )
