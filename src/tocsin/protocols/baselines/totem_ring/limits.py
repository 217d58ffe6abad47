"""What `totem_ring` holds and sends at the most; docs/protocols/totem_ring.md has the same in words."""

from tocsin.protocols.baselines.totem_ring.options import TotemRingOptions
from tocsin.protocols.limits import Limits, per_second

HOPS_PER_SECOND = 20_000.0  # of a token with news: as fast as the network is, which takes 50 us a message or more


def limits_of(options: TotemRingOptions, sites: int, groups: int, multicast: int) -> Limits:
    return Limits(
        held=4 * options.window
        + options.queue,  # of four rotations (see `first`), and own ones that wait for the token
        records=options.records_max + 4 * (options.window + options.queue),
        first=multicast + 4 * sites,  # it takes the token two to three rotations to find that everybody has it
        again_per_second=HOPS_PER_SECOND,  # meanwhile nobody holds it
        idle_per_second=per_second(options.idle_us) / sites,  # one hop in idle_us, of the whole ring
        troubled_per_second=multicast * (per_second(options.join_us) + per_second(options.beacon_us)) + 2 * sites,
        lost=8,  # sent again, asked for; the token is passed again
        upset=8 * sites * (multicast + sites),  # a new ring: joins of each to each, a commit token of three rounds
        reach="view" if options.delivery == "safe" else "here",  # agreed: who leaves the ring may have delivered alone
    )
