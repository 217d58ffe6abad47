"""What `coordinator_tree` holds and sends at the most; docs/protocols/coordinator_tree.md has the same in words."""

from tocsin.protocols.coordinator_tree.options import CoordinatorTreeOptions
from tocsin.protocols.limits import Limits, per_second


def limits_of(options: CoordinatorTreeOptions, sites: int, groups: int, multicast: int) -> Limits:
    others = sites - 1
    periods = per_second(options.delta_us)
    reports = others * per_second(options.delta_us * options.report_periods) if options.report_periods else 0.0
    pings = 2 * per_second(options.delta_us * options.measure_periods) if options.measure_periods else 0.0
    streams = sites * groups
    return Limits(
        held=options.retain * streams,
        held_at_rest=0 if options.report_periods else options.retain * streams,  # without reports nothing is stable
        records=options.records_max + 2 * options.retain * streams,
        log_at_rest=options.records_max
        if options.report_periods
        else 2 * options.records_max + options.retain * streams,  # a trim lags one checkpoint behind
        first=multicast,
        idle_per_second=multicast * periods
        + reports
        + pings,  # a null message in each period; what it has; who is near
        troubled_per_second=3 * others * periods
        + 2 * per_second(options.probe_us),  # announced, described, told; probes
        lost=1,  # sent again, once; asked for in the same words as others
        upset=4 * others,  # a tree is made: probes, descriptions, announcements
        kept=options.retain,
        rest_us=(options.report_periods + 3) * options.delta_us,
    )
