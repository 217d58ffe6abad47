"""Section 4.3 of Chang and Hwang in words: all protocols under one load, with errors and without."""

from papers.chang_hwang.repair import repair_listing, slow_repair, two_cycles
from papers.chang_hwang.words import NAMES
from papers.common.judging import agreeing, alike, below, every, near
from papers.common.paper import Chart, Claim, Line, Listing, Section, verdict
from papers.common.table import Point, Table
from papers.common.words import replications_of

RATE = 10.0
APPROACHES = ("centralized", "two_phase", "optimistic", "fast_message", "totem", "counter_based")


def errors(table: Table, repair: Table) -> Section:
    return Section(
        title="Section 4.3: one load for all, with errors and without",
        text="Broadcast network; Poisson with A = 10/s at every site, T = 1 s, P = 0.05 s for every message; every "
        "copy is lost with probability E. Num counts everything that carries, orders, acknowledges or repairs a "
        "broadcast. The fast message protocol is measured twice: with one message a visit of the token, as the paper "
        "has it, and with up to 50, as Amir et al. have it.",
        claims=[
            _delivered(table),
            _larger_with_errors(table),
            _requests_alike(table),
            _fewest_with_errors(table),
            _fewest_without_errors(table),
            _rollbacks(table),
            _rollback_requests(table),
            slow_repair(repair),
            two_cycles(repair),
            _throughput(table),
            _amortised(table),
        ],
        charts=[_chart(table, sites) for sites in table.values("sites")],
        listings=[_listing(table), repair_listing(repair)],
    )


def _point(table: Table, metric: str, approach: str, sites: int, loss: float) -> Point:
    return table.point(metric, {"approach": approach, "sites": sites, "loss": loss})


def _settings(table: Table, with_errors: bool) -> list[tuple[int, float]]:
    return [
        (sites, loss) for sites in table.values("sites") for loss in table.values("loss") if (loss > 0.0) == with_errors
    ]


def _below_all(table: Table, rivals: tuple[str, ...], with_errors: bool) -> tuple[bool, str, list[str]]:
    """Whether the counter-based Num lies below that of all rivals; where it does, in words; and who is below it."""
    text, better, holds = [], [], True
    settings = _settings(table, with_errors)
    for approach in rivals:
        pairs = [
            (_point(table, "num", "counter_based", *each), _point(table, "num", approach, *each)) for each in settings
        ]
        won = sum(below(ours, theirs) for ours, theirs in pairs)
        text.append(f"below {NAMES[approach]} in {won} of {len(settings)}")
        holds = holds and won == len(settings)
        if any(below(theirs, ours) for ours, theirs in pairs):
            better.append(approach)
    return holds, ", ".join(text), better


def _last(table: Table, approach: str, metric: str = "num") -> str:
    """At the largest N and E."""
    return _point(table, metric, approach, max(table.values("sites")), max(table.values("loss"))).told(3)


def _delivered(table: Table) -> Claim:
    rows = [row for row in table.rows if row.metric == "undelivered"]
    whole = sum(row.low == row.high == 0.0 for row in rows)
    return Claim(
        where="abstract, section 2.1",
        says="all of the receivers receive all broadcast messages (and so do those of the other four protocols)",
        measured=f"nothing is missing anywhere at the end in {whole} of {len(rows)} settings, with E up to "
        f"{max(table.values('loss')):g} ({replications_of(table)})",
        verdict=verdict(whole == len(rows)),
    )


def _larger_with_errors(table: Table) -> Claim:
    holds, text, _ = _below_all(table, ("centralized", "two_phase"), True)
    return Claim(
        where="section 4.3",
        says="when errors occur, Num of the centralized and the two-phase protocol is larger than that of ours",
        measured=f"Num of the counter-based protocol lies {text} settings ({replications_of(table)})",
        verdict=verdict(holds),
    )


def _requests_alike(table: Table) -> Claim:
    rivals = ("centralized", "two_phase")
    settings = _settings(table, True)
    answers = [
        alike(_point(table, "requests", approach, *each), _point(table, "requests", "counter_based", *each))
        for approach in rivals
        for each in settings
    ]
    holds = every(answers)
    told = ", ".join(f"{NAMES[name]} {_last(table, name, 'requests')}" for name in (*rivals, "counter_based"))
    because = (
        ""
        if holds
        else "`sequencer` asks for ranges, several lost messages at a time, and sends again what is not acknowledged; "
        "`two_phase` waits for the answer of every member, so the source sends again and members ask for the outcome, "
        "on time-outs"
    )
    return Claim(
        where="section 4.3",
        says="all three protocols send out the same number of requests for retransmission",
        measured=f"requests a broadcast at the largest N and E: {told}; alike in {agreeing(answers)} of "
        f"{len(answers)} comparisons ({replications_of(table)})",
        verdict=verdict(holds, because),
        because=because,
    )


def _fewest_with_errors(table: Table) -> Claim:
    rivals = tuple(approach for approach in APPROACHES if approach != "counter_based")
    holds, text, better = _below_all(table, rivals, True)
    told = ", ".join(f"{NAMES[approach]} {_last(table, approach)}" for approach in (*better, "counter_based"))
    because = (
        ""
        if not better
        else "one request for each lost copy is (N - 1) E messages a broadcast, where a ring's token carries all "
        f"requests at once. At the largest N and E: {told}"
    )
    return Claim(
        where="abstract, section 6",
        says="fewer control messages than all other protocols, also when errors occur",
        measured=f"Num of the counter-based protocol lies {text} settings ({replications_of(table)})",
        verdict=verdict(holds, because),
        because=because,
    )


def _fewest_without_errors(table: Table) -> Claim:
    rivals = tuple(approach for approach in APPROACHES if approach != "counter_based")
    holds, text, better = _below_all(table, rivals, False)
    sites = max(table.values("sites"))
    told = ", ".join(
        f"{NAMES[approach]} {_point(table, 'num', approach, sites, 0.0).told(4)}"
        for approach in (*better, "counter_based")
    )
    because = (
        ""
        if not better
        else f"under the same load a token of the optimistic protocol serves as many messages as one of ours. N = "
        f"{sites}: {told}"
    )
    return Claim(
        where="abstract, section 4.3",
        says="the counter-based protocol requires the fewest messages without errors, under the same load",
        measured=f"Num of the counter-based protocol lies {text} settings ({replications_of(table)})",
        verdict=verdict(holds, because),
        because=because,
    )


def _rollbacks(table: Table) -> Claim:
    worst = max(table.values("loss"))
    pairs = [
        (_point(table, "rollbacks", "optimistic", sites, 0.0), _point(table, "rollbacks", "optimistic", sites, worst))
        for sites in table.values("sites")
    ]
    calm = ", ".join(a.told(3) for a, _ in pairs)
    lossy = ", ".join(b.told(3) for _, b in pairs)
    return Claim(
        where="section 4.3",
        says="when errors occur, the optimistic protocol must discard a lot of received messages (rollbacks)",
        measured=f"rollbacks a message and site: {lossy} with E = {worst:g}, {calm} without errors (the order of "
        f"receipt differs by itself), N = {', '.join(map(str, table.values('sites')))} ({replications_of(table)})",
        verdict=verdict(all(below(a, b) for a, b in pairs)),
    )


def _rollback_requests(table: Table) -> Claim:
    found = [
        (
            _point(table, "rollback_requests", "optimistic", *each).mean
            / _point(table, "lost", "optimistic", *each).mean,
            each[0],
        )
        for each in _settings(table, True)
    ]
    return Claim(
        where="section 4.3",
        says="the optimistic protocol may need up to N - 2 rollback request messages a lost message",
        measured=f"{max(number for number, _ in found):.3g} a lost copy: `optimistic_token` has no such message, every "
        f"site compares the token's order with its own and rolls back by itself ({replications_of(table)})",
        verdict=verdict(all(0.0 < number <= sites - 2 for number, sites in found)),
    )


def _throughput(table: Table) -> Claim:
    sites = min(table.values("sites"))
    ring, totem, ours = (
        _point(table, "between_s", approach, sites, 0.0) for approach in ("fast_message", "totem", "counter_based")
    )
    return Claim(
        where="section 4.3",
        says="the fast message protocol has a low throughput, since the holder of the token sends one message",
        measured=f"N = {sites}: a message every {ring.told(3)} s, where one comes every {1 / (sites * RATE):g} s and "
        f"the counter-based protocol delivers one every {ours.told(3)} s. With up to 50 messages a visit, which Amir "
        f"et al. allow, the ring keeps up: {totem.told(3)} s ({replications_of(table)})",
        verdict=verdict(below(ours, ring)),
    )


def _amortised(table: Table) -> Claim:
    sites = min(table.values("sites"))
    expected = 1.0 / (sites * RATE)
    keeping = ("centralized", "two_phase", "optimistic", "totem")
    points = {approach: _point(table, "between_s", approach, sites, 0.0) for approach in keeping}
    ours = _point(table, "between_s", "counter_based", sites, 0.0)
    shortest = all(below(Point(2 * ours.mean, 2 * ours.half_width, ours.replications), p) for p in points.values())
    fit = agreeing(near(point, expected) for point in points.values())
    because = (
        ""
        if shortest
        else f"every protocol that keeps up delivers as often as messages come: 1/(N A) a message in {fit} of "
        f"{len(points)} others; the counter-based one has twice that by its formula, since it adds both cycles"
    )
    return Claim(
        where="Table 1, Figure 6",
        says="the amortised D of the counter-based protocol, 2 exp(A, N) / N, is the smallest",
        measured=f"time a delivered message under one load, N = {sites}, s: "
        + ", ".join(f"{NAMES[approach]} {point.told(3)}" for approach, point in points.items())
        + f", counter-based {ours.told(3)}, doubled by the formula ({replications_of(table)})",
        verdict=verdict(shortest, because),
        because=because,
    )


def _chart(table: Table, sites: int) -> Chart:
    lines = [
        Line(NAMES[approach], table.series("num", "loss", {"approach": approach, "sites": sites}))
        for approach in APPROACHES
    ]
    return Chart(
        name=f"chang-hwang-load-{sites}",
        title=f"Messages a broadcast with errors, one load for all, N = {sites}",
        x_label="error rate E",
        y_label="messages a broadcast, Num",
        lines=lines,
        y_log=True,
    )


def _listing(table: Table) -> Listing:
    rows = []
    for sites in table.values("sites"):
        for loss in table.values("loss"):
            for approach in APPROACHES:
                numbers = [
                    _point(table, metric, approach, sites, loss).told(3)
                    for metric in ("num", "requests", "latency_s", "rollbacks")
                ]
                rows.append([str(sites), f"{loss:g}", NAMES[approach], *numbers])
    head = ["N", "E", "protocol", "Num", "requests", "latency, s", "rollbacks a message and site"]
    note = "Latency until the last delivery that was not rolled back. With one message a visit the ring's queues grow."
    return Listing("One load for all", head, rows, note=note)
