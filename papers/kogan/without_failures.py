"""Garcia-Molina and Kogan, section 6: no failures, and isolated ones."""

from papers.common.paper import Chart, Claim, Line, Section, verdict
from papers.common.table import Table
from papers.kogan.control import BASIC, NAMES, OURS, quiet


def without_failures(control: Table, transient: Table) -> Section:
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
