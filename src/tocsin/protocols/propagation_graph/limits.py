"""What `propagation_graph` holds and sends at the most; docs/protocols/propagation_graph.md has the same in words."""

from tocsin.protocols.limits import Limits, per_second
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions


def limits_of(options: PropagationGraphOptions, sites: int, groups: int, multicast: int) -> Limits:
    others = sites - 1
    resends = per_second(options.resend_us)
    is_atomic = options.failures == "atomic"
    beats = 0.0 if is_atomic else 2 * per_second(options.null_us)  # to and from each neighbour of the graph
    under_way = options.backlog * sites * groups
    kept = 0 if is_atomic else options.keep
    return Limits(
        held=2 * under_way + kept,
        held_at_rest=kept,  # what was kept for those away goes when more comes
        records=options.records_max + 4 * (under_way + kept),
        first=4 * sites,  # submitted, passed down the tree, acknowledged on each edge, settled and stable told
        again_per_second=4 * sites * resends,
        idle_per_second=2 * beats,
        troubled_per_second=4 * others * resends,
        lost=8,
        upset=8 * sites * sites,  # a new graph
        rolls_back=not is_atomic,
        positions_lost=True,  # only members know them
    )
