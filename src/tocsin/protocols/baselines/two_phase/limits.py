"""What `two_phase` holds and sends at the most; docs/protocols/two_phase.md has the same in words."""

from tocsin.protocols.baselines.two_phase.options import TwoPhaseOptions
from tocsin.protocols.limits import Limits, per_second


def limits_of(options: TwoPhaseOptions, sites: int, groups: int, multicast: int) -> Limits:
    others = sites - 1
    resends = per_second(options.resend_us)
    return Limits(
        held=2 * options.window * sites,  # of each source a window that is early here, and one in the queue
        records=options.records_max + 8 * options.window * sites * groups,
        first=multicast + others + multicast,  # the message, a proposal of each, the outcome
        again_per_second=(2 * others + sites * (2 + 2 * others)) * resends,  # each member asks, and takes over
        lost=4,  # sent again, answered again; asked for, and answered
        upset=others * options.window,  # who comes back starts all that is outstanding anew
        positions_lost=True,  # only members know them
    )
