"""Figure 4 of Garbinato, Pedone and Schmidt: convergence over the number of processes."""

from collections.abc import Sequence

from papers.common.judging import points_of, rises, slope
from papers.common.paper import Chart, Claim, Line, Section, verdict
from papers.common.table import Point, Table
from papers.common.words import replications


def size(table: Table) -> Section:
    lines = {
        shape: {
            metric: table.series(metric, "sites", {"shape": shape}) for metric in ("heartbeats.known", "heartbeats")
        }
        for shape in ("ring", "tree")
    }
    names = {"ring": "ring", "tree": "random tree"}
    return Section(
        title="Figure 4: scalability",
        text="L = 0.01. Known: everybody has heard of every link. Converged: … and knows its loss to within 0.02.",
        claims=[_linear(lines["ring"]["heartbeats.known"]), _flat(lines), _not_linear(lines)],
        charts=[
            Chart(
                name=f"garbinato-figure-4-{metric.split('.')[-1]}",
                title=f"Figure 4: heartbeats until all is {title}",
                x_label="processes",
                y_label="heartbeats of a process over a link",
                lines=[Line(names[shape], lines[shape][metric]) for shape in names],
            )
            for metric, title in (("heartbeats.known", "known to all"), ("heartbeats", "known to within 0.02"))
        ],
    )


def _linear(series: Sequence[tuple[float, Point]]) -> Claim:
    rise = slope(series)
    first_x, first = series[0]
    errors = [abs(point.mean - (first.mean + rise * (x - first_x))) / point.mean for x, point in series]
    return Claim(
        where="section 5, Figure 4",
        says="in a ring the convergence time increases linearly with the size of the system",
        measured=f"until all is known: {first.told(3)} heartbeats for {first_x}, {series[-1][1].told(3)} for "
        f"{series[-1][0]} processes; "
        f"a straight line of {rise:.3f} heartbeats a process is off by at most {max(errors):.0%} "
        f"({replications(series)})",
        verdict=verdict(rises(points_of(series)) and max(errors) < 0.15),
    )


def _flat(lines: dict[str, dict[str, list[tuple[float, Point]]]]) -> Claim:
    tree, ring = lines["tree"]["heartbeats.known"], lines["ring"]["heartbeats.known"]
    growth = tree[-1][1].mean / tree[0][1].mean
    size_growth = tree[-1][0] / tree[0][0]
    return Claim(
        where="section 5, Figure 4",
        says="for random trees the convergence time is almost constant",
        measured=f"until all is known: {tree[0][1].told(3)} heartbeats for {tree[0][0]}, {tree[-1][1].told(3)} for "
        f"{tree[-1][0]} processes: "
        f"{growth:.2f} times for {size_growth:g} times the size, where a ring takes "
        f"{ring[-1][1].mean / ring[0][1].mean:.2f} times "
        f"({replications(tree)})",
        verdict=verdict(slope(tree) < slope(ring) / 3),
    )


def _not_linear(lines: dict[str, dict[str, list[tuple[float, Point]]]]) -> Claim:
    ring, tree = lines["ring"]["heartbeats"], lines["tree"]["heartbeats"]
    return Claim(
        where="section 5, Figure 4",
        says="… so also the time until losses are known: a ring is the worst case",
        measured=f"to within 0.02: ring {ring[0][1].told(3)} to {ring[-1][1].told(3)}, tree {tree[0][1].told(3)} to "
        f"{tree[-1][1].told(3)} "
        f"heartbeats from {ring[0][0]} to {ring[-1][0]} processes ({replications(ring)})",
        verdict=verdict(slope(ring) > slope(tree)),
    )
