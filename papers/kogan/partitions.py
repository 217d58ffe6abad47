"""Garcia-Molina and Kogan, section 6: what a partition costs when it is repaired."""

from papers.common.judging import points_of, rises
from papers.common.paper import Chart, Claim, Line, Listing, Section, exact, verdict
from papers.common.table import Table
from papers.kogan.control import BASIC, NAMES, OURS


def partitions(table: Table, redelivery: Table) -> Section:
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


def cells_of(table: Table, which: str) -> list[dict[str, int]]:
    return [where for where in table.combinations() if where["protocol"] == which]


def _never_again(table: Table) -> Claim:
    ours = [table.point("sent", where) for where in cells_of(table, OURS)]
    basic = [table.point("sent", where).mean / (where["hosts"] + 1) for where in cells_of(table, BASIC)]
    return Claim(
        where="section 6",
        says="while a partition lasts the basic algorithm sends messages again and again; the source of ours never "
        "does unless asked",
        measured=f"transmissions of a message by the source until the repair: ours {min(p.mean for p in ours):g} to "
        f"{max(p.mean for p in ours):g}; basic {min(basic):.0f} to {max(basic):.0f} for each host",
        verdict=verdict(all(point.mean == 1.0 for point in ours) and min(basic) > 1),
    )


def _one_prober(table: Table) -> Claim:
    points = [table.point("probers", where) for where in cells_of(table, OURS)]
    one = sum(point.mean == 1.0 and point.half_width == 0.0 for point in points)
    return Claim(
        where="section 6",
        says="the isolated hosts select a coordinator, and only it probes the network",
        measured=f"exactly one host probes from 1.5 s after the failure on in {one} of {len(points)} settings "
        f"({points[0].replications} replications each)",
        verdict=verdict(one == len(points)),
    )


def _crossings(table: Table) -> Claim:
    cells = cells_of(table, OURS)
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
    cells = cells_of(table, BASIC)
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
        holds = holds and not rises(points_of(series))
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
