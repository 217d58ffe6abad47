"""What `tree_ack` holds and sends at the most; docs/protocols/tree_ack.md has the same in words."""

from tocsin.protocols.limits import Limits, per_second
from tocsin.protocols.tree_ack.options import TreeAckOptions


def limits_of(options: TreeAckOptions, sites: int, groups: int, multicast: int) -> Limits:
    others = sites - 1
    resends = per_second(options.resend_us)
    probes = per_second(options.probe_us) if options.detector == "timeout" else 0.0
    under_way = options.window * sites * groups  # of each root and group a window
    announces = options.announce_us > 0  # else, as in the paper, the last broadcasts are never known to be complete …
    return Limits(
        held=2 * under_way,  # under way, or here before its turn
        held_at_rest=0 if announces else under_way,  # … and are kept …
        records=options.records_max + 2 * under_way,
        log_at_rest=2 * options.records_max + under_way,  # a trim lags one checkpoint behind
        first=2 * others + multicast,  # down the tree, an acknowledgement each, a Complete where the root falls silent
        again_per_second=2 * sites * others * resends,  # everybody takes over for whoever seems to have failed
        idle_per_second=0.0 if announces else 2 * others * probes,  # … and their senders are watched for ever
        troubled_per_second=2 * others * (probes + per_second(options.recheck_us)),
        lost=4,  # sent and acknowledged again; asked for, and sent
        upset=8 * sites,  # greetings, answers, requests and batches
        kept=options.retain,
        rest_us=2 * options.announce_us + 20 * options.resend_us,
    )
