"""Garcia-Molina and Kogan, section 5.1: the trees of Shortest-Distance-First."""

from papers.common.paper import Chart, Claim, Line, Section, verdict
from papers.common.table import Table


def heuristic(table: Table) -> Section:
    return Section(
        title="Section 5.1: Shortest-Distance-First",
        text="The mean cost of the tree over the partitions of a network. The best is that of the best legal "
        "assignment for these partitions, found among all orders of the hosts; no lists can give less than the "
        "cheapest spanning tree of each partition.",
        claims=[_low_cost(table), _against_best(table), _suboptimal(table), _nearest(table)],
        charts=[_chart(table, partitions) for partitions in ("links", "any")],
    )


def _low_cost(table: Table) -> Claim:
    cells = table.combinations()
    points = [table.point("random_over_sdf", where) for where in cells]
    return Claim(
        where="section 5.1",
        says="the cost of the tree is kept low by SDF",
        measured=f"random legal lists cost {min(p.mean for p in points):.2f} to {max(p.mean for p in points):.2f} "
        f"times as much ({len(cells)} settings, {points[0].replications} networks each, 20 random assignments a "
        "network)",
        verdict=verdict(all(point.low > 1.0 for point in points)),
    )


def _against_best(table: Table) -> Claim:
    cells = [where for where in table.combinations() if table.has("sdf_over_best", where)]
    points = [table.point("sdf_over_best", where) for where in cells]
    worst = max(points, key=lambda point: point.mean)
    random = [table.point("random_over_best", where).mean for where in cells]
    return Claim(
        where="section 5.1",
        says="SDF exhibits good … behaviour",
        measured=f"up to {max(where['hosts'] for where in cells)} hosts, against the best of all legal assignments: at "
        f"most {worst.told(5)} times its cost, random lists {min(random):.2f} to {max(random):.2f} times",
        verdict=verdict(worst.high <= 1.1),
    )


def _suboptimal(table: Table) -> Claim:
    parts = {}
    for partitions in ("links", "any"):
        cells = [
            where
            for where in table.combinations()
            if where["partitions"] == partitions and table.has("suboptimal", where)
        ]
        parts[partitions] = [table.point("suboptimal", where).mean for where in cells]
    return Claim(
        where="section 5.1",
        says="… although suboptimal",
        measured="the best assignment costs less in this part of the networks: "
        f"{max(parts['any']):.2f} at most where links are redundant and any hosts may be cut off; "
        f"{max(parts['links']):.2f} where the switches are a tree and one link fails",
        verdict=verdict(max(parts["any"]) > 0),
    )


def _nearest(table: Table) -> Claim:
    cells = table.combinations()
    always = sum(table.point("nearest.sdf", where).mean == 1.0 for where in cells)
    random = [table.point("nearest.random", where).mean for where in cells]
    return Claim(
        where="section 5.1",
        says="when distances are static, the coordinator is always the closest host to the source in its partition",
        measured=f"always in {always} of {len(cells)} settings; with random legal lists {min(random):.2f} to "
        f"{max(random):.2f} of the times",
        verdict=verdict(always == len(cells)),
    )


def _chart(table: Table, partitions: str) -> Chart:
    names = {"random": "random legal lists", "sdf": "SDF", "best": "the best legal lists", "spanning": "spanning tree"}
    lines = [
        Line(name, series)
        for metric, name in names.items()
        if (series := table.series(f"cost.{metric}", "hosts", {"partitions": partitions}))
    ]
    ratios = table.series("sdf_over_spanning", "hosts", {"partitions": partitions})
    worst = max(point.mean for _, point in ratios)
    what = "hosts behind a failed link" if partitions == "links" else "any hosts cut off"
    return Chart(
        name=f"kogan-trees-{partitions}",
        title=f"Cost of the coordinator tree, {what}",
        x_label="hosts",
        y_label="cost of the tree, link costs",
        lines=lines,
        x_log=True,
        note=f"SDF costs {worst:.4f} times the spanning tree at most: the lower lines lie on each other.",
    )
