"""Figure 3 of Garbinato, Pedone and Schmidt: how soon all losses are known."""

import math

from papers.common.judging import Range, every, less, near, points_of, quotient, within
from papers.common.paper import Chart, Claim, Line, Mark, Section, exact, verdict
from papers.common.table import Table
from papers.common.words import replications

TOLERANCE = 0.02  # of a loss that counts as known
PAPER_LIKELY_TOLERANCE = 0.025  # with which its example comes out


def convergence(crashes: Table, losses: Table, tolerances: Table) -> Section:
    charts = []
    for key, table, letter, name in (("crash", crashes, "a", "P"), ("loss", losses, "b", "L")):
        marks = [Mark("the paper: about 400", 6, 400)] if key == "loss" else []
        charts.append(
            Chart(
                name=f"garbinato-figure-3{letter}",
                title=f"Figure 3({letter}): heartbeats over each link until all have converged",
                x_label="connectivity (neighbours of a process)",
                y_label="heartbeats of a process over a link",
                lines=[
                    Line(f"{name} = {value:g}", table.series("heartbeats", "connectivity", {key: value}))
                    for value in table.values(key)
                ],
                marks=marks,
            )
        )
    charts.append(
        Chart(
            name="garbinato-tolerance",
            title="What converged means: connectivity 6, L = 0.05",
            x_label="tolerance: every loss is known to within this",
            y_label="heartbeats of a process over a link",
            lines=[
                Line("until all have converged", tolerances.series("heartbeats", "tolerance", {})),
                Line("the paper: about 400", [(x, exact(400)) for x in tolerances.values("tolerance")], formula=True),
            ],
        )
    )
    return Section(
        title="Figure 3: convergence",
        text="Every process starts with no knowledge but its neighbours. Converged: every process knows of every "
        "process, and "
        "of every link the loss to within 0.02 of the truth, the right one of the paper's hundred intervals or one "
        "next to "
        "it (the paper does not state its criterion; the last chart shows what depends on that).",
        claims=[
            _about_400(losses, tolerances),
            _low_sooner(crashes, "crash", "P"),
            _low_sooner(losses, "loss", "L"),
            _double_effect(losses),
            _links_matter_more(crashes, losses),
        ],
        charts=charts,
    )


def _about_400(losses: Table, tolerances: Table) -> Claim:
    point = losses.point("heartbeats", {"loss": 0.05, "connectivity": 6})
    likely = tolerances.point("heartbeats", {"tolerance": PAPER_LIKELY_TOLERANCE})
    holds = near(point, 400, 0.25)
    because = (
        "the paper does not say how well all must be known, and the number depends on it: with "
        f"{PAPER_LIKELY_TOLERANCE:g} instead of {TOLERANCE:g} it is {likely.told(3)} "
        f"({likely.replications} replications)"
        if near(likely, 400, 0.25)
        else ""
    )
    return Claim(
        where="section 5, Figure 3(b)",
        says="connectivity 6, L = 0.05: about 400 heartbeats per process through a link",
        measured=f"{point.told(3)} heartbeats ({point.replications} replications)",
        verdict=verdict(holds, because),
        because="" if holds else because,
    )


def _low_sooner(table: Table, key: str, name: str) -> Claim:
    values = table.values(key)
    answers = []
    told = []
    for connectivity in table.values("connectivity"):
        series = [table.point("heartbeats", {key: value, "connectivity": connectivity}) for value in values]
        answers.append(less(series[0], series[-1]))
        told.append(f"{series[0].told(3)} and {series[-1].told(3)}")
    return Claim(
        where=f"section 5, Figure 3({'a' if key == 'crash' else 'b'})",
        says="low probabilities are easier to be inferred than high ones",
        measured=f"{name} = {values[0]:g} against {values[-1]:g}, heartbeats by connectivity: {', '.join(told)} "
        f"({series[0].replications} replications)",
        verdict=verdict(every(answers)),
    )


def _double_effect(table: Table) -> Claim:
    """More links: more to learn, sooner told."""
    loss = max(table.values("loss"))
    series = table.series("heartbeats", "connectivity", {"loss": loss})
    points = points_of(series)
    lowest = min(points, key=lambda point: point.mean)
    told = ", ".join(f"{x}: {point.told(3)}" for x, point in series)
    hurts = False if points[-1] == lowest else less(lowest, points[-1])
    helps = False if points[0] == lowest else less(lowest, points[0])
    because = (
        "the help is for the time that news travel, a few heartbeats among hundreds; the hurt, that the worst of "
        "ever more "
        "links must come to within the tolerance, is what is seen. Figure 4 shows the help by itself"
        if hurts and helps is False
        else ""
    )
    return Claim(
        where="section 5",
        says="connectivity helps convergence (news arrive sooner) and hurts it (more must be inferred)",
        measured=f"L = {loss:g}, heartbeats by connectivity: {told} ({replications(series)})",
        verdict=verdict(every((hurts, helps)), because),
        because="" if hurts and helps else because,
    )


def _links_matter_more(crashes: Table, losses: Table) -> Claim:
    """P = p at both ends of a link loses about as much as L = 2p: compare what connectivity adds."""
    growth = []
    for table, key in ((crashes, "crash"), (losses, "loss")):
        series = table.series("heartbeats", "connectivity", {key: max(table.values(key))})
        growth.append(quotient(series[-1][1], series[0][1]))
    crash_factor, loss_factor = growth
    because = (
        "in our reading a crashed step loses the messages of that step, so crashes too are learned link by link, "
        "from the same "
        "heartbeats: links are as numerous in both. A process' own estimate, from its clock, is right sooner"
    )
    holds = within(quotient(loss_factor, crash_factor), 1.1, math.inf)
    return Claim(
        where="section 5",
        says="the effects of connectivity are more noticeable for links (L) than for processes (P), links being more "
        "numerous",
        measured=f"from the lowest to the highest connectivity, heartbeats grow {_told(loss_factor)} times with L "
        f"= {max(losses.values('loss')):g} and {_told(crash_factor)} times with P = {max(crashes.values('crash')):g}, "
        "by the intervals",
        verdict=verdict(holds, because),
        because="" if holds else because,
    )


def _told(factor: Range) -> str:
    return f"{factor.low:.2f} to {factor.high:.2f}"
