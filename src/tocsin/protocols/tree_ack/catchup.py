"""Getting what this site lacks of one group: whom to ask, and when to give up.

The paper's restart step (1): "some functioning processor p sends to i a copy of every message". One site is asked at a
time; when it fails, is silent or has no more, the next one is.
"""

from tocsin.core.machine import SiteId
from tocsin.protocols.tree_ack.stream import Stream


class Catchup:
    """What a group lacks here, and the site that is being asked for it."""

    def __init__(self) -> None:
        self.wanted: dict[SiteId, int] = {}  # by origin: a number that somebody has and that we lack
        self.helper: SiteId = -1  # who is asked now; -1: nobody
        self.cursor = -1  # where the helper's log goes on
        self.floors: dict[
            SiteId, tuple[int, int]
        ] = {}  # by origin: the lowest (number, count) that a helper begins after
        self.roots: set[SiteId] = set()  # outside the group, who said that there is more: they know what is lost
        self.is_resting = False  # everybody who functions was asked, and has not got it: it is with who is away
        self._candidates: list[SiteId] = []  # who said they have something, oldest first
        self._tried: set[SiteId] = set()  # who was asked in this round
        self._in_vain: set[SiteId] = set()  # who had nothing for us, since something last came

    def want(self, origin: SiteId, seqno: int, holder: SiteId) -> None:
        """Somebody has a message that we lack; `holder`: perhaps that member, -1 if unknown."""
        if self.wanted.get(origin, -1) < seqno:
            self.wanted[origin] = seqno
            self.wake()
        if holder >= 0 and holder not in self._candidates:
            self._candidates.append(holder)

    def forget_found(self, streams: dict[int, Stream]) -> None:
        """Take off the list what has come meanwhile; `streams`: of this group, by origin."""
        for origin in sorted(self.wanted):
            stream = streams.get(origin)
            if stream is not None and stream.last >= self.wanted[origin]:
                del self.wanted[origin]
        if not self.wanted:
            self.is_resting = False
            self.helper = -1
            self.roots.clear()
            self._candidates.clear()
            self._tried.clear()
            self._in_vain.clear()
            self.floors.clear()

    def note_floor(self, origin: SiteId, floor: int, count: int) -> None:
        """A helper no longer has what comes before this number, nor the number itself."""
        known = self.floors.get(origin)
        if known is None or floor < known[0]:
            self.floors[origin] = (floor, count)

    def note_progress(self) -> None:
        self.wake()

    def wake(self) -> None:
        """Something has changed: everybody is worth asking again."""
        self._in_vain.clear()
        self.is_resting = False

    def note_nothing(self) -> None:
        """The helper has answered, and has nothing more for us."""
        self._in_vain.add(self.helper)

    def turn_to_next(self, members: list[SiteId], site: SiteId, failed: set[SiteId]) -> bool:
        """Choose whom to ask next, those first who said they have something; False: nobody has anything."""
        self.helper = -1
        self.cursor = -1
        for _ in range(2):  # once more when all were tried, for those who did not answer
            for other in self._candidates + members:
                if other != site and not (other in failed or other in self._tried or other in self._in_vain):
                    self.helper = other
                    self._tried.add(other)
                    return True
            self._tried.clear()
        self._in_vain.clear()
        return False

    def turn_to_root(self) -> bool:
        """No member has anything: ask a root outside the group, once; it may be down, and nobody waits for it."""
        if not self.roots:
            return False
        self.helper = min(self.roots)
        self.roots.discard(self.helper)
        return True

    def give_up(self, streams: dict[int, Stream]) -> None:
        """Nobody has it. Whoever comes back with it will say so; only gaps below complete numbers stay wanted."""
        for origin in sorted(self.wanted):
            stream = streams.get(origin)
            if stream is None or stream.missing_complete() < 0:
                del self.wanted[origin]
        self.is_resting = bool(self.wanted)
        self.roots.clear()
        self._candidates.clear()
