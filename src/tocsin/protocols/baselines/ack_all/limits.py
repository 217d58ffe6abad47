"""What `ack_all` holds and sends at the most; docs/protocols/ack_all.md has the same in words."""

from tocsin.protocols.baselines.ack_all.options import AckAllOptions
from tocsin.protocols.limits import Limits, per_second


def limits_of(options: AckAllOptions, sites: int, groups: int, multicast: int) -> Limits:
    others = sites - 1
    resends = per_second(options.resend_us)
    return Limits(
        held=options.window,  # own messages that somebody has not acknowledged
        records=options.records_max + 2 * options.window,  # a checkpoint repeats what is outstanding
        first=(multicast if options.multicast else others) + others,  # and an acknowledgement from each
        again_per_second=4 * others * resends,  # in every resend_us the same; and the way back takes as long
        lost=2,  # sent again, acknowledged again
        upset=2 * others * options.window,  # who comes back sends all that is outstanding
    )
