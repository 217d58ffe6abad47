"""Which messages were here, so that none is delivered twice."""

from typing import Final

from tocsin.core.errors import DecodeError
from tocsin.core.machine import SiteId
from tocsin.core.rangeset import RangeSet, rangeset_from_wire
from tocsin.core.records import RANGES_MAX

ADOPTED_MAX: Final = 1 << 59  # a peer may lie: whatever else is added, every gap and length is still a `Claimed`


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

    def marks(self) -> tuple[int, ...]:
        """All of it, for a site that begins anew (`renewal.py`): by origin, its number, how many follow, and ranges."""
        flat: list[int] = []
        for origin, ranges in self.all_ranges():
            flat.append(origin)
            flat.append(len(ranges))
            flat.extend(ranges)
        return tuple(flat)

    def adopt(self, marks: tuple[int, ...]) -> None:
        """What another has, and this site has missed: never to be delivered here. What is no such list is dropped."""
        place = 0
        while place + 1 < len(marks):
            origin = marks[place]
            ranges = marks[place + 2 : place + 2 + marks[place + 1]]
            place += 2 + marks[place + 1]
            try:
                known = rangeset_from_wire(ranges, RANGES_MAX)
            except DecodeError:
                return
            if known.count() > 0 and known.last() >= ADOPTED_MAX:
                return
            known.update(self._by_origin.get(origin, RangeSet()))
            self._by_origin[origin] = known

    def lacking(self, other: "ReceivedNumbers", origin: SiteId) -> list[tuple[int, int]]:
        """Ranges `[start, end)` of one origin's numbers that another has and this one has not."""
        theirs = other._by_origin.get(origin, RangeSet())
        return theirs.difference(self._by_origin.get(origin, RangeSet())).ranges()

    def recall(self, origin: SiteId, ranges: tuple[int, ...]) -> None:
        """From a checkpoint."""
        self._by_origin[origin] = rangeset_from_wire(ranges, RANGES_MAX)
