"""Table 1, Figures 5 and 6 of Chang and Hwang: the five protocols on a broadcast network."""

from papers.chang_hwang.columns import RIVALS, TIME_FORMULAS, Measured
from papers.chang_hwang.comparing import fewest, formula_pairs, num_claim, settings_won, two_phase_is_largest
from papers.chang_hwang.drawings import latency_chart, listing, num_chart, time_chart
from papers.chang_hwang.formulas import P_S, Approach
from papers.chang_hwang.words import NAMES, ratios
from papers.common.judging import agreeing, constant, every, falls, near
from papers.common.paper import Claim, Section, verdict
from papers.common.words import replications_of


def broadcast(lan: Measured) -> Section:
    return Section(
        title="Table 1, Figures 5 and 6: the five protocols on a broadcast network",
        text="T = 0.2 s (the figures do not say which), P = 0.05 s for every message, no errors; each protocol under "
        "the load of its formula: one message at a time (centralized, two-phase); every site one message in T + P "
        "(optimistic); full queues, one message a visit (fast message); Poisson with A a site (counter-based). "
        "Latency: mean time from a broadcast to its last delivery, messages one at a time.",
        claims=[
            *[num_claim(lan, approach, "Table 1") for approach in (*RIVALS, "counter_based")],
            *[_time_claim(lan, approach) for approach in (*RIVALS, "counter_based")],
            two_phase_is_largest(lan, "section 4.3"),
            fewest(lan, "Figure 5", ()),
            _num_falls(lan),
            _shortest(lan),
            _time_falls(lan),
            _time_constant(lan),
            _shortest_latency(lan),
        ],
        charts=[num_chart(lan, "5", ("optimistic", "counter_based")), time_chart(lan), latency_chart(lan)],
        listings=[listing(lan, "Table 1, measured")],
    )


def _time_claim(measured: Measured, approach: Approach) -> Claim:
    pairs = formula_pairs(measured, "time_us", approach)
    answers = [near(point, value) for point, value in pairs]
    fit = agreeing(answers)
    because = ""
    if fit < len(pairs) and approach == "fast_message":
        at_once = agreeing(near(point, P_S * 1e6) for point, _ in pairs)
        because = (
            "nobody holds the token in `totem_ring` (nor in Amir et al.) while there is something to do. With T = 0 "
            f"the formula agrees in {at_once} of {len(pairs)} settings"
        )
    kind = "latency" if approach in ("centralized", "two_phase") else "amortised"
    return Claim(
        where="Table 1",
        says=f"{NAMES[approach]}: D = {TIME_FORMULAS[approach]}",
        measured=f"{kind}, {ratios(pairs)} times the formula; agrees in {fit} of {len(pairs)} settings "
        f"({measured.replications(approach)})",
        verdict=verdict(every(answers), because),
        because=because,
    )


def _num_falls(measured: Measured) -> Claim:
    points = measured.points("num", "optimistic")
    return Claim(
        where="Figure 5",
        says="as N is increased, Num is decreased in the optimistic protocol",
        measured=f"{points[0].told(3)} at N = {measured.sites[0]} to {points[-1].told(3)} at N = {measured.sites[-1]} "
        f"({replications_of(measured.rivals)})",
        verdict=verdict(falls(points)),
    )


def _shortest(measured: Measured) -> Claim:
    found = {approach: settings_won(measured, "time_us", approach) for approach in RIVALS}
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
        + f" ({replications_of(measured.counter)})",
        verdict=verdict(holds, because),
        because=because,
    )


def _time_falls(measured: Measured) -> Claim:
    points = measured.points("time_us", "optimistic")
    return Claim(
        where="Figure 6",
        says="as N is increased, D is decreased in the optimistic protocol",
        measured=f"{points[0].over(1e6).told(3)} s at N = {measured.sites[0]} to {points[-1].over(1e6).told(3)} s at "
        f"N = {measured.sites[-1]} ({replications_of(measured.rivals)})",
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
        + f" ({replications_of(measured.rivals)})",
        verdict=verdict(every(constant(points) for points in series.values())),
    )


def _shortest_latency(measured: Measured) -> Claim:
    found = {approach: settings_won(measured, "latency_us", approach) for approach in RIVALS}
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
        f"{sum(total for _, total, _ in found.values())} comparisons ({replications_of(measured.counter)})",
        verdict=verdict(holds, because),
        because=because,
    )
