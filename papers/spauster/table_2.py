"""Garcia-Molina and Spauster, section 4.2: Table 2, broadcast networks."""

from papers.common.paper import Chart, Claim, Line, Section, exact, verdict
from papers.common.table import Table
from papers.spauster.shares import always, formulas


def broadcast(fixed: Table, table: Table) -> Section:
    _, most = table.replications()
    return Section(
        title="Section 4.2: Table 2, broadcast networks",
        text=f"The same on a network that carries one message at a time, T = 1 ms each; propagation {most} times in "
        "each setting, random groups in 50 sites.",
        claims=[
            formulas(fixed, "lan", "Table 2", "N = n+2, D = (n+2)T", "N = 2, D = 2T"),
            _levels(table),
            _paths(table),
            _small_n(table),
            _central_superior(fixed, table),
        ],
        charts=[_lan_chart(table)],
    )


def _levels(table: Table) -> Claim:
    messages, count = always(table, "messages.agree")
    delays, _ = always(table, "delay_us.agree")
    inner, _ = always(table, "messages.inner")
    because = ""
    if messages < count and inner == count:
        because = (
            "a level with two inner nodes on the way needs two multicasts: N is 1 + the number of inner nodes in "
            f"{inner} of {count}"
        )
    return Claim(
        where="Table 2",
        says="propagation: a multicast at each level, N = d + 1, D = (d+1)T",
        measured=f"N is so in {messages} and D in {delays} of {count} multicasts",
        verdict=verdict(messages == count and delays == count, because),
        because=because,
    )


def _paths(table: Table) -> Claim:
    agree, count = always(table, "path.messages.agree", "path.delay_us.agree")
    within, all_of_them = always(table, "delay_us.within")
    return Claim(
        where="Table 2",
        says="… (where every level has one inner node); the delay is the number of messages multiplied by T",
        measured=f"N = d + 1 and D = (d+1)T in {agree} of {count} such numbers; D at most N·T in {within} of "
        f"{all_of_them} multicasts",
        verdict=verdict(agree == count and within == all_of_them and count > 0),
    )


def _ratios(table: Table) -> dict[int, tuple[float, float]]:
    """By group size: two-phase's messages over propagation's, the least and the most over the numbers of groups."""
    found: dict[int, tuple[float, float]] = {}
    for size in table.values("size"):
        settings = [where for where in table.combinations() if where["size"] == size]
        ratios = [
            table.point("messages.two_phase", where).mean / table.point("messages", where).mean for where in settings
        ]
        found[size] = min(ratios), max(ratios)
    return found


def _small_n(table: Table) -> Claim:
    found = _ratios(table)
    smallest, *_, largest = found
    return Claim(
        where="section 4.2",
        says="propagation has small delay and requires few messages; two-phase is only comparable for small n",
        measured="two-phase sends this many times propagation's messages: "
        + "; ".join(f"n = {size}: {low:.1f} to {high:.1f}" for size, (low, high) in found.items()),
        verdict=verdict(found[smallest][0] <= 2.5 and found[largest][0] > 2.5),
    )


def _central_superior(fixed: Table, table: Table) -> Claim:
    settings = table.combinations()
    better = sum(
        fixed.point("messages", {"protocol": "sequencer", "model": "lan", "size": size}).mean
        <= table.point("messages", where).mean
        for where in settings
        for size in fixed.values("size")
        if size == where["size"]
    )
    compared = sum(where["size"] in fixed.values("size") for where in settings)
    return Claim(
        where="section 4.2",
        says="the table seems to indicate that the centralized solution is superior in the broadcast case",
        measured=f"never more messages than propagation: {better} of {compared} settings",
        verdict=verdict(better == compared and compared > 0),
    )


def _lan_chart(table: Table) -> Chart:
    groups = table.values("groups")
    lines = [Line("two-phase", table.series("messages.two_phase", "size", {"groups": groups[0]}))]
    lines.append(Line("n + 2", [(size, exact(size + 2)) for size in table.values("size")], formula=True))
    for count in groups:
        lines.append(Line(f"propagation, {count} groups", table.series("messages", "size", {"groups": count})))
        depth = [(size, exact(point.mean + 1)) for size, point in table.series("depth", "size", {"groups": count})]
        lines.append(Line("d + 1", depth, formula=True))
    return Chart(
        name="spauster-table-2",
        title="Messages of an ordered multicast on a broadcast network",
        x_label="members n (50 sites)",
        y_label="N, messages (D in units of T)",
        lines=lines,
        x_log=True,
    )
