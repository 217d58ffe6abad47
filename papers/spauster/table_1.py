"""Garcia-Molina and Spauster, section 4.1: Table 1, point-to-point networks."""

from typing import Any

from papers.common.paper import Chart, Claim, Line, Listing, Section, exact, verdict
from papers.common.table import Table
from papers.spauster.curves import SITES, SIZES, inside
from papers.spauster.shares import always, formulas, shares

SLIGHTLY = 1.2  # "only slightly worse": a fifth


def point_to_point(fixed: Table, mesh: Table, sites: Table, sizes: Table) -> Section:
    _, most = mesh.replications()
    return Section(
        title="Section 4.1: Table 1, point-to-point networks",
        text="One multicast while nothing else happens, counted and timed in the simulator. Two-phase and centralized: "
        "n members, L = 1 ms, P = 0.1 ms. Propagation: a random one of 10, 20 or 40 random groups of 5 in 50 sites, "
        f"{most} times in each setting, the source outside; the same multicast by two_phase beside it. D is until the "
        "last member has it.",
        claims=[
            formulas(fixed, "mesh", "Table 1", "N = 3n, D = 3L + (2n+1)P", "N = n, D = 2L + nP"),
            _messages(mesh),
            _bound(mesh),
            _much_less(mesh),
            _fewer_than_two_phase(mesh, sites, sizes),
            _slightly(sites),
            _shallow(mesh),
            _deep(mesh),
            _competitive(mesh),
            _variance(mesh),
            _central_better(fixed, mesh),
        ],
        charts=[_fixed_chart(fixed)],
        listings=[_listing(mesh)],
    )


def _messages(table: Table) -> Claim:
    agree, count = always(table, "messages.agree")
    return Claim(
        where="Table 1",
        says="propagation: N = n + ε",
        measured=f"exactly n and the extra nodes of the group in {agree} of {count} multicasts",
        verdict=verdict(agree == count),
    )


def _bound(table: Table) -> Claim:
    agree, count = always(table, "delay_us.within")
    least, _ = always(table, "delay_us.least")
    return Claim(
        where="Table 1",
        says="propagation: D is at most (d+1)L + (n+ε)P",
        measured=f"within that in {agree} of {count} multicasts, and at least (d+1)(L+P) in {least}",
        verdict=verdict(agree == count and least == count),
    )


def _much_less(table: Table) -> Claim:
    parts = shares(table, "processing.part")
    largest, smallest = max(parts, key=lambda part: part.mean), min(parts, key=lambda part: part.mean)
    holds = all(part.high < 0.8 for part in parts)
    because = ""
    bush, deep = shares(table, "processing.part.bush"), shares(table, "processing.part.deep")
    if not holds and bush and min(part.mean for part in bush) == 1.0:
        because = (
            "in a bush (d = 1) the last child waits for all the others, which is the bound itself: measured exactly 1; "
            f"deeper groups, {min(part.mean for part in deep):.2f} to {max(part.mean for part in deep):.2f}, because "
            "in a chain of extra nodes every message lies on the way of the last member"
        )
    return Claim(
        where="section 4.1",
        says="… and in general is much less",
        measured=f"the processing on the way of the last member is {smallest.told(3)} to {largest.told(3)} of the "
        f"bound's (n+ε)P, on average over a setting ({largest.replications} replications each)",
        verdict=verdict(holds, because),
        because=because,
    )


def _fewer_than_two_phase(mesh: Table, sites: Table, sizes: Table) -> Claim:
    count = fewer = 0
    ratios = []
    for table, over, limits in ((sites, "sites", SITES), (sizes, "size", SIZES)):
        for where in inside(table, over, limits):
            members, extra = table.point("members", where).mean, table.point("extra", where)
            count += 1
            fewer += members + extra.high < 3 * members
            ratios.append((members + extra.mean) / (3 * members))
    running = [
        mesh.point("messages", where).mean / mesh.point("messages.two_phase", where).mean
        for where in mesh.combinations()
    ]
    return Claim(
        where="section 4.1",
        says="propagation is significantly more efficient than two-phase in the number of messages",
        measured=f"n + ε is less than 3n in {fewer} of {count} settings of Graphs 1 to 3, {min(ratios):.2f} to "
        f"{max(ratios):.2f} of it; running, {min(running):.2f} to {max(running):.2f} of two_phase's",
        verdict=verdict(fewer == count and max(running) < 1),
    )


def _slightly(table: Table) -> Claim:
    settings = inside(table, "sites", SITES)
    slightly = 0
    ratios: dict[int, float] = {}
    for where in settings:
        members, extra = table.point("members", where).mean, table.point("extra", where)
        slightly += (members + extra.high) / members <= SLIGHTLY
        ratio = (members + extra.mean) / members
        ratios[where["groups"]] = max(ratio, ratios.get(where["groups"], 0.0))
    because = ""
    if slightly < len(settings):
        because = "ε grows with the number of overlapping groups (Graph 3): " + ", ".join(
            f"{groups} groups up to {ratio:.2f} n" for groups, ratio in ratios.items()
        )
    return Claim(
        where="section 4.1",
        says="… and only slightly worse than the centralized solution",
        measured=f"n + ε at most {SLIGHTLY:g} n in {slightly} of {len(settings)} settings of Graph 3",
        verdict=verdict(slightly == len(settings), because),
        because=because,
    )


def _shallow(table: Table) -> Claim:
    faster, count = always(table, "faster.shallow")
    return Claim(
        where="section 4.1",
        says="if d is at most 2, the delay is better than that of two-phase",
        measured=f"faster in {faster} of {count} multicasts to groups of such depth, L/P from 10 to 1/10",
        verdict=verdict(count > 0 and faster == count),
    )


def _ratio(times: list[int]) -> str:
    return f"L = {times[0] / times[1]:g} P"


def _deep(table: Table) -> Claim:
    found: list[tuple[str, int, int]] = []
    for times in table.values("times"):
        points = [
            table.point("faster.deep", where)
            for where in table.combinations()
            if where["times"] == times and table.has("faster.deep", where)
        ]
        faster = round(sum(point.mean * point.replications for point in points))
        found.append((_ratio(times), faster, sum(point.replications for point in points)))
    found.sort(key=lambda part: float(part[0].split()[2]))
    processing, *_, latency = found
    return Claim(
        where="section 4.1",
        says="if d is greater than 2, two-phase may be faster, but only if the latency dominates",
        measured="propagation is faster, of the multicasts to such groups: "
        + "; ".join(f"{name}: {faster} of {count}" for name, faster, count in found),
        verdict=verdict(
            latency[2] > 0 and processing[2] > 0 and 2 * latency[1] < latency[2] and 2 * processing[1] > processing[2]
        ),
    )


def _competitive(table: Table) -> Claim:
    """For each setting, by the intervals."""
    settings = table.combinations()
    surpasses = competes = 0
    ratios = []
    for where in settings:
        ours, other = table.point("delay_us", where), table.point("delay_us.two_phase", where)
        surpasses += ours.high < other.low
        competes += ours.low <= 2 * other.high
        ratios.append(ours.mean / other.mean)
    return Claim(
        where="section 6",
        says="propagation is competitive with two-phase in terms of delay, and can surpass it when groups are small",
        measured=f"groups of 5: D is {min(ratios):.2f} to {max(ratios):.2f} of two-phase's, less in {surpasses} of "
        f"{len(settings)} settings, by the intervals at most twice in {competes}",
        verdict=verdict(competes == len(settings) and surpasses > 0),
    )


def _variance(table: Table) -> Claim:
    holds = True
    shares: dict[str, list[float]] = {"": [], ".two_phase": []}
    for where in table.combinations():
        for method, found in shares.items():
            found.append(
                table.point(f"delay_us{method}.members", where).mean / table.point(f"delay_us{method}", where).mean
            )
        holds = holds and shares[""][-1] < shares[".two_phase"][-1]
    return Claim(
        where="section 4.1",
        says="most members get the message with small delay; in two-phase each site must wait at least two full rounds",
        measured="the average member has it after this part of D, by setting: propagation "
        f"{min(shares['']):.2f} to {max(shares['']):.2f}, two-phase {min(shares['.two_phase']):.2f} to "
        f"{max(shares['.two_phase']):.2f}",
        verdict=verdict(holds),
    )


def _central_better(fixed: Table, mesh: Table) -> Claim:
    central = {"protocol": "sequencer", "model": "mesh", "size": 5}
    messages, delay = fixed.point("messages", central).mean, fixed.point("delay_us", central).mean
    settings = [where for where in mesh.combinations() if where["times"] == [1_000, 100]]
    better = sum(
        messages <= mesh.point("messages", where).low and delay <= mesh.point("delay_us", where).low
        for where in settings
    )
    return Claim(
        where="section 4.1",
        says="the centralized solution is better in terms of delay and number of messages",
        measured=f"n = 5, L = 10 P: centralized N {messages:g}, D {delay / 1000:g} ms; propagation "
        + "; ".join(
            f"{where['groups']} groups: N {mesh.point('messages', where).told(3)}, "
            f"D {mesh.point('delay_us', where).over(1000).told(3)} ms"
            for where in settings
        ),
        verdict=verdict(better == len(settings)),
    )


def _fixed_chart(table: Table) -> Chart:
    lines = []
    for protocol, name in (("two_phase", "two-phase"), ("sequencer", "centralized")):
        where = {"protocol": protocol, "model": "mesh"}
        series = table.series("delay_us", "size", where)
        lines.append(Line(name, [(size, point.over(1000)) for size, point in series]))
        formula = [(size, exact(point.mean / 1000)) for size, point in table.series("delay_us.formula", "size", where)]
        lines.append(Line("Table 1", formula, formula=True))
    return Chart(
        name="spauster-table-1",
        title="Delay of an ordered multicast, point to point",
        x_label="members n",
        y_label="D, ms (L = 1 ms, P = 0.1 ms)",
        lines=lines,
    )


def _listing(table: Table) -> Listing:
    rows = []
    for where in sorted(
        table.combinations(), key=lambda where: (where["times"][0] / where["times"][1], where["groups"])
    ):
        columns: list[Any] = [_ratio(where["times"]), str(where["groups"])]
        columns += [table.point(metric, where).told(3) for metric in ("depth", "extra", "messages")]
        columns += [
            table.point(metric, where).over(1000).told(3)
            for metric in ("delay_us", "delay_us.bound", "delay_us.two_phase")
        ]
        rows.append(columns)
    return Listing(
        "Propagation and two-phase, groups of 5 in 50 sites",
        ["times", "groups", "d", "ε", "N", "D, ms", "(d+1)L + (n+ε)P, ms", "two-phase D, ms"],
        rows,
    )
