"""What `lamport` holds and sends at the most; docs/protocols/lamport.md has the same in words."""

from tocsin.protocols.baselines.lamport.options import LamportOptions
from tocsin.protocols.limits import Limits, per_second


def limits_of(options: LamportOptions, sites: int, groups: int, multicast: int) -> Limits:
    others = sites - 1
    resends = per_second(options.resend_us)
    return Limits(
        held=2 * options.window * sites,  # of each source a window that is early here, and one that waits for its turn
        records=options.records_max + 8 * options.window * sites,
        first=multicast + sites * multicast,  # and everybody says a null message to everybody
        again_per_second=(others + sites * multicast + sites * others) * resends,  # sent again; asked for, and answered
        lost=2 + sites,  # sent again, and each null that follows
        upset=others * options.window,  # who comes back sends all that is outstanding
        positions_lost=True,  # only members know them
    )
