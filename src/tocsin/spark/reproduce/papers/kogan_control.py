"""Garcia-Molina, Kogan 1988, section 6: control traffic over the number of messages, and the period delta."""

from collections.abc import Sequence

from tocsin.protocols.coordinator_tree.options import CoordinatorTreeOptions
from tocsin.spark.reproduce.judging import falls, replications, rises
from tocsin.spark.reproduce.paper import Chart, Claim, Line, Section, exact, verdict
from tocsin.spark.reproduce.table import Point, Table

OURS, BASIC = "coordinator_tree", "ack_all"
NAMES = {OURS: "coordinator tree", BASIC: "basic algorithm"}
PROBE_US = CoordinatorTreeOptions().probe_us
INDEPENDENT = 0.1  # the control messages of few and of many messages differ from the middle by at most this part


def quiet(table: Table, metric: str, which: str) -> list[Point]:
    return [point for _, point in table.series(metric, "messages", {"protocol": which, "parted": False})]


def control(table: Table, delta: Table) -> Section:
    return Section(
        title="Section 6: control traffic and delta",
        text="All messages but data in twenty seconds, for 10 to thousands of broadcasts in the first ten of them, "
        "with a partition of three seconds and without; then the period delta of null messages. A transient failure is "
        "the last message lost to five hosts; a partition lasts 12 delta.",
        claims=[
            _per_message(table),
            _independent(table),
            _more_control(table),
            _cheaper(delta),
            _slower(delta),
            _probing_does_not_wait(delta),
        ],
        charts=[_control_chart(table), _delta_chart(delta)],
    )


def _per_message(table: Table) -> Claim:
    points = quiet(table, "control.per_message_and_host", BASIC)
    return Claim(
        where="section 6",
        says="in the basic algorithm there is one acknowledgement per message per host",
        measured=f"{_range(points)}, for any number of messages ({points[0].replications} replications)",
        verdict=verdict(all(point.mean == 1.0 for point in points)),
    )


def _range(points: Sequence[Point]) -> str:
    low, high = min(point.mean for point in points), max(point.mean for point in points)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _independent(table: Table) -> Claim:
    told = []
    holds = True
    for parted in (False, True):
        series = table.series("control", "messages", {"protocol": OURS, "parted": parted})
        means = [point.mean for _, point in series]
        middle = (max(means) + min(means)) / 2
        holds = holds and max(means) - min(means) <= 2 * INDEPENDENT * middle
        told.append(
            f"{'with' if parted else 'without'} a partition {series[0][1].told(4)} for {series[0][0]} messages, "
            f"{series[-1][1].told(4)} for {series[-1][0]}, between {min(means):.0f} and {max(means):.0f} for all"
        )
    return Claim(
        where="section 6",
        says="in ours the control traffic is totally independent of the number of messages",
        measured="; ".join(told) + f" ({replications(series)})",
        verdict=verdict(holds),
    )


def _more_control(table: Table) -> Claim:
    few, many = table.values("messages")[0], table.values("messages")[-1]
    points = {
        (which, messages): table.point("control", {"protocol": which, "parted": False, "messages": messages})
        for which in (OURS, BASIC)
        for messages in (few, many)
    }
    return Claim(
        where="section 6",
        says="our algorithm relies more heavily on control messages",
        measured=f"{few} messages in twenty seconds: ours {points[OURS, few].told(4)}, basic "
        f"{points[BASIC, few].told(4)}; {many} messages: ours {points[OURS, many].told(4)}, basic "
        f"{points[BASIC, many].told(5)}",
        verdict=verdict(points[OURS, few].low > points[BASIC, few].high),
    )


def _cheaper(table: Table) -> Claim:
    series = table.series("messages_in_10_s", "delta_us", {"failure": "transient"})
    return Claim(
        where="section 6",
        says="keeping the frequency of null messages down (large delta) keeps down the cost of the algorithm",
        measured="messages in ten seconds while nothing is broadcast: "
        + "; ".join(f"delta {delta / 1000:g} ms: {point.told()}" for delta, point in series),
        verdict=verdict(falls(series)),
    )


def _slower(table: Table) -> Claim:
    series = table.series("recovery_us", "delta_us", {"failure": "transient"})
    return Claim(
        where="section 6",
        says="increasing the frequency allows hosts to detect missing messages faster, and results in faster recovery",
        measured="from the end of a transient failure until all have the lost message: "
        + "; ".join(f"delta {delta / 1000:g} ms: {point.over(1000).told(4)} ms" for delta, point in series)
        + f" ({replications(series)})",
        verdict=verdict(rises(series)),
    )


def _probing_does_not_wait(table: Table) -> Claim:
    series = table.series("recovery_us", "delta_us", {"failure": "partition"})
    above = [(delta, point) for delta, point in series if delta >= PROBE_US]
    holds = rises(above)
    because = ""
    if not holds and max(point.high for _, point in above) < 2 * PROBE_US:
        because = (
            "after a long partition the loss is known already: the coordinator probes every `probe_us` (50 ms), "
            "whatever delta is. Only where delta is shorter than that does a null message tell it sooner"
        )
    return Claim(
        where="section 6",
        says="… also when a partition is repaired",
        measured="from the repair until all have everything: "
        + "; ".join(f"delta {delta / 1000:g} ms: {point.over(1000).told(4)} ms" for delta, point in series),
        verdict=verdict(holds, because),
        because=because,
    )


def _control_chart(table: Table) -> Chart:
    lines = [
        Line(
            f"{NAMES[which]}, {'a partition' if parted else 'no failure'}",
            table.series("control", "messages", {"protocol": which, "parted": parted}),
        )
        for which in (OURS, BASIC)
        for parted in (False, True)
    ]
    lines.append(Line("6 a message", [(m, exact(6.0 * m)) for m in table.values("messages")], formula=True))
    return Chart(
        name="kogan-control",
        title="Control messages over the number of messages",
        x_label="broadcasts, in 10 s",
        y_label="control messages in 20 s, 6 hosts",
        lines=lines,
        x_log=True,
        y_log=True,
    )


def _delta_chart(table: Table) -> Chart:
    names = {"transient": "after a transient failure", "partition": "after a partition"}
    lines = []
    for failure, name in names.items():
        series = table.series("recovery_us", "delta_us", {"failure": failure})
        lines.append(Line(name, [(delta / 1000, point.over(1000)) for delta, point in series]))
    return Chart(
        name="kogan-delta",
        title="Recovery time over delta",
        x_label="delta, ms",
        y_label="until all have everything, ms",
        lines=lines,
        x_log=True,
        y_log=True,
    )
