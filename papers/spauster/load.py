"""Garcia-Molina and Spauster, section 4.1: Graphs 4 and 5, load."""

from papers.common.judging import falls, points_of, rises
from papers.common.paper import Chart, Claim, Line, Section, verdict
from papers.common.table import Table
from papers.spauster.curves import SITES, SIZES, curves, inside

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


def _falls(table: Table) -> Claim:
    found = curves(table, "load.propagation", "sites")
    falling = sum(falls(points_of(series)) for series in found.values())
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
    falling = sum(rises(points_of(series)) for series in found.values())
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
