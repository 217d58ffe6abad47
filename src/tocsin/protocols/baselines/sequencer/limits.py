"""What `sequencer` holds and sends at the most; docs/protocols/sequencer.md has the same in words."""

from tocsin.protocols.baselines.sequencer.options import SequencerOptions
from tocsin.protocols.limits import Limits, per_second


def limits_of(options: SequencerOptions, sites: int, groups: int, multicast: int) -> Limits:
    others = sites - 1
    resends = per_second(options.resend_us)
    return Limits(
        held=options.retain + 4 * options.window * sites,  # what somebody lacks, and what is under way
        held_at_rest=options.records_max,
        records=options.records_max + 2 * options.retain + 4 * options.window * sites,  # twice what is held, or less
        # submitted, ordered, told to be committed, and to be everywhere; an acknowledgement of each; rotate: once round
        first=1 + 3 * multicast + others + (sites + 2) * multicast * options.rotate,
        again_per_second=4 * sites * resends,  # submitted again, asked for, filled, told
        troubled_per_second=2 * others * resends,  # who lags asks everybody; a candidate seeks votes
        lost=8,
        upset=4 * sites * (sites + multicast),  # an election, an item to begin with, and what was submitted anew
        rest_us=16 * options.suspect_after * options.resend_us + 4 * options.election_us,  # the last pass may be lost
        rolls_back=options.delivery == "ordered",
    )
