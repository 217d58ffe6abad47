"""Garcia-Molina, Kogan 1988, sections 4.2 and 5: priority lists, the trees they give, and Shortest-Distance-First."""

from tocsin.spark.reproduce.paper import Chart, Claim, Line, Listing, Section, verdict
from tocsin.spark.reproduce.table import Table


def theorem(table: Table) -> Section:
    return Section(
        title="Section 4.2: one coordinator",
        text="Random networks of switches with links of different costs; partitions are the hosts behind one failed "
        "link, or any hosts without the source. Lists of Shortest-Distance-First and random legal ones.",
        claims=[_exactly_one(table), _only_if(table)],
    )


def _exactly_one(table: Table) -> Claim:
    cells = table.combinations()
    one = sum(
        table.point(f"coordinators.{name}", where).mean == 1.0 == table.point(f"coordinators.{name}.most", where).mean
        for name in ("sdf", "random")
        for where in cells
    )
    low, _ = table.replications()
    return Claim(
        where="Theorem 4.1",
        says="all hosts of a partition configure into one tree if the lists are acyclic and jointly complete",
        measured=f"exactly one coordinator in every partition of every network in {one} of {2 * len(cells)} settings "
        f"({low} networks each; running, see section 6)",
        verdict=verdict(one == 2 * len(cells)),
    )


def _only_if(table: Table) -> Claim:
    cells = table.combinations()
    incomplete = sum(table.point("coordinators.incomplete", where).mean == 2.0 for where in cells)
    cyclic = sum(table.point("coordinators.cyclic", where).mean == 0.0 for where in cells)
    return Claim(
        where="Theorem 4.1",
        says="… and only if",
        measured=f"one entry removed: two coordinators in the partition of those two hosts, always, in {incomplete} of "
        f"{len(cells)} settings; two hosts on each other's lists: no coordinator, in {cyclic}",
        verdict=verdict(incomplete == cyclic == len(cells)),
    )


def example(planned: Table, running: Table) -> Section:
    metrics = {
        "cost": "cost of the tree",
        "crossings": "child and parent on two sides of l6",
        "coordinator": "coordinator, h",
        "coordinator.distance": "its distance from the source",
    }
    return Section(
        title="Section 5: assignments A and B",
        text="Figure 2.1, as far as the text lets one rebuild it, with an expensive l6; the source is cut off.",
        claims=[
            _distance(planned),
            _made_by_sdf(planned),
            _edges(planned),
            _probing(planned),
            _transmissions(running),
        ],
        listings=[
            Listing(
                "The trees of the two assignments",
                ["assignment", *metrics.values()],
                [
                    [name, *[planned.point(metric, {"assignment": name}).told() for metric in metrics]]
                    for name in ("A", "B")
                ],
            )
        ],
    )


def _distance(table: Table) -> Claim:
    found = table.point("distance.h4.h5", {"assignment": "A"}).mean
    return Claim(
        where="section 5.1",
        says="if every link costs 1, the distance between h4 and h5 is 4",
        measured=f"{found:g}",
        verdict=verdict(found == 4),
    )


def _made_by_sdf(table: Table) -> Claim:
    found = table.point("by_sdf", {"assignment": "A"}).mean
    return Claim(
        where="section 5.1",
        says="assignment A can be produced using SDF",
        measured="SDF gives exactly assignment A" if found else "SDF gives other lists",
        verdict=verdict(found == 1.0),
    )


def _edges(table: Table) -> Claim:
    crossings = {name: table.point("crossings", {"assignment": name}).mean for name in ("A", "B")}
    costs = {name: table.point("cost", {"assignment": name}).mean for name in ("A", "B")}
    return Claim(
        where="section 5",
        says="two child-parent connections of B's tree traverse l6, compared to only one of A's",
        measured=f"A {crossings['A']:g}, B {crossings['B']:g}; cost of the tree A {costs['A']:g}, B {costs['B']:g}",
        verdict=verdict(crossings == {"A": 1.0, "B": 2.0} and costs["A"] < costs["B"]),
    )


def _probing(table: Table) -> Claim:
    names = {name: table.point("coordinator", {"assignment": name}).mean for name in ("A", "B")}
    distances = {name: table.point("coordinator.distance", {"assignment": name}).mean for name in ("A", "B")}
    return Claim(
        where="section 5",
        says="A elects h2 and B elects h5; h2 is closer to the source and probes it less expensively",
        measured=f"A: h{names['A']:g}, at distance {distances['A']:g}; B: h{names['B']:g}, at distance "
        f"{distances['B']:g}",
        verdict=verdict(names == {"A": 2.0, "B": 5.0} and distances["A"] < distances["B"]),
    )


def _transmissions(table: Table) -> Claim:
    formed = {name: table.point("formed", {"assignment": name}) for name in ("A", "B")}
    telling = {name: table.point("telling", {"assignment": name}) for name in ("A", "B")}
    probing = {name: table.point("probing", {"assignment": name}) for name in ("A", "B")}
    later = {name: table.point("next_10_s", {"assignment": name}) for name in ("A", "B")}
    holds = formed["B"].low > formed["A"].high
    because = ""
    if not holds and telling["A"].low > telling["B"].high:
        because = (
            "a coordinator announces itself to every host below it, and each answers it directly, not along the edges "
            f"of the tree: with A three hosts lie beyond l6 from it, with B one; of the copies, {telling['A'].told(3)} "
            f"and {telling['B'].told(3)} are such, {probing['A'].told(3)} and {probing['B'].told(3)} probes and "
            "answers. The coordinator of A is nearer to the source, which costs this when most hosts are far from it. "
            "(Our network does not carry probes of a host that no path leads to.)"
        )
    return Claim(
        where="section 5",
        says="the construction of B's tree requires more transmissions over l6 than A's",
        measured=f"running, copies over l6 in the first second: A {formed['A'].told(3)}, B {formed['B'].told(3)}; in "
        f"the next ten seconds: A {later['A'].told(3)}, B {later['B'].told(3)} ({formed['A'].replications} "
        "replications)",
        verdict=verdict(holds, because),
        because=because,
    )


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
