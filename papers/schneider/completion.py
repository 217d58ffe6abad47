"""Section 4 of Schneider, Gries and Schlichting: completion time and buffers."""

from collections.abc import Callable

from papers.common.paper import Chart, Claim, Line, Mark, Section, exact, verdict
from papers.common.table import Table

SHAPES = {"minimum": "minimum time", "bush": "bush", "chain": "chain"}


def completion(table: Table) -> Section:
    claims = [_exactly_planned(table), _never_beaten(table), _logarithmic(table)]
    claims += [_bush_regime(table), _chain_regime(table), _doubling(table), _buffers(table)]
    return Section(
        title="Section 4: completion time and buffers",
        text="One broadcast of `tree_ack` on a mesh: a message takes D, sending one occupies the sender for E. "
        "No failures; the run is deterministic, so one replicate says it all.",
        claims=claims,
        charts=[_chart(table, times) for times in _by_ratio(table)] + [_buffer_chart(table)],
    )


def _by_ratio(table: Table) -> list[list[int]]:
    return sorted(table.values("times"), key=lambda times: times[0] / times[1])


def _label(times: list[int]) -> str:
    delay, gap = times
    return f"{delay // gap}" if delay >= gap else f"1/{gap // delay}"


def _chart(table: Table, times: list[int]) -> Chart:
    unit = min(times)
    lines = []
    for shape, name in SHAPES.items():
        points = table.series("completion", "sites", {"shape": shape, "times": times})
        lines.append(Line(name, [(sites, point.over(unit)) for sites, point in points]))
    delay, gap = times
    smaller = "E" if delay >= gap else "D"
    return Chart(
        name=f"schneider-completion-{delay}-{gap}",
        title=f"Completion time, D/E = {_label(times)}",
        x_label="processors N",
        y_label=f"time to the last reception, in units of {smaller}",
        lines=lines,
        marks=_regime(table, times, unit),
        x_log=True,
        y_log=True,
    )


def _regime(table: Table, times: list[int], unit: int) -> list[Mark]:
    """Where the paper's condition for bush or chain ends to hold."""
    delay, gap = times
    shape, limit = ("bush", delay / gap) if delay > gap else ("chain", gap / delay)
    inside = [sites for sites in table.values("sites") if sites - 1 < limit]
    if delay == gap or len(inside) < 2:
        return []
    point = table.point("completion", {"shape": shape, "times": times, "sites": inside[-1]})
    condition = "D > (N-1)E" if shape == "bush" else "E > (N-1)D"
    return [Mark(f"{shape} optimal up to here: {condition}", inside[-1], point.mean / unit)]


def _buffer_chart(table: Table) -> Chart:
    lines = []
    for times in _by_ratio(table):
        where = {"shape": "minimum", "times": times}
        lines.append(Line(f"D/E = {_label(times)}", table.series("buffers", "sites", where)))
        planned = [(sites, exact(point.mean)) for sites, point in table.series("buffers.planned", "sites", where)]
        lines.append(Line("the paper's C", planned, formula=True))
    return Chart(
        name="schneider-buffers",
        title="Messages under way at once, minimum-time strategy",
        x_label="processors N",
        y_label="messages in transit, most at once",
        lines=lines,
        x_log=True,
        y_log=True,
        note="Dotted: the capacity C of section 4, which is for the largest broadcast of the same length.",
    )


def _exactly_planned(table: Table) -> Claim:
    cells = [where for where in table.combinations() if where["shape"] == "minimum"]
    equal = sum(
        table.point("completion", where).mean == table.point("completion.planned", where).mean for where in cells
    )
    return Claim(
        where="section 4",
        says="t_B is the smallest integer with T_DE(t_B) >= N",
        measured=f"the simulated protocol completes exactly at t_B in {equal} of {len(cells)} settings",
        verdict=verdict(equal == len(cells)),
    )


def _never_beaten(table: Table) -> Claim:
    worse = total = 0
    for where in table.combinations():
        if where["shape"] != "minimum":
            best = table.point("completion", {**where, "shape": "minimum"}).mean
            total += 1
            worse += table.point("completion", where).mean >= best
    return Claim(
        where="section 4",
        says="the strategy minimizes completion time",
        measured=f"chain or bush is never faster: {worse} of {total} settings "
        "(against every ordered tree of up to 7 processors: papers/schneider/tests)",
        verdict=verdict(worse == total),
    )


def _logarithmic(table: Table) -> Claim:
    """From N to 4N, the time grows by the same amount again and again."""
    sites = [count for count in table.values("sites") if count >= 4 and 4 * count in table.values("sites")]
    growth: list[str] = []
    holds = True
    for times in table.values("times"):
        steps = []
        for count in sites:
            where = {"shape": "minimum", "times": times}
            small = table.point("completion", {**where, "sites": count}).mean
            steps.append(table.point("completion", {**where, "sites": 4 * count}).mean - small)
        unit = sum(times)
        holds = holds and max(steps) <= 4 * unit
        growth.append(f"D/E = {_label(times)}: {min(steps):g} to {max(steps):g}")
    return Claim(
        where="section 4",
        says="t_B is O(log N)",
        measured="four times the processors cost a bounded number of time units more, whatever N is: "
        + "; ".join(growth),
        verdict=verdict(holds),
    )


def _bush_regime(table: Table) -> Claim:
    return _regime_claim(table, "bush", "if D > (N-1)E a bush minimizes the time", lambda d, e, n: d > (n - 1) * e)


def _chain_regime(table: Table) -> Claim:
    return _regime_claim(table, "chain", "if E > (N-1)D the chain is optimal", lambda d, e, n: e > (n - 1) * d)


def _regime_claim(table: Table, shape: str, says: str, applies: Callable[[int, int, int], bool]) -> Claim:
    inside = equal = outside = slower = 0
    for where in table.combinations():
        if where["shape"] != shape:
            continue
        best = table.point("completion", {**where, "shape": "minimum"}).mean
        mine = table.point("completion", where).mean
        if applies(where["times"][0], where["times"][1], where["sites"]):
            inside += 1
            equal += mine == best
        else:
            outside += 1
            slower += mine > best
    return Claim(
        where="section 4.1",
        says=says,
        measured=f"equal to the minimum in {equal} of {inside} settings inside the condition; "
        f"slower than the minimum in {slower} of {outside} outside it",
        verdict=verdict(equal == inside and inside > 0),
    )


def _doubling(table: Table) -> Claim:
    powers = [count for count in table.values("sites") if count & (count - 1) == 0]
    equal = sum(
        table.point("completion", {"shape": "minimum", "times": [1, 1], "sites": count}).mean == count.bit_length() - 1
        for count in powers
    )
    return Claim(
        where="section 4.3",
        says="with D = E = 1, T_DE(t) = 2^t",
        measured=f"N = 2^t processors are done at t for {equal} of {len(powers)} powers up to {powers[-1]}",
        verdict=verdict(equal == len(powers)),
    )


def _buffers(table: Table) -> Claim:
    cells = [where for where in table.combinations() if where["shape"] == "minimum"]
    within = reached = 0
    for where in cells:
        found, planned = table.point("buffers", where).mean, table.point("buffers.planned", where).mean
        within += found <= planned
        reached += found == planned
    return Claim(
        where="section 4",
        says="the buffer capacity needed is at most C, and C is needed",
        measured=f"never more than C in {within} of {len(cells)} settings; exactly C in {reached} "
        "(the others do not use up their last time step)",
        verdict=verdict(within == len(cells) and reached > 0),
    )
