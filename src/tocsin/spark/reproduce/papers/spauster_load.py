"""Garcia-Molina, Spauster 1988, section 4.1: Graphs 4 and 5, load; figure 5, load against depth."""

from tocsin.spark.reproduce.paper import Chart, Claim, Line, Listing, Section, verdict
from tocsin.spark.reproduce.papers.spauster_graphs import SITES, SIZES, Series, curves, inside
from tocsin.spark.reproduce.table import Table

METHODS = {"load.centralized": "centralized", "load.propagation": "propagation", "load.two_phase": "two-phase"}


def load(sites: Table, sizes: Table, running: Table) -> Section:
    return Section(
        title="Section 4.1: Graphs 4 and 5, load",
        text="The messages that the busiest site sends and receives when one message goes to every group. Two-phase: "
        "of the receivers. Centralized: one central site for all groups, the one in most of them. Counted on the "
        "groups of Graphs 1 and 2, and checked by running the protocols in the simulator.",
        claims=[
            _counted(running),
            _falls(sites),
            _grows(sizes),
            _two_phase_lowest(sites, sizes),
            _source(sizes),
            _bottleneck(sites, sizes),
        ],
        charts=[
            _chart(sites, "sites", "Graph 4: load over sites, groups of 5"),
            _chart(sizes, "size", "Graph 5: load over the size of groups, 200 sites"),
        ],
    )


def _counted(table: Table) -> Claim:
    settings = table.combinations()
    agree = sum(table.point("agree", where).mean == 1.0 for where in settings)
    low, _ = table.replications()
    return Claim(
        where="section 4.1",
        says="load is the messages sent and received if a message is sent to each group",
        measured=f"two_phase, sequencer and propagation_graph in the simulator have at their busiest site exactly the "
        f"counted load, every time, in {agree} of {len(settings)} settings ({low} replications each)",
        verdict=verdict(agree == len(settings)),
    )


def never_grows(series: Series) -> bool:
    """No later point lies above an earlier one, by the intervals, and the last lies below the first."""
    points = [point for _, point in series]
    rising = any(later.low > earlier.high for place, earlier in enumerate(points) for later in points[place + 1 :])
    return not rising and points[-1].high < points[0].low


def _falls(table: Table) -> Claim:
    found = curves(table, "load.propagation", "sites")
    falling = sum(never_grows(series) for series in found.values())
    told = [f"{groups} groups: {series[0][1].told(3)} to {series[-1][1].told(3)}" for groups, series in found.items()]
    return Claim(
        where="Graph 4",
        says="propagation: load is high with few primary destinations and short, bushy trees, decreases as trees get "
        "longer, and is very low when they are sparse",
        measured=f"falls with the number of sites on {falling} of {len(found)} curves ({'; '.join(told)})",
        verdict=verdict(falling == len(found)),
    )


def _grows(table: Table) -> Claim:
    found = curves(table, "load.propagation", "size")
    falling = sum(never_grows(series[::-1]) for series in found.values())
    told = [f"{groups} groups: {series[-1][1].told()} to {series[0][1].told(3)}" for groups, series in found.items()]
    return Claim(
        where="Graph 5",
        says="the same as groups become smaller in 200 sites",
        measured=f"falls as groups become smaller on {falling} of {len(found)} curves ({'; '.join(told)})",
        verdict=verdict(falling == len(found)),
    )


def _settings(sites: Table, sizes: Table) -> list[tuple[Table, dict[str, object]]]:
    return [
        (table, where)
        for table, over, limits in ((sites, "sites", SITES), (sizes, "size", SIZES))
        for where in inside(table, over, limits)
    ]


def _two_phase_lowest(sites: Table, sizes: Table) -> Claim:
    settings = _settings(sites, sizes)
    lowest = 0
    largest = 0.0
    for table, where in settings:
        two_phase = table.point("load.two_phase", where)
        lowest += two_phase.high < min(table.point(m, where).low for m in METHODS if m != "load.two_phase")
        largest = max(largest, two_phase.mean)
    return Claim(
        where="Graphs 4, 5",
        says="the load of the two-phase method is very well distributed, yielding low numbers (at receivers)",
        measured=f"lowest of the three in {lowest} of {len(settings)} settings; at most {largest:.3g}",
        verdict=verdict(lowest == len(settings)),
    )


def _source(table: Table) -> Claim:
    size = max(size for size in table.values("size") if size <= SIZES[1])
    told = []
    holds = True
    for groups in table.values("groups"):
        where = {"distribution": "fixed", "groups": groups, "size": size}
        source, receiver = (table.point(f"load.two_phase{part}", where) for part in (".source", ""))
        holds = holds and source.low > receiver.high
        told.append(f"{groups} groups: {source.told(3)} against {receiver.told(3)}")
    return Claim(
        where="section 4.1",
        says="two-phase: load at the source will be higher (possibly much higher) if the groups are large",
        measured=f"groups of {size}, one message of a source against a message from everybody at the busiest receiver: "
        + "; ".join(told),
        verdict=verdict(holds),
    )


def _bottleneck(sites: Table, sizes: Table) -> Claim:
    settings = _settings(sites, sizes)
    most = between = 0
    ratios = []
    for table, where in settings:
        central, ours, two_phase = (table.point(method, where) for method in METHODS)
        most += central.low >= ours.high
        between += central.low >= ours.high and ours.low >= two_phase.high
        ratios.append(central.mean / ours.mean)
    return Claim(
        where="Graphs 4, 5",
        says="load in the centralized case is high, the bottleneck; propagation strikes a compromise",
        measured=f"centralized is highest in {most} of {len(settings)} settings, {min(ratios):.1f} to "
        f"{max(ratios):.0f} times propagation; propagation lies between the two others in {between}",
        verdict=verdict(most == len(settings) and between == len(settings)),
    )


def _chart(table: Table, over: str, title: str) -> Chart:
    fewest, *_, most = table.values("groups")
    lines = []
    for groups in (most, fewest):
        for metric, name in METHODS.items():
            series = table.series(metric, over, {"distribution": "fixed", "groups": groups})
            lines.append(Line(f"{name}, {groups} groups", series))
    return Chart(
        name=f"spauster-load-{over}",
        title=title,
        x_label="sites in the system" if over == "sites" else "group size, members",
        y_label="largest load, messages",
        lines=lines,
        x_log=True,
        y_log=True,
    )


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
