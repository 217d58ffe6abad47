"""Garcia-Molina and Kogan, section 5: assignments A and B on Figure 2.1."""

from papers.common.paper import Claim, Listing, Section, verdict
from papers.common.table import Table


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
