"""Garcia-Molina and Spauster, sections 3, 4.3 and 5.2: the running protocol, and the cost of a new graph."""

import math

from papers.common.judging import about, every, within
from papers.common.paper import Claim, Section, verdict
from papers.common.table import Table

ROUGHLY = 1.1  # "roughly the same": neither is more than a tenth above the other
ORDER = ("multiple_group", "multiple_source", "single_source")  # the properties (c), (b) and (a) of section 1


def running(change: Table, failures: Table) -> Section:
    return Section(
        title="Sections 4.3 and 5.2: setting up, and failure-free operation",
        text="Messages that bring a new propagation graph to everybody when one of ten random groups of 5 changes; and "
        "the groups of figure 3 under a load of 100 broadcasts a second and site, with each way to meet failures.",
        claims=[_set_up(change), _ordered(failures), _same_when_nothing_fails(failures)],
    )


def _set_up(table: Table) -> Claim:
    points = {where["sites"]: table.point("multicasts", where) for where in table.combinations()}
    low, _ = table.replications()
    return Claim(
        where="section 4.3",
        says="there is a substantial cost in setting up the propagation graph",
        measured="a new graph costs as many messages as this many multicasts: "
        + "; ".join(f"{sites} sites: {point.told(3)}" for sites, point in points.items())
        + f" ({low} replications)",
        verdict=verdict(every(within(point, 1.0, math.inf) for point in points.values())),
    )


def _ordered(table: Table) -> Claim:
    settings = table.combinations()
    passed = sum(table.point(f"verdict.{name}", where).mean == 1.0 for name in ORDER for where in settings)
    _, high = table.replications()
    return Claim(
        where="section 3",
        says="the propagation algorithm guarantees all three ordering properties",
        measured=f"{', '.join(ORDER)} hold in {passed} of {len(ORDER) * len(settings)} settings, also with 10 % of the "
        f"messages lost ({high} replications each)",
        verdict=verdict(passed == len(ORDER) * len(settings)),
    )


def _same_when_nothing_fails(table: Table) -> Claim:
    quiet = {where["options.failures"]: where for where in table.combinations() if where["network.loss"] == 0}
    delays = {name: table.point("delay_us.mean", where).over(1000) for name, where in quiet.items()}
    data = {name: table.point("sends.data", where) for name, where in quiet.items()}
    control = {name: table.point("control_per_broadcast", where) for name, where in quiet.items()}
    atomic, other = "atomic", "non_atomic"
    same = every(about(found[atomic], found[other], ROUGHLY) for found in (delays, data))
    return Claim(
        where="section 5.2.1",
        says="without failures no additional messages have to be sent, and performance is roughly the same",
        measured=f"atomic and non-atomic: mean delay {delays[atomic].told(3)} and {delays[other].told(3)} ms, data "
        f"messages {data[atomic].told()} and {data[other].told()}; acknowledgements and signs of life, "
        f"which the paper does not count, {control[atomic].told(3)} and {control[other].told(3)} a broadcast",
        verdict=verdict(same),
    )
