"""Tables 2 and 3, Figure 7 of Chang and Hwang: the five protocols on a point-to-point network."""

from papers.chang_hwang.columns import RIVALS, T_S, Measured
from papers.chang_hwang.comparing import fewest, num_claim, settings_won, two_phase_is_largest
from papers.chang_hwang.drawings import listing, num_chart, owner_time_chart, table_3
from papers.chang_hwang.formulas import P_S
from papers.common.judging import agreeing, alike, below, every
from papers.common.paper import Claim, Section, verdict
from papers.common.table import Table
from papers.common.words import replications_of


def point_to_point(lan: Measured, mesh: Measured, owner_time: Table) -> Section:
    return Section(
        title="Tables 2 and 3, Figure 7: the five protocols on a point-to-point network",
        text="As above; a message to all is N - 1 messages.",
        claims=[
            *[num_claim(mesh, approach, "Table 2") for approach in (*RIVALS, "counter_based")],
            _same_time(lan, mesh),
            two_phase_is_largest(mesh, "section 4.3"),
            fewest(mesh, "Figure 7", ("optimistic",)),
            _fewer_than_optimistic(mesh),
            _whatever_the_owner_time(owner_time),
        ],
        charts=[num_chart(mesh, "7", ("optimistic", "fast_message")), owner_time_chart(owner_time)],
        listings=[listing(mesh, "Table 2, measured"), table_3(mesh)],
    )


def _same_time(lan: Measured, mesh: Measured) -> Claim:
    answers = []
    for metric in ("time_us", "latency_us"):
        for _, approach, rate in mesh.columns():
            here = dict(lan.series(metric, approach, rate))
            for sites, point in mesh.series(metric, approach, rate):
                if sites in here:
                    answers.append(alike(point, here[sites]))
    return Claim(
        where="section 4.3",
        says="the delay of these protocols on a point-to-point network is almost the same as on a broadcast network",
        measured=f"D and latency equal within 5 % in {agreeing(answers)} of {len(answers)} comparisons "
        f"({replications_of(mesh.rivals)})",
        verdict=verdict(every(answers)),
    )


def _fewer_than_optimistic(measured: Measured) -> Claim:
    won, total, _ = settings_won(measured, "num", "optimistic")
    return Claim(
        where="Table 3",
        says="the counter-based protocol requires fewer messages than the optimistic one",
        measured=f"in {won} of {total} settings, A (T + P) = "
        + " and ".join(f"{rate * (T_S + P_S):g}" for rate in measured.rates)
        + f" ({replications_of(measured.counter)})",
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
        f"{settings(more)} ({replications_of(table)})",
        verdict=verdict(holds, because),
        because=because,
    )
