"""Garcia-Molina and Spauster, section 4.1, Figure 5: load against depth."""

from papers.common.paper import Chart, Claim, Line, Listing, Section, verdict
from papers.common.table import Table


def trade(example: Table, table: Table) -> Section:
    return Section(
        title="Figure 5: load against depth",
        text="The graph is changed step by step to relieve its busiest site, as long as no group becomes deeper than "
        "it was by more than so many steps. First the paper's three groups, then random ones: 20 groups in 200 sites.",
        claims=[_figure(example), _load_of_a(example), _often(table)],
        charts=[_trade_chart(table)],
        listings=[
            Listing(
                "The groups of figure 5",
                ["deeper by at most", "largest load", "load of a", "load of b", "depth", "extra nodes"],
                [
                    [str(growth)]
                    + [
                        f"{example.point(metric, {'depth_growth': growth}).mean:g}"
                        for metric in ("load", "load.a", "load.b", "depth", "extra")
                    ]
                    for growth in example.values("depth_growth")
                ],
            )
        ],
    )


def _figure(table: Table) -> Claim:
    before, after = {"depth_growth": 0}, {"depth_growth": 1}
    loads = [table.point("load.b", where).mean for where in (before, after)]
    depths = [table.point("depth", where).mean for where in (before, after)]
    extra = table.point("extra", after).mean
    return Claim(
        where="Figure 5",
        says="the load at b is reduced, without extra nodes; the depth has increased",
        measured=f"load of b from {loads[0]:g} to {loads[1]:g}, depth from {depths[0]:g} to {depths[1]:g}, "
        f"{extra:g} extra nodes (nothing is drawn)",
        verdict=verdict(loads[1] < loads[0] and depths[1] > depths[0] and extra == 0),
    )


def _load_of_a(table: Table) -> Claim:
    loads = [table.point("load.a", {"depth_growth": growth}).mean for growth in table.values("depth_growth")]
    least = table.point("groups.a", {"depth_growth": 0}).mean
    because = ""
    if loads[0] == least:
        because = (
            f"a is in {least:g} groups and only receives in the generator's tree, which is the least that any tree can "
            "give it; a becomes the helper of b"
        )
    return Claim(
        where="Figure 5",
        says="the load at a is reduced",
        measured=f"load of a {loads[0]:g}; when groups may be deeper, {', '.join(f'{value:g}' for value in loads[1:])}",
        verdict=verdict(min(loads[1:]) < loads[0], because),
        because=because,
    )


def _often(table: Table) -> Claim:
    growth = min(value for value in table.values("depth_growth") if value > 0)
    told = []
    holds = True
    for size in table.values("size"):
        where = {"size": size, "allow_extra": False, "depth_growth": growth}
        lower, ratio = table.point("lower", where), table.point("load.ratio", where)
        holds = holds and lower.low > 0.5
        told.append(f"groups of {size}: in {lower.mean:.2f} of the cases, to {ratio.told(2)} of what it was")
    low, _ = table.replications()
    return Claim(
        where="section 4.1",
        says="the graph can often be modified to find the correct balance between delay and load",
        measured=f"one step of depth lowers the largest load: {'; '.join(told)} ({low} replications)",
        verdict=verdict(holds),
    )


def _trade_chart(table: Table) -> Chart:
    lines = [
        Line(
            f"groups of {size}, {'extra nodes allowed' if extra else 'no more extra nodes'}",
            table.series("load.ratio", "depth_growth", {"size": size, "allow_extra": extra}),
        )
        for size in table.values("size")
        for extra in (False, True)
    ]
    return Chart(
        name="spauster-trade",
        title="The largest load, when groups may be deeper",
        x_label="steps by which a group may be deeper than in the generator's graph",
        y_label="largest load, part of the generator's",
        lines=lines,
    )
