"""Which messages were here, so that none is delivered twice."""

from tocsin.core.machine import SiteId
from tocsin.core.rangeset import RangeSet, rangeset_from_wire
from tocsin.core.records import RANGES_MAX


class ReceivedNumbers:
    """By origin that was heard of, the numbers of its messages; who adds one makes it durable in the same step."""

    def __init__(self) -> None:
        self._by_origin: dict[SiteId, RangeSet] = {}

    def has(self, origin: SiteId, seqno: int) -> bool:
        known = self._by_origin.get(origin)
        return known is not None and known.contains(seqno)

    def add(self, origin: SiteId, seqno: int) -> None:
        known = self._by_origin.get(origin)
        if known is None:
            known = RangeSet()
            self._by_origin[origin] = known
        known.add(seqno)

    def ranges(self, origin: SiteId) -> tuple[int, ...]:
        """Those of one origin, for a checkpoint."""
        known = self._by_origin.get(origin)
        return () if known is None else known.to_wire(RANGES_MAX)

    def all_ranges(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Those of every origin, for a checkpoint."""
        return tuple([(origin, self.ranges(origin)) for origin in sorted(self._by_origin)])

    def recall(self, origin: SiteId, ranges: tuple[int, ...]) -> None:
        """From a checkpoint."""
        self._by_origin[origin] = rangeset_from_wire(ranges, RANGES_MAX)
