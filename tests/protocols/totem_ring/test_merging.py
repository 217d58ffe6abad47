"""Rings find each other. Promises hold within views: two rings that stay apart for ever would break no property."""

from tests.mutation import mutated
from tests.protocols.walks import Walk
from tocsin.protocols.baselines.totem_ring import PROTOCOL
from tocsin.protocols.protocol import Protocol
from tocsin.traces.rows import VIEW

WALKS = range(60)
LONELY = range(160, 170)  # in one of these a ring ends alone unless it looks for others


def apart_in_the_end(protocol: Protocol, walks: range) -> int:
    """Walks after which, everything being well for a second, somebody is not in a ring with everybody."""
    apart = 0
    for seed in walks:
        walk = Walk(protocol, 3, seed, 3)
        walk.run()
        last = {row.site: row.members for row in walk.trace.rows() if row.event == VIEW}
        apart += any(members != tuple(walk.names) for members in last.values())
    return apart


def test_when_everything_is_well_there_is_one_ring() -> None:
    assert apart_in_the_end(PROTOCOL, WALKS) == 0
    assert apart_in_the_end(PROTOCOL, LONELY) == 0


def test_a_ring_that_does_not_look_for_others_stays_alone() -> None:
    old = "            self._outbox.multicast(targets, Beacon(ring.number))\n"
    module = "tocsin.protocols.baselines.totem_ring.membership"
    assert apart_in_the_end(mutated(PROTOCOL, module, old, ""), LONELY) > 0
