"""What `reliability_tree` holds and sends at the most; docs/protocols/reliability_tree.md has the same in words."""

from tocsin.protocols.limits import Limits, per_second
from tocsin.protocols.reliability_tree.options import ReliabilityTreeOptions


def limits_of(options: ReliabilityTreeOptions, sites: int, groups: int, multicast: int) -> Limits:
    others = sites - 1
    return Limits(
        held=sites * groups,  # no messages; bytes of plans that the next broadcast may use
        held_at_rest=sites * groups,
        first=sites * options.messages_per_site_max,  # down a tree, to each as many copies as its link needs
        idle_per_second=others * per_second(options.heartbeat_us),
        reach="here",
    )
