"""Runs that only count: how many messages of which kind, and when each broadcast was delivered everywhere.

A run is looked at twice. Until its last broadcast it is in its steady state, and what goes on all the time, such as a
token, is counted there. What each broadcast causes sooner or later, such as requests for lost copies, is counted over
the whole run, until everything is delivered.
"""

from bisect import bisect_right
from pathlib import Path
from typing import Any

import msgspec

from tocsin.sim.scenario import scenario_from_document
from tocsin.sim.simulation import BUSY_EVENTS
from tocsin.sim.world import Tally

DURATION_US = 10**12  # no run is ended by it: all end when everything is delivered


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What a run has counted. A message to all is one on a broadcast network, and one for each receiver on others."""

    broadcasts: int
    deliveries: int
    busy: dict[str, int]  # messages by kind, until the last broadcast
    whole: dict[str, int]  # until everything was delivered everywhere
    busy_us: int  # when the last broadcast was
    drops: int  # lost copies
    rollbacks: int
    latencies_us: list[int]  # sorted: from broadcast to last delivery
    complete_at: list[int]  # sorted: last deliveries

    def during_load(self, *kinds: str) -> float:
        """Messages of these kinds until the last broadcast, a broadcast."""
        return _total(self.busy, kinds) / self.broadcasts

    def in_all(self, *kinds: str) -> float:
        """Messages of these kinds, or of all, a broadcast."""
        return _total(self.whole, kinds) / self.broadcasts

    def latency_us(self) -> float:
        return sum(self.latencies_us) / len(self.latencies_us)

    def median_us(self) -> int:
        return self.latencies_us[(len(self.latencies_us) - 1) // 2]

    def between_deliveries_us(self, until_us: int = DURATION_US) -> float | None:
        """The time a message, from the first moment at which messages were complete to the last before `until_us`; so
        neither the start of the run nor its end counts. None if there are no two such moments."""
        first = self.complete_at[0]
        begin, end = bisect_right(self.complete_at, first), bisect_right(self.complete_at, until_us)
        return (self.complete_at[end - 1] - first) / (end - begin) if end > begin else None


def counted(protocol: str, seed: int, **parts: Any) -> Counts:
    """Run a scenario to its end."""
    document = {"protocol": protocol, "duration_us": DURATION_US, **parts}
    scenario = scenario_from_document(document, "experiment", Path())
    simulation = scenario.build(seed, None)
    workload = simulation.workload
    assert workload is not None
    simulation.start()
    tally = simulation.world.tally
    while workload.remaining > 0 and simulation.run(DURATION_US, BUSY_EVENTS):
        pass
    busy = _messages(tally)
    while simulation.run(DURATION_US, BUSY_EVENTS):
        pass
    delivered = tally.delivered_at
    return Counts(
        broadcasts=tally.broadcasts,
        deliveries=tally.deliveries,
        busy=busy,
        whole=_messages(tally),
        busy_us=tally.last_broadcast_at,
        drops=sum(tally.drops.values()),
        rollbacks=tally.rollbacks,
        latencies_us=sorted(at - tally.broadcast_at[message] for message, at in delivered.items()),
        complete_at=sorted(delivered.values()),
    )


def _messages(tally: Tally) -> dict[str, int]:
    found = dict(tally.sends)
    for kind, count in tally.multicasts.items():
        found[kind] = found.get(kind, 0) + count
    return found


def _total(counts: dict[str, int], kinds: tuple[str, ...]) -> int:
    return sum(count for kind, count in counts.items() if not kinds or kind in kinds)
