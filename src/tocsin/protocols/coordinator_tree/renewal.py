"""A site that begins anew is the source of streams that only others know.

Its numbers in a stream go on behind the last one that anybody has, so it asks everybody first, and takes no broadcast
before all have answered or were silent for long. What others still keep of its own messages it fetches from them, like
any host; what is nowhere any more it is told that it missed.
"""

from tocsin.core.machine import Micros, Outbox, SiteId
from tocsin.core.rangeset import RangeSet
from tocsin.protocols.coordinator_tree.messages import RANGES_MAX, Anew, Known, KnownStream, Request, Wanted
from tocsin.protocols.coordinator_tree.ranges import ranges_from_wire
from tocsin.protocols.coordinator_tree.stream import Stream
from tocsin.protocols.coordinator_tree.streams import Streams


class Renewal:
    """Asks until all have answered, and waits until what they have is here."""

    def __init__(self, site: SiteId, sites: int, patience: int, outbox: Outbox) -> None:
        self.under_way = False  # no broadcast is taken
        self._site = site
        self._sites = sites
        self._patience = patience  # periods without anything new before those who are silent are given up
        self._outbox = outbox
        self._awaited: set[SiteId] = set()
        self._idle = 0  # periods without anything new

    def begin(self) -> None:
        self._awaited = {site for site in range(self._sites) if site != self._site}
        self.under_way = len(self._awaited) > 0
        self._ask()

    def _ask(self) -> None:
        if self._awaited:
            self._outbox.multicast(sorted(self._awaited), Anew())

    def answer(self, source: SiteId, streams: Streams) -> None:
        """Somebody has begun anew: tell it what we know of its streams."""
        entries: list[KnownStream] = []
        for stream in streams.all:
            if stream.origin == source:
                kept = stream.kept_numbers.to_wire(RANGES_MAX)
                entries.append(KnownStream(stream.group, stream.height, kept))
        self._outbox.send(source, Known(tuple(entries)))

    def on_known(self, source: SiteId, known: Known, streams: Streams) -> bool:
        """An answer; whether it made sense."""
        if not self.under_way or source not in self._awaited:
            return True
        self._awaited.discard(source)
        self._idle = 0
        wanted: list[Wanted] = []
        for entry in known.entries:
            stream = streams.find(entry.group, self._site)
            kept = ranges_from_wire(entry.kept)
            if stream is None or kept is None:
                return False
            stream.learn_height(entry.height)
            if self._site in stream.members:
                lacking = kept.difference(stream.received)
                if lacking:
                    wanted.append(Wanted(stream.group, self._site, lacking.to_wire(RANGES_MAX)))
        if wanted:
            self._outbox.send(source, Request(tuple(wanted)))
        return True

    def note_progress(self) -> None:
        self._idle = 0

    def maybe_end(self, now: Micros, streams: list[Stream]) -> bool:
        """A period of the clock; whether it is over now: what is still missing is nowhere."""
        lacks = False
        for stream in streams:
            lacks = lacks or (stream.origin == self._site and self._site in stream.members and stream.has_gaps())
        self._idle += 1
        if (self._awaited or lacks) and self._idle < self._patience:
            self._ask()
            return False
        self.under_way = False
        self._awaited.clear()
        return True


def gaps_of(stream: Stream) -> RangeSet:
    """Numbers of a stream that exist and are not here."""
    return stream.received.gaps_below(stream.height)
