"""Section 4.3 of Chang and Hwang: Tables 1 and 2, Figures 5 to 7, Table 3."""

from collections.abc import Mapping

from tocsin.calculations.chang_hwang_formulas import Approach
from tocsin.spark.reproduce.paper import Claim, Section, verdict
from tocsin.spark.reproduce.papers.chang_hwang_columns import (
    NUM_FORMULAS,
    P_S,
    RIVALS,
    T_S,
    TIME_FORMULAS,
    Measured,
)
from tocsin.spark.reproduce.papers.chang_hwang_drawings import (
    latency_chart,
    listing,
    num_chart,
    owner_time_chart,
    table_3,
    time_chart,
)
from tocsin.spark.reproduce.papers.chang_hwang_judging import NAMES, below, constant, counted, falls, near, ratios
from tocsin.spark.reproduce.table import Point, Table


def sections(tables: Mapping[str, Table]) -> list[Section]:
    rivals = tables["chang_hwang_rivals"]
    lan = Measured("lan", rivals, tables["chang_hwang_counter_lan"])
    mesh = Measured("mesh", rivals, tables["chang_hwang_counter_mesh"])
    return [_broadcast(lan), _point_to_point(lan, mesh, tables["chang_hwang_owner_time"])]


def _broadcast(lan: Measured) -> Section:
    return Section(
        title="Table 1, Figures 5 and 6: the five protocols on a broadcast network",
        text="T = 0.2 s (the figures do not say which), P = 0.05 s for every message, no errors; each protocol under "
        "the load of its formula: one message at a time (centralized, two-phase); every site one message in T + P "
        "(optimistic); full queues, one message a visit (fast message); Poisson with A a site (counter-based). "
        "Latency: mean time from a broadcast to its last delivery, messages one at a time.",
        claims=[
            *[_num_claim(lan, approach, "Table 1") for approach in (*RIVALS, "counter_based")],
            *[_time_claim(lan, approach) for approach in (*RIVALS, "counter_based")],
            _two_phase_is_largest(lan, "section 4.3"),
            _fewest(lan, "Figure 5", ()),
            _num_falls(lan),
            _shortest(lan),
            _time_falls(lan),
            _time_constant(lan),
            _shortest_latency(lan),
        ],
        charts=[num_chart(lan, "5", ("optimistic", "counter_based")), time_chart(lan), latency_chart(lan)],
        listings=[listing(lan, "Table 1, measured")],
    )


def _point_to_point(lan: Measured, mesh: Measured, owner_time: Table) -> Section:
    return Section(
        title="Tables 2 and 3, Figure 7: the five protocols on a point-to-point network",
        text="As above; a message to all is N - 1 messages.",
        claims=[
            *[_num_claim(mesh, approach, "Table 2") for approach in (*RIVALS, "counter_based")],
            _same_time(lan, mesh),
            _two_phase_is_largest(mesh, "section 4.3"),
            _fewest(mesh, "Figure 7", ("optimistic",)),
            _fewer_than_optimistic(mesh),
            _whatever_the_owner_time(owner_time),
        ],
        charts=[num_chart(mesh, "7", ("optimistic", "fast_message")), owner_time_chart(owner_time)],
        listings=[listing(mesh, "Table 2, measured"), table_3(mesh)],
    )


# Num and D


def _pairs(measured: Measured, metric: str, approach: Approach) -> list[tuple[Point, float]]:
    expected = measured.formula if metric == "num" else measured.time_formula
    rates = measured.rates if approach == "counter_based" else [0.0]
    return [
        (point, expected(approach, rate, sites))
        for rate in rates
        for sites, point in measured.series(metric, approach, rate)
    ]


def _replications(measured: Measured, approach: Approach) -> str:
    return counted(measured.counter if approach == "counter_based" else measured.rivals)


def _num_claim(measured: Measured, approach: Approach, where: str) -> Claim:
    pairs = _pairs(measured, "num", approach)
    fit = sum(near(point, value) for point, value in pairs)
    because = ""
    if fit < len(pairs) and approach == "fast_message" and measured.model == "mesh":
        to_next = sum(near(point, sites) for sites, point in measured.series("num", approach))
        because = (
            "the paper counts the token as sent to all; Amir et al. pass it to the next site, and so does "
            f"`totem_ring`: (N - 1) + 1 messages, which agrees in {to_next} of {len(pairs)} settings"
        )
    return Claim(
        where=where,
        says=f"{NAMES[approach]}: Num = {NUM_FORMULAS[measured.model][approach]}",
        measured=f"{ratios(pairs)} times the formula for N from {measured.sites[0]} to {measured.sites[-1]}; agrees in "
        f"{fit} of {len(pairs)} settings ({_replications(measured, approach)})",
        verdict=verdict(fit == len(pairs), because),
        because=because,
    )


def _time_claim(measured: Measured, approach: Approach) -> Claim:
    pairs = _pairs(measured, "time_us", approach)
    fit = sum(near(point, value) for point, value in pairs)
    because = ""
    if fit < len(pairs) and approach == "fast_message":
        at_once = sum(near(point, P_S * 1e6) for point, _ in pairs)
        because = (
            "nobody holds the token in `totem_ring` (nor in Amir et al.) while there is something to do. With T = 0 "
            f"the formula agrees in {at_once} of {len(pairs)} settings"
        )
    kind = "latency" if approach in ("centralized", "two_phase") else "amortised"
    return Claim(
        where="Table 1",
        says=f"{NAMES[approach]}: D = {TIME_FORMULAS[approach]}",
        measured=f"{kind}, {ratios(pairs)} times the formula; agrees in {fit} of {len(pairs)} settings "
        f"({_replications(measured, approach)})",
        verdict=verdict(fit == len(pairs), because),
        because=because,
    )


def _two_phase_is_largest(measured: Measured, where: str) -> Claim:
    two_phase = dict(measured.series("num", "two_phase"))
    relations = []
    for _, approach, rate in measured.columns():
        if approach != "two_phase":
            relations += [two_phase[sites].mean / point.mean for sites, point in measured.series("num", approach, rate)]
    return Claim(
        where=where,
        says="Num of the two-phase protocol is much larger than that of all others",
        measured=f"{min(relations):.3g} to {max(relations):.3g} times each of the others, N from {measured.sites[0]} "
        f"to {measured.sites[-1]} ({counted(measured.rivals)})",
        verdict=verdict(min(relations) > 1.25),
    )


def _won(measured: Measured, metric: str, against: Approach) -> tuple[int, int, list[int]]:
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


def _fewest(measured: Measured, where: str, besides: tuple[Approach, ...]) -> Claim:
    rivals = [approach for approach in RIVALS if approach not in besides]
    found = {approach: _won(measured, "num", approach) for approach in rivals}
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
        measured="counter-based " + ", ".join(text) + f" ({counted(measured.counter)})",
        verdict=verdict(holds),
    )


def _beaten_by(measured: Measured, winner: Approach, rivals: list[Approach]) -> tuple[int, int]:
    mine = dict(measured.series("num", winner))
    results = [below(mine[sites], point) for name in rivals for sites, point in measured.series("num", name)]
    return sum(results), len(results)


def _num_falls(measured: Measured) -> Claim:
    points = measured.points("num", "optimistic")
    return Claim(
        where="Figure 5",
        says="as N is increased, Num is decreased in the optimistic protocol",
        measured=f"{points[0].told(3)} at N = {measured.sites[0]} to {points[-1].told(3)} at N = {measured.sites[-1]} "
        f"({counted(measured.rivals)})",
        verdict=verdict(falls(points)),
    )


def _shortest(measured: Measured) -> Claim:
    found = {approach: _won(measured, "time_us", approach) for approach in RIVALS}
    holds = all(won == total for won, total, _ in found.values())
    lost = {NAMES[name]: sites for name, (_, _, sites) in found.items() if sites}
    because = ""
    if not holds:
        because = (
            "; ".join(f"not below {name} at N = {', '.join(map(str, sites))}" for name, sites in lost.items())
            + ": 2/(N A) is small only when N A is large, and the fast message protocol does not hold its token for T"
        )
    return Claim(
        where="Figure 6",
        says="the counter-based protocol requires the shortest delay D",
        measured="D as in Table 1 (amortised), counter-based: "
        + ", ".join(f"below {NAMES[name]} in {won} of {total} settings" for name, (won, total, _) in found.items())
        + f" ({counted(measured.counter)})",
        verdict=verdict(holds, because),
        because=because,
    )


def _time_falls(measured: Measured) -> Claim:
    points = measured.points("time_us", "optimistic")
    return Claim(
        where="Figure 6",
        says="as N is increased, D is decreased in the optimistic protocol",
        measured=f"{points[0].over(1e6).told(3)} s at N = {measured.sites[0]} to {points[-1].over(1e6).told(3)} s at "
        f"N = {measured.sites[-1]} ({counted(measured.rivals)})",
        verdict=verdict(falls(points)),
    )


def _time_constant(measured: Measured) -> Claim:
    names: tuple[Approach, ...] = ("fast_message", "two_phase", "centralized")
    series = {name: measured.points("time_us", name) for name in names}
    return Claim(
        where="Figure 6",
        says="the fast message, the two-phase and the centralized protocol have a constant delay",
        measured=", ".join(
            f"{NAMES[name]} {points[0].over(1e6).told(3)} s at N = {measured.sites[0]}, {points[-1].over(1e6).told(3)} "
            f"s at N = {measured.sites[-1]}"
            for name, points in series.items()
        )
        + f" ({counted(measured.rivals)})",
        verdict=verdict(all(constant(points) for points in series.values())),
    )


def _shortest_latency(measured: Measured) -> Claim:
    found = {approach: _won(measured, "latency_us", approach) for approach in RIVALS}
    holds = all(won == total for won, total, _ in found.values())
    rate, last = measured.rates[0], measured.sites[-1]
    told = {
        name: dict(measured.series("latency_us", approach, each))[last].over(1e6).told(3)
        for name, approach, each in measured.columns()
        if each in (0.0, rate)
    }
    because = (
        ""
        if holds
        else "Figure 6 compares the time a message under load of three protocols with the time that a message takes in "
        "the two others. A message takes about two cycles of N (T + P) in the counter-based protocol, whatever A is"
    )
    return Claim(
        where="section 6",
        says="the counter-based protocol needs a shorter delay to commit a broadcast message than the others",
        measured=f"latency at N = {last}, s: "
        + ", ".join(f"{name} {value}" for name, value in told.items())
        + f"; below the others in {sum(won for won, _, _ in found.values())} of "
        f"{sum(total for _, total, _ in found.values())} comparisons ({counted(measured.counter)})",
        verdict=verdict(holds, because),
        because=because,
    )


def _same_time(lan: Measured, mesh: Measured) -> Claim:
    same, total = 0, 0
    for metric in ("time_us", "latency_us"):
        for _, approach, rate in mesh.columns():
            here = dict(lan.series(metric, approach, rate))
            for sites, point in mesh.series(metric, approach, rate):
                if sites in here:
                    total += 1
                    same += near(point, here[sites].mean, here[sites].half_width)
    return Claim(
        where="section 4.3",
        says="the delay of these protocols on a point-to-point network is almost the same as on a broadcast network",
        measured=f"D and latency equal within 5 % or the intervals in {same} of {total} comparisons "
        f"({counted(mesh.rivals)})",
        verdict=verdict(same == total),
    )


# Table 3


def _fewer_than_optimistic(measured: Measured) -> Claim:
    won, total, _ = _won(measured, "num", "optimistic")
    return Claim(
        where="Table 3",
        says="the counter-based protocol requires fewer messages than the optimistic one",
        measured=f"in {won} of {total} settings, A (T + P) = "
        + " and ".join(f"{rate * (T_S + P_S):g}" for rate in measured.rates)
        + f" ({counted(measured.counter)})",
        verdict=verdict(won == total),
    )


def _whatever_the_owner_time(table: Table) -> Claim:
    fewer, more = [], []
    for hold_us, point in table.series("num", "hold_us", {"approach": "counter_based"}):
        other = table.point("num", {"approach": "optimistic", "hold_us": hold_us})
        if below(point, other):
            fewer.append(hold_us)
        elif below(other, point):
            more.append(hold_us)
    holds = len(fewer) == len(table.values("hold_us"))
    because = (
        ""
        if holds
        else "a token serves N A (T + P) messages of the counter-based protocol; the formula of the optimistic one "
        "takes N messages a token for granted, a load of A = 1/(T + P). The two change places at A (T + P) = 1"
    )

    def settings(holds_us: list[int]) -> str:
        return ", ".join(f"{10 * (hold_us / 1e6 + P_S):.3g}" for hold_us in holds_us) or "none"

    return Claim(
        where="abstract, section 6",
        says="… and needs fewer control messages than other protocols in general",
        measured=f"N = 10, A = 10/s: fewer than the optimistic one at A (T + P) of {settings(fewer)}; more at "
        f"{settings(more)} ({counted(table)})",
        verdict=verdict(holds, because),
        because=because,
    )
