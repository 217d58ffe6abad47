"""Garcia-Molina and Spauster, section 4.1: Graphs 1 to 3, depth and extra nodes."""

from typing import Any

from papers.common.judging import correlation, points_of, rises_and_falls
from papers.common.paper import Chart, Claim, Line, Mark, Section, verdict
from papers.common.table import Point, Table
from papers.spauster.curves import SITES, SIZES, between, curves, inside, peak

SMALL_DEPTH = 2.5  # "less than or close to 2"
FEW_EXTRA = 1.0  # for groups of 5: a fifth of the messages


def graphs(sites: Table, sizes: Table) -> Section:
    return Section(
        title="Section 4.1: Graphs 1, 2 and 3, depth and extra nodes",
        text="Random groups of sites drawn uniformly, and their propagation graph by the PG generator; d is the mean, "
        "over the groups, of the steps from the primary destination to the furthest member; ε the mean number of extra "
        "nodes. The plots of the paper are lost in the text that we have; what its sentences say about them is judged. "
        "Sites are drawn uniformly, so breaking ties by name is breaking them at random.",
        claims=[
            _precise(sites, sizes),
            _humps(sites, "sites", SITES, "Graph 1"),
            _humps(sizes, "size", SIZES, "Graph 2"),
            _alike(sites),
            _extra_low(sites),
            _extra_seldom(sites),
            _small(sites, sizes),
            _close_to_two(sites),
            _members_earlier(sites, sizes),
        ],
        charts=[
            _chart(sites, "sites", "depth", "Graph 1: depth over sites, groups of 5"),
            _chart(sizes, "size", "depth", "Graph 2: depth over the size of groups, 200 sites"),
            _chart(sites, "sites", "extra", "Graph 3: extra nodes over sites, groups of 5"),
        ],
    )


def _replications(*tables: Table) -> str:
    low = min(table.replications()[0] for table in tables)
    high = max(table.replications()[1] for table in tables)
    return f"{low} replications a setting" if low == high else f"{low} to {high} replications a setting"


def _precise(sites: Table, sizes: Table) -> Claim:
    relative = {"depth": 0.0, "load.propagation": 0.0}
    absolute = 0.0
    for table in (sites, sizes):
        for where in table.combinations():
            for metric in relative:
                point = table.point(metric, where)
                relative[metric] = max(relative[metric], point.half_width / point.mean)
            absolute = max(absolute, table.point("extra", where).half_width)
    return Claim(
        where="Graphs 1 to 5",
        says="each point with 95 % confidence: d and load within 10 % of the mean, ε within 0.5",
        measured=f"the widest half-widths: d {100 * relative['depth']:.1f} %, load "
        f"{100 * relative['load.propagation']:.1f} %, ε {absolute:.2f} ({_replications(sites, sizes)})",
        verdict=verdict(max(relative.values()) <= 0.1 and absolute <= 0.5),
    )


def _humps(table: Table, over: str, limits: tuple[int, int], where: str) -> Claim:
    found = curves(table, "depth", over)
    good = [groups for groups, series in found.items() if rises_and_falls(points_of(between(series, limits)))]
    beyond = [groups for groups, series in found.items() if groups not in good and rises_and_falls(points_of(series))]
    unit = "sites" if over == "sites" else "members"
    told = []
    for groups, series in found.items():
        x, point = peak(series)
        told.append(f"{groups} groups: most at {x}, {point.told(3)}")
    because = ""
    if len(good) < len(found) and len(good) + len(beyond) == len(found):
        smallest = found[beyond[0]][0]
        because = (
            f"with {', '.join(map(str, beyond))} groups the ratio is not large enough at {limits[0]} {unit}: at "
            f"{smallest[0]}, outside the paper's range, d is {smallest[1].told(3)} and the curve rises and falls"
        )
    words = "over sites" if over == "sites" else "as groups become smaller"
    return Claim(
        where=where,
        says=f"{words}, d is small while the ratio of group size to sites is large, then grows, then falls again",
        measured=f"{len(good)} of {len(found)} curves rise and fall from {limits[0]} to {limits[1]} {unit} "
        f"({'; '.join(told)})",
        verdict=verdict(len(good) == len(found), because),
        because=because,
    )


def _alike(table: Table) -> Claim:
    found = []
    for groups, series in curves(table, "depth", "sites").items():
        extra = table.series("extra", "sites", {"distribution": "fixed", "groups": groups})
        found.append(correlation([point.mean for _, point in series], [point.mean for _, point in extra]))
    return Claim(
        where="Graph 3",
        says="the curves of ε display the same behaviour as those of the depth",
        measured=f"correlation of the two curves over sites, the smallest of {len(found)}: {min(found):.3f}",
        verdict=verdict(min(found) >= 0.9),
    )


def _chains(table: Table, metric: str) -> str:
    """Why d and ε are large in some settings, if they are larger with more groups, by the intervals."""
    fewest, *_, most = table.values("groups")
    settings = inside(table, "sites", SITES)
    points = {groups: _worst(table, metric, settings, groups) for groups in (fewest, most)}
    (_, small), (at, large) = points[fewest], points[most]
    if large.low <= small.high:
        return ""
    where = {"distribution": "fixed", "groups": most, "sites": at}
    return (
        f"it depends on how many groups overlap: with {fewest} groups at most {small.told(3)}; with {most} in {at} "
        f"sites, {large.told(3)}: each site is in {most * 5 / at:.1f} groups, nearly all groups hang together "
        f"({table.point('trees', where).mean:.1f} trees), every subroot takes only its own groups, and the rest go "
        "below it in one piece, a chain that other groups' messages must pass"
    )


def _worst(table: Table, metric: str, settings: list[dict[str, Any]], groups: int) -> tuple[int, Point]:
    """The number of sites with the largest mean, and that."""
    of_these = [where for where in settings if where["groups"] == groups]
    worst = max(of_these, key=lambda where: table.point(metric, where).mean)
    return worst["sites"], table.point(metric, worst)


def _extra_low(table: Table) -> Claim:
    settings = inside(table, "sites", SITES)
    low = sum(table.point("extra", where).high <= FEW_EXTRA for where in settings)
    worst = max(settings, key=lambda where: table.point("extra", where).mean)
    every = low == len(settings)
    because = "" if every else _chains(table, "extra")
    return Claim(
        where="Graph 3",
        says="the number of extra nodes is low in general",
        measured=f"at most one a message (of 5 members) in {low} of {len(settings)} settings; the most "
        f"{table.point('extra', worst).told(3)}, with {worst['groups']} groups in {worst['sites']} sites",
        verdict=verdict(every, because),
        because=because,
    )


def _extra_seldom(table: Table) -> Claim:
    settings = inside(table, "sites", SITES)
    shares = [table.point("extra.groups", where) for where in settings]
    seldom = sum(share.high < 0.5 for share in shares)
    because = "" if seldom == len(settings) else _chains(table, "extra.groups")
    return Claim(
        where="section 6",
        says="extra nodes do not occur frequently",
        measured=f"less than half of the groups have one in {seldom} of {len(settings)} settings; on average over the "
        f"settings {sum(share.mean for share in shares) / len(shares):.2f} of the groups",
        verdict=verdict(seldom == len(settings), because),
        because=because,
    )


def _small(sites: Table, sizes: Table) -> Claim:
    count = small = 0
    for table, over, limits in ((sites, "sites", SITES), (sizes, "size", SIZES)):
        for where in inside(table, over, limits):
            count += 1
            few = 0.2 * table.point("members", where).mean
            small += table.point("depth", where).mean <= SMALL_DEPTH and table.point("extra", where).mean <= few
    because = "" if 2 * small > count else _chains(sites, "depth")
    return Claim(
        where="section 4.1",
        says="in most cases of interest, ε and d are relatively small",
        measured=f"d at most {SMALL_DEPTH:g} and ε at most a fifth of the members in {small} of {count} settings of "
        "Graphs 1 to 3",
        verdict=verdict(2 * small > count, because),
        because=because,
    )


def _close_to_two(table: Table) -> Claim:
    settings = inside(table, "sites", SITES)
    close = sum(table.point("depth", where).low <= SMALL_DEPTH for where in settings)
    because = "" if close == len(settings) else _chains(table, "depth")
    return Claim(
        where="section 4.1",
        says="d is less than or close to 2 when the group size is small",
        measured=f"groups of 5: d at most {SMALL_DEPTH:g} in {close} of {len(settings)} settings",
        verdict=verdict(close == len(settings), because),
        because=because,
    )


def _members_earlier(sites: Table, sizes: Table) -> Claim:
    shares = [
        table.point("depth.members", where).mean / table.point("depth", where).mean
        for table, over, limits in ((sites, "sites", SITES), (sizes, "size", SIZES))
        for where in inside(table, over, limits)
        if table.point("depth", where).mean > 2
    ]
    return Claim(
        where="section 4.1",
        says="d is an average over the worst case of each group; the other members have the message earlier",
        measured=f"where d > 2, the average member is at {min(shares):.2f} to {max(shares):.2f} of the depth of the "
        f"furthest ({len(shares)} settings)",
        verdict=verdict(bool(shares) and max(shares) < 0.9),
    )


def _chart(table: Table, over: str, metric: str, title: str) -> Chart:
    lines = [Line(f"{groups} groups", series) for groups, series in curves(table, metric, over).items()]
    marks = []
    if metric == "depth":  # the paper's words for the two ends; the lowest line has room below it
        words = ["short, bushy trees", "sparse, short trees"]
        if over == "size":
            words.reverse()
        ends = (lines[0].points[0], lines[0].points[-1])
        marks = [Mark(text, x, point.mean) for text, (x, point) in zip(words, ends, strict=True)]
        note = (
            "In the paper the ratio of size to sites falls from left to right; here it grows." if over == "size" else ""
        )
    else:
        note = "The paper: low in general, the same behaviour as the depth."
    return Chart(
        name=f"spauster-{metric}-{over}",
        title=title,
        x_label="sites in the system" if over == "sites" else "group size, members",
        y_label="depth d, steps" if metric == "depth" else "extra nodes ε a message",
        lines=lines,
        marks=marks,
        x_log=True,
        note=note,
    )
