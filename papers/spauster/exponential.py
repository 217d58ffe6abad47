"""Garcia-Molina and Spauster, section 4.1: exponential group sizes."""

from papers.common.judging import Series, points_of, rises_and_falls
from papers.common.paper import Chart, Claim, Line, Section, verdict
from papers.common.table import Table
from papers.spauster.curves import SITES, SIZES, between, curves, peak

READINGS = {"exponential": "from 1 up", "exponential_from_2": "from 2 up"}


def exponential(sites: Table, sizes: Table) -> Section:
    return Section(
        title="Section 4.1: exponential group sizes",
        text="Sizes from the exponential distribution with the same mean, rounded up. The paper does not say whether a "
        "group may be a single site: both readings.",
        claims=[_same_shape(sites, sizes), *[_lower(sites, sizes, reading) for reading in READINGS]],
        charts=[_exponential_chart(sites)],
    )


def _curves_of(table: Table, distribution: str) -> dict[int, Series]:
    return curves(table, "depth", "sites" if "sites" in table.combinations()[0] else "size", distribution)


def _same_shape(sites: Table, sizes: Table) -> Claim:
    """Of those curves that rise and fall with fixed sizes, over all that we looked at."""
    count = 0
    flat: list[str] = []
    singles: list[bool] = []  # of the flat ones: whether the same curve without groups of one site rises and falls
    moved: list[str] = []
    for table in (sites, sizes):
        for reading, name in READINGS.items():
            for groups, fixed in _curves_of(table, "fixed").items():
                other = _curves_of(table, reading)[groups]
                count += rises_and_falls(points_of(fixed))
                if rises_and_falls(points_of(fixed)) and not rises_and_falls(points_of(other)):
                    flat.append(f"{groups} groups, {name}, over {'sites' if table is sites else 'sizes'}")
                    singles.append(rises_and_falls(points_of(_curves_of(table, "exponential_from_2")[groups])))
                if peak(other)[0] > peak(fixed)[0] and table is sizes:
                    moved.append(f"{groups} groups: {peak(fixed)[0]} and {peak(other)[0]}")
    told = f"; the peak lies at larger mean sizes than with fixed ones ({moved[0]} members)" if moved else ""
    because = ""
    if flat and all(singles):
        because = (
            "groups of a single site have depth 0 and no part in intersections; without them, sizes from 2 up, the "
            "same curve rises and falls"
        )
    return Claim(
        where="section 4.1",
        says="with exponential group sizes the graphs have the same shape",
        measured=f"{count - len(flat)} of {count} curves of Graphs 1 and 2, in both readings, rise and fall too"
        + (f" (not {', '.join(flat)})" if flat else "")
        + told,
        verdict=verdict(count > 0 and not flat, because),
        because=because,
    )


def _lower(sites: Table, sizes: Table, reading: str) -> Claim:
    lower = higher = count = 0
    for table, limits in ((sites, SITES), (sizes, SIZES)):
        for groups, fixed in _curves_of(table, "fixed").items():
            other = between(_curves_of(table, reading)[groups], limits)
            for (_, one), (_, two) in zip(between(fixed, limits), other, strict=True):
                count += 1
                lower += two.high < one.low
                higher += two.low > one.high
    return Claim(
        where="section 4.1",
        says="… but generally give lower numbers for the average depth",
        measured=f"sizes {READINGS[reading]}: lower in {lower} of {count} settings, higher in {higher}, by the "
        "intervals",
        verdict=verdict(2 * lower > count),
    )


def _exponential_chart(table: Table) -> Chart:
    fewest, *_, most = table.values("groups")
    lines = []
    for groups in (fewest, most):
        for distribution, name in {"fixed": "all 5", **READINGS}.items():
            series = table.series("depth", "sites", {"distribution": distribution, "groups": groups})
            lines.append(Line(f"{groups} groups, {name}", series))
    return Chart(
        name="spauster-exponential",
        title="Depth with exponential group sizes of mean 5",
        x_label="sites in the system",
        y_label="depth d, steps",
        lines=lines,
        x_log=True,
    )
