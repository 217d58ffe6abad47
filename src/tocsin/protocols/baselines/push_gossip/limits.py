"""What `push_gossip` holds and sends at the most; docs/protocols/push_gossip.md has the same in words."""

from tocsin.protocols.baselines.push_gossip.options import PushGossipOptions
from tocsin.protocols.limits import Limits


def limits_of(options: PushGossipOptions, sites: int, groups: int, multicast: int) -> Limits:
    others = sites - 1
    copies = options.fanout if 0 < options.fanout < others else others
    return Limits(
        held=options.active_max,
        first=sites * options.steps * copies * (2 if options.acknowledge else 1),  # everybody, in every step, to each
        reach="here",
    )
