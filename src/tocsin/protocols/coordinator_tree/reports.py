"""What hosts report to sources, and what sources make of it: what is stable, who is out of reach,
how much room there is.

The paper has no reports, and keeps everything for ever. Here a host reports what it has, now and then; a source knows
from the reports what is stable, holds its application back for hosts that report and lag, and seeks a way to those
that do not report at all.
"""

from tocsin.core.links import Ways, is_time_to_seek
from tocsin.core.machine import ROOM_WITHOUT_LIMIT, Micros, Outbox, SiteId
from tocsin.protocols.coordinator_tree.messages import ENTRIES_MAX, Have, Prefix
from tocsin.protocols.coordinator_tree.options import CoordinatorTreeOptions
from tocsin.protocols.coordinator_tree.stream import Stream
from tocsin.protocols.coordinator_tree.streams import Streams


class Reports:
    """Both sides of them, for all streams of a site."""

    def __init__(
        self, site: SiteId, options: CoordinatorTreeOptions, streams: Streams, ways: Ways, outbox: Outbox
    ) -> None:
        self.stable_news = False  # the stability of an own stream changed since the last null message
        self._site = site
        self._streams = streams
        self._ways = ways
        self._outbox = outbox
        self._window: int = options.window
        self._quarter: int = max(1, options.window // 4)
        self._report_periods: int = options.report_periods

    def room(self) -> int:
        """What the slowest host that reports takes."""
        if self._report_periods == 0:
            return ROOM_WITHOUT_LIMIT
        room = self._window
        for stream in self._streams.all:
            if stream.origin == self._site:
                for site, below in stream.has.items():
                    if stream.overdue.get(site, 0) <= 2 * self._report_periods:
                        room = min(room, self._window - (stream.height - below))
        return room

    def maybe_send(self, number: int) -> bool:
        """A message came: after a quarter of the window the source is told, which may wait for room."""
        if number % self._quarter != self._quarter - 1 or self._report_periods == 0:
            return False
        self.send()
        return True

    def wait(self, now: Micros, stream: Stream) -> None:
        """A host that does not report may be out of direct reach, and may never have heard of the stream."""
        if self._report_periods == 0:
            return
        for site in sorted(stream.has):
            if stream.has[site] >= stream.height:
                stream.overdue.pop(site, None)
                continue
            overdue = stream.overdue.get(site, 0) + 1
            stream.overdue[site] = overdue
            if overdue > self._report_periods + 1 and is_time_to_seek(overdue - self._report_periods - 1):
                self._ways.seek(now)

    def send(self) -> None:
        """Tell every source what we have of its streams, where it does not know that all have it."""
        entries: dict[SiteId, list[Prefix]] = {}
        for stream in self._streams.all:
            if stream.origin != self._site and (stream.prefix() > stream.told_stable or stream.has_gaps()):
                stream.reported = stream.prefix()
                entries.setdefault(stream.origin, []).append(Prefix(stream.group, stream.reported))
        for origin in sorted(entries):
            prefixes = entries[origin]
            for place in range(0, len(prefixes), ENTRIES_MAX):
                self._outbox.send(origin, Have(tuple(prefixes[place : place + ENTRIES_MAX])))

    def find_stability(self, stream: Stream) -> None:
        """An own message is stable when every member has reported it."""
        stable = stream.height
        for below in stream.has.values():
            stable = min(stable, below)
        if stable > stream.stable:
            stream.stable = stable
            self.stable_news = True
