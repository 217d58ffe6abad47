"""Garcia-Molina, Kogan 1988: reliable broadcast on an unreliable multicast facility. The priority
lists of sections 4 and 5 are in `kogan_lists.py`, control traffic and delta in `kogan_control.py`."""

from collections.abc import Mapping

from tocsin.spark.reproduce.judging import rises
from tocsin.spark.reproduce.paper import Chart, Claim, Line, Listing, Paper, Section, exact, verdict
from tocsin.spark.reproduce.papers import kogan_control, kogan_lists
from tocsin.spark.reproduce.papers.kogan_control import BASIC, NAMES, OURS, quiet
from tocsin.spark.reproduce.table import Table

GRIDS = ("repair", "redelivery", "control", "delta", "transient", "epidemic", "assignment", "example", "trees")


def sections(tables: Mapping[str, Table]) -> list[Section]:
    given = {name: tables[f"kogan_{name}"] for name in GRIDS}
    return [
        kogan_lists.theorem(given["trees"]),
        kogan_lists.example(given["example"], given["assignment"]),
        kogan_lists.heuristic(given["trees"]),
        _without_failures(given["control"], given["transient"]),
        _partitions(given["repair"], given["redelivery"]),
        kogan_control.control(given["control"], given["delta"]),
        _epidemic(given["epidemic"]),
    ]


def _without_failures(control: Table, transient: Table) -> Section:
    return Section(
        title="Section 6: no failures, and isolated ones",
        text="A source and a neighbour on one side of a link, five hosts on the other (`switched`, 0.5 ms a link); "
        "then random networks with links of different costs, in which one host misses one message.",
        claims=[_multicast(control), _lowest_delay(control), _near_host(transient), _congestion(control)],
        charts=[_transient_chart(transient)],
    )


def _multicast(table: Table) -> Claim:
    ours, basic = quiet(table, "data.bridge", OURS), quiet(table, "data.bridge", BASIC)
    return Claim(
        where="section 6",
        says="without failures ours performs with the highest efficiency; transmitting separately to every host is far "
        "inferior",
        measured=f"copies of a message over the link to five hosts: ours {max(point.mean for point in ours):g}, basic "
        f"{min(point.mean for point in basic):g} ({ours[0].replications} replications)",
        verdict=verdict(
            all(point.mean == 1.0 for point in ours) and all(b.low > o.high for o, b in zip(ours, basic, strict=True))
        ),
    )


def _lowest_delay(table: Table) -> Claim:
    ours, basic = quiet(table, "delay_us", OURS), quiet(table, "delay_us", BASIC)
    links = 3 * 0.5  # host, switch, switch, host
    return Claim(
        where="section 6",
        says="… and lowest delays possible",
        measured=f"until the last host has it {max(point.mean for point in ours) / 1000:g} ms, which is the way over "
        f"three links ({links:g} ms); basic {min(point.mean for point in basic) / 1000:g} ms",
        verdict=verdict(all(point.mean == links * 1000 for point in ours)),
    )


def _congestion(table: Table) -> Claim:
    ours, basic = quiet(table, "data.server", OURS), quiet(table, "data.server", BASIC)
    return Claim(
        where="section 6",
        says="with the basic algorithm congestion of the source's server is possible; with ours less likely",
        measured=f"copies of a message between the source and its server, six hosts: ours "
        f"{max(point.mean for point in ours):g}, basic {min(point.mean for point in basic):g}",
        verdict=verdict(all(b.low > o.high for o, b in zip(ours, basic, strict=True))),
    )


def _near_host(table: Table) -> Claim:
    told = []
    holds = True
    for hosts in table.values("hosts"):
        ours = table.point("cost", {"protocol": OURS, "hosts": hosts})
        source = table.point("cost.source", {"protocol": OURS, "hosts": hosts})
        part = table.point("cost.part", {"protocol": OURS, "hosts": hosts})
        by_source = table.point("by_source", {"protocol": OURS, "hosts": hosts}).mean
        holds = holds and part.high < 1.0
        told.append(
            f"{hosts} hosts: {ours.told(3)} against {source.told(3)}, by the source {by_source:.2f} of the times"
        )
    basic = [table.point("by_source", {"protocol": BASIC, "hosts": hosts}).mean for hosts in table.values("hosts")]
    low, _ = table.replications()
    return Claim(
        where="section 6",
        says="an isolated lost message is redelivered by a near-by host, not necessarily the source, at less cost",
        measured="distance of the host that sends it again, and of the source: "
        + "; ".join(told)
        + f" (basic: always the source, {min(basic):g}; {low} replications)",
        verdict=verdict(holds and min(basic) == 1.0),
    )


def _transient_chart(table: Table) -> Chart:
    return Chart(
        name="kogan-transient",
        title="Where a lost message is sent again from",
        x_label="hosts",
        y_label="distance to the host that lost it, link costs",
        lines=[Line(NAMES[which], table.series("cost", "hosts", {"protocol": which})) for which in (OURS, BASIC)],
        x_log=True,
    )


def _partitions(table: Table, redelivery: Table) -> Section:
    return Section(
        title="Section 6: partitions",
        text="The link between the source's side and k hosts fails; m messages are broadcast; three seconds later it "
        "is repaired. Copies over that link from then on. The basic algorithm also repeats the last message before the "
        "failure, whose acknowledgements were lost.",
        claims=[
            _never_again(table),
            _one_prober(table),
            _crossings(table),
            _basic_crossings(table),
            _control_of_recovery(table),
            _from_close_by(redelivery),
        ],
        charts=[_crossings_chart(table, "messages"), _crossings_chart(table, "hosts")],
        listings=[_crossings_listing(table)],
    )


def _cells(table: Table, which: str) -> list[dict[str, int]]:
    return [where for where in table.combinations() if where["protocol"] == which]


def _never_again(table: Table) -> Claim:
    ours = [table.point("sent", where) for where in _cells(table, OURS)]
    basic = [table.point("sent", where).mean / (where["hosts"] + 1) for where in _cells(table, BASIC)]
    return Claim(
        where="section 6",
        says="while a partition lasts the basic algorithm sends messages again and again; the source of ours never "
        "does unless asked",
        measured=f"transmissions of a message by the source until the repair: ours {min(p.mean for p in ours):g} to "
        f"{max(p.mean for p in ours):g}; basic {min(basic):.0f} to {max(basic):.0f} for each host",
        verdict=verdict(all(point.mean == 1.0 for point in ours) and min(basic) > 1),
    )


def _one_prober(table: Table) -> Claim:
    points = [table.point("probers", where) for where in _cells(table, OURS)]
    one = sum(point.mean == 1.0 and point.half_width == 0.0 for point in points)
    return Claim(
        where="section 6",
        says="the isolated hosts select a coordinator, and only it probes the network",
        measured=f"exactly one host probes from 1.5 s after the failure on in {one} of {len(points)} settings "
        f"({points[0].replications} replications each)",
        verdict=verdict(one == len(points)),
    )


def _crossings(table: Table) -> Claim:
    cells = _cells(table, OURS)
    exactly = sum(
        table.point("data", where).mean == where["messages"] and table.point("data", where).half_width == 0.0
        for where in cells
    )
    lacking = sum(table.point("lacking", where).mean for where in table.combinations())
    return Claim(
        where="section 6",
        says="ours needs only m transmissions over the repaired link",
        measured=f"exactly m in {exactly} of {len(cells)} settings, every time; {lacking:g} deliveries owed at the end",
        verdict=verdict(exactly == len(cells) and lacking == 0),
    )


def _basic_crossings(table: Table) -> Claim:
    cells = _cells(table, BASIC)
    ratios = [table.point("data", where).low / (where["hosts"] * where["messages"]) for where in cells]
    return Claim(
        where="section 6",
        says="the basic algorithm takes at least km",
        measured=f"{min(ratios):.2f} to {max(ratios):.2f} times km in {len(cells)} settings",
        verdict=verdict(min(ratios) >= 1.0),
    )


def _control_of_recovery(table: Table) -> Claim:
    """For each k, over m."""
    told = []
    holds = True
    for hosts in table.values("hosts"):
        series = table.series("control", "messages", {"protocol": OURS, "hosts": hosts})
        means = [point.mean for _, point in series]
        holds = holds and not rises(series)
        told.append(f"k = {hosts}: {min(means):.3g} to {max(means):.3g}")
    largest = {"protocol": BASIC, "hosts": table.values("hosts")[-1], "messages": table.values("messages")[-1]}
    return Claim(
        where="section 6",
        says="the network is not flooded with control messages when a partition is repaired (requirement b)",
        measured=f"control messages of the tree over the repaired link, for any m: {'; '.join(told)}; basic, k = "
        f"{largest['hosts']}, m = {largest['messages']}: {table.point('control', largest).told()} acknowledgements",
        verdict=verdict(holds),
    )


def _from_close_by(table: Table) -> Claim:
    told = []
    close, other, no_better = True, True, True
    for hosts in table.values("hosts"):
        part, by_source, near, random = (
            table.point(metric, {"hosts": hosts}) for metric in ("part", "by_source", "by_nearer", "by_nearer.random")
        )
        close = close and near.low > 0.5
        other = other and by_source.high < 1.0
        no_better = no_better and near.low <= random.high
        told.append(
            f"{hosts} hosts: by a nearer one {near.told(2)}, by the source {by_source.told(2)} of the times, from "
            f"{part.told(3)} of its distance"
        )
    because = ""
    if other and not close and no_better:
        because = (
            "the coordinator goes round its list again and again, as Appendix I lets it, and the link comes back at "
            "any moment of a round: whoever comes next answers, or the source, if the coordinator hears it first. Any "
            f"host of that side, each as likely, would be a nearer one {random.mean:.2f} of the times"
        )
    return Claim(
        where="section 6",
        says="also after a partition it is very likely that the redelivery takes place from a host in close proximity, "
        "not necessarily the source",
        measured="random networks, a link failed that parts several hosts from the source and others; where others are "
        "nearer than the source: " + "; ".join(told) + f" ({part.replications} replications)",
        verdict=verdict(close and other, because),
        because=because,
    )


def _crossings_chart(table: Table, over: str) -> Chart:
    other = "hosts" if over == "messages" else "messages"
    letter = {"hosts": "k", "messages": "m"}
    lines = []
    for fixed in (table.values(other)[0], table.values(other)[-1]):
        for which in (OURS, BASIC):
            series = table.series("data", over, {"protocol": which, other: fixed})
            lines.append(Line(f"{NAMES[which]}, {letter[other]} = {fixed}", series))
            points = []
            for x, _ in series:
                copies = x if over == "messages" else fixed
                points.append((x, exact(copies if which == OURS else x * fixed)))
            lines.append(Line("m" if which == OURS else "km", points, formula=True))
    return Chart(
        name=f"kogan-crossings-{over}",
        title=f"Crossings of the repaired link over {letter[over]}",
        x_label="messages m while the link was down" if over == "messages" else "hosts k behind the link",
        y_label="copies over the link after its repair",
        lines=lines,
        x_log=True,
        y_log=True,
    )


def _crossings_listing(table: Table) -> Listing:
    rows = []
    for hosts in table.values("hosts"):
        for messages in table.values("messages"):
            where = {"hosts": hosts, "messages": messages}
            rows.append(
                [str(hosts), str(messages)]
                + [
                    table.point(metric, {**where, "protocol": which}).told(5)
                    for which in (OURS, BASIC)
                    for metric in ("data", "control")
                ]
                + [
                    table.point("recovery_us", {**where, "protocol": which}).over(1000).told(3)
                    for which in (OURS, BASIC)
                ]
            )
    return Listing(
        "Copies over the repaired link",
        ["k", "m", "data, ours", "control, ours", "data, basic", "acks, basic", "ours, ms", "basic, ms"],
        rows,
        note="The last two columns: from the repair until everybody has everything.",
    )


def _epidemic(table: Table) -> Section:
    def told(which: str) -> str:
        points = table.series("have", "reached", {"protocol": which})
        return "; ".join(f"{reached} of 9 reached: {point.told()}" for reached, point in points)

    ours = [table.point("have", where) for where in _cells(table, OURS)]
    everybody = [table.point("others", where).mean for where in _cells(table, OURS)]
    alone = all(table.point("have", where).mean == where["reached"] for where in _cells(table, BASIC))
    return Section(
        title="Sections 1 and 3: epidemic propagation",
        text="In random networks of ten hosts a message reaches some of them; then the source is cut off for good.",
        claims=[
            Claim(
                where="section 3",
                says="the message propagates out of any host that has it, as long as there is a path",
                measured=f"hosts of 9 that have it at last: {told(OURS)} ({ours[0].replications} replications)",
                verdict=verdict([point.mean for point in ours] == everybody),
            ),
            Claim(
                where="section 3",
                says="with a simple algorithm it would not be received until the source recovers",
                measured=f"hosts of 9 that have it at last: {told(BASIC)}",
                verdict=verdict(alone),
            ),
        ],
    )


PAPER = Paper(
    name="kogan",
    title="Garcia-Molina, Kogan 1988: An Implementation of Reliable Broadcast Using an Unreliable Multicast Facility",
    grids=[f"kogan_{name}" for name in GRIDS],
    sections=sections,
)
