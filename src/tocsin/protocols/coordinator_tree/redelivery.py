"""The redelivery algorithm: Appendix I of the paper, one method per event.

| the paper                                          | here                                                     |
|----------------------------------------------------|----------------------------------------------------------|
| Event 1, failure detection                         | `raise_alarm`                                            |
| Event 1, timing out on the coordinator             | `_on_coordinator_lost`                                   |
| Event 2, probed by host j                          | `on_probe`                                               |
| Event 3, "coordinator is x"                        | `on_pointer`                                             |
| Event 4, DESC(j) received                          | `on_holding`                                             |
| Event 5, the timer: "I AM COORDINATOR"             | `on_period`                                              |
| Event 6, "I AM COORDINATOR" received               | `on_announcement`                                        |
| probe(), with wrap-around                          | `_start_probing`, `_probe_next`, `on_probe_timer`        |
| fill(), by multicast to exactly those who miss it  | `_owe`, `on_fill_timer`                                  |
| "those hosts can be asked to deliver them"         | `_request_from`, `on_request`                            |

The states of a site (`Seat`): no part in a tree (coordinator NIL); a root (coordinator = itself), which probes while
its own alarm lasts and otherwise only serves those below it; attached to another host, at first pending, then
confirmed.

The invariant that excludes cycles: the coordinator of a site is always a host of its priority list. With acyclic lists
every pointer goes up in one total order, whatever messages are late, lost or repeated.
"""

from typing import Final

from tocsin.core.links import Ways, is_time_to_seek
from tocsin.core.machine import Micros, Outbox, SiteId
from tocsin.core.rangeset import RangeSet
from tocsin.protocols.coordinator_tree.fills import WINDOW_MAX, WINDOW_MIN
from tocsin.protocols.coordinator_tree.mailbag import Mailbag
from tocsin.protocols.coordinator_tree.messages import RANGES_MAX, Data, Holding, Pointer, Searched, Told, Wanted
from tocsin.protocols.coordinator_tree.options import CoordinatorTreeOptions
from tocsin.protocols.coordinator_tree.ranges import ranges_from_wire
from tocsin.protocols.coordinator_tree.round_trips import RoundTrips
from tocsin.protocols.coordinator_tree.stream import NIL, Descendant, Stream

PROBE: Final = "PROBE"  # key 0: all searches of the site move on together
GAP: Final = "GAP"  # key: the stream; a gap is no longer a mere reordering
FILL: Final = "FILL"  # key: the stream; the next batch of redeliveries

FIRST_BATCHES: Final = 2  # under way before the first report: of 64 messages of 1,400 bytes, what a socket buffers


class Redelivery:
    """Decides for one site, for every stream; what it knows of a stream is in the stream's `Seat`."""

    def __init__(
        self,
        site: SiteId,
        sites: int,
        options: CoordinatorTreeOptions,
        outbox: Outbox,
        mailbag: Mailbag,
        round_trips: RoundTrips,
        ways: Ways,
    ) -> None:
        self._site = site
        self._sites = sites
        self._outbox = outbox
        self._mailbag = mailbag
        self._round_trips = round_trips
        self._ways = ways
        self._silence: int = options.silence
        self._patience: int = options.patience
        self._gap_us: int = options.gap_us
        self._probe_us: int = options.probe_us
        self._fill_us: int = options.fill_us
        self._fill_batch: int = options.fill_batch
        self._unsafe: bool = options.unsafe_lists
        self._probe_timer_runs = False

    # Event 1

    def watch_gap(self, now: Micros, stream: Stream) -> None:
        """After news: a gap becomes a failure when it has lasted `gap_us`."""
        seat = stream.seat
        if seat.alarm or seat.gap_at != NIL or not stream.has_gaps():
            return
        if self._gap_us == 0:
            self.raise_alarm(now, stream)
        else:
            seat.gap_at = stream.prefix()
            self._outbox.set_timer(GAP, stream.key, now + self._gap_us)

    def on_gap_timer(self, now: Micros, stream: Stream) -> None:
        missing = stream.seat.gap_at
        stream.seat.gap_at = NIL
        if stream.received.contains(missing):
            self.watch_gap(now, stream)  # that gap has closed; there may be a younger one
        elif stream.has_gaps():
            self.raise_alarm(now, stream)

    def raise_alarm(self, now: Micros, stream: Stream) -> None:
        """A failure is detected: look for a coordinator, unless there is one already."""
        seat = stream.seat
        if seat.alarm or stream.origin == self._site:
            return
        seat.alarm = True
        seat.coordinator = self._site
        self._start_probing(now, stream, True)

    def _on_coordinator_lost(self, now: Micros, stream: Stream) -> None:
        seat = stream.seat
        was_pending = not seat.confirmed
        seat.coordinator = self._site
        seat.parent = NIL
        self._start_probing(now, stream, not was_pending)

    def on_source_heard(self, now: Micros, stream: Stream) -> None:
        """A word from the source itself: the silence is over. A root that still lacks messages asks it at once."""
        was_silent = stream.silent >= self._silence
        stream.silent = 0
        self.settle(stream)
        if was_silent and stream.seat.probing:
            self._mailbag.probe(stream.origin, Searched(stream.group, stream.origin))

    def settle(self, stream: Stream) -> None:
        """Take back the alarm when its causes are gone, and leave the tree when nobody depends on us."""
        seat = stream.seat
        if seat.alarm and stream.silent < self._silence and not stream.has_gaps():
            seat.alarm = False
            seat.probing = False
            seat.parent = NIL
            if seat.coordinator != self._site:
                if seat.confirmed:
                    self._forget_below(stream)
                seat.coordinator = self._site
        if not seat.alarm and seat.coordinator == self._site and not seat.below:
            seat.coordinator = NIL

    # probe()

    def _start_probing(self, now: Micros, stream: Stream, from_the_top: bool) -> None:
        seat = stream.seat
        if not stream.priorities:
            return
        seat.probing = True
        if from_the_top or not seat.order:
            seat.order = self._round_trips.ordered(now, stream.priorities)
            seat.next_probe = 0
        seat.fresh = self._probe_timer_runs
        self._probe_next(now, stream)
        if not self._probe_timer_runs:
            self._probe_timer_runs = True
            self._outbox.set_timer(PROBE, 0, now + self._probe_us)

    def _probe_next(self, now: Micros, stream: Stream) -> None:
        seat = stream.seat
        if seat.next_probe >= len(seat.order):
            seat.order = self._round_trips.ordered(now, stream.priorities)
            seat.next_probe = 0
            self._maybe_tell_tidings(stream)
        target = seat.order[seat.next_probe]
        seat.next_probe += 1
        self._mailbag.probe(target, Searched(stream.group, stream.origin))

    def on_probe_timer(self, now: Micros, streams: list[Stream]) -> None:
        """No answer: every search goes on to the next host of its list."""
        self._probe_timer_runs = False
        for stream in streams:
            seat = stream.seat
            if seat.probing:
                self._probe_timer_runs = True
                if not seat.fresh:
                    self._probe_next(now, stream)
                seat.fresh = False
        if self._probe_timer_runs:
            self._outbox.set_timer(PROBE, 0, now + self._probe_us)

    # Events 2 and 3

    def on_probe(self, source: SiteId, stream: Stream) -> bool:
        """Tell the prober our coordinator; whether it had reason to ask (we are on its list)."""
        if not self._may_be_below(stream, source):
            return False
        coordinator = stream.seat.coordinator
        if coordinator == NIL:
            coordinator = self._site
        self._mailbag.point(source, Pointer(stream.group, stream.origin, coordinator))
        return True

    def on_pointer(self, stream: Stream, source: SiteId, coordinator: SiteId) -> bool:
        """An answer to our probe: attach to its coordinator; whether the answer made sense."""
        if coordinator >= self._sites or source not in stream.above:
            return False
        seat = stream.seat
        if not seat.probing or coordinator == self._site:
            return True
        if coordinator not in stream.above and not self._unsafe:
            coordinator = source
        seat.coordinator = coordinator
        seat.parent = source
        seat.confirmed = False
        seat.unheard = 0
        seat.probing = False
        self._send_desc(stream, coordinator)
        return True

    # Event 4

    def on_holding(self, now: Micros, stream: Stream, entry: Holding, hops: int) -> bool:
        """A host below tells what it has; whether that made sense."""
        have = ranges_from_wire(entry.have)
        site: SiteId = entry.site
        if have is None or site not in stream.hosts or site == self._site or not self._may_be_below(stream, site):
            return False
        seat = stream.seat
        seat.fills.report(site, have)
        if seat.coordinator != NIL and seat.coordinator != self._site and seat.confirmed:
            if hops < self._sites and entry.needs and site != seat.coordinator:
                self._mailbag.relay(seat.coordinator, entry, hops + 1)
            return True
        if have and stream.origin != self._site:  # nobody knows more of our own stream than we do
            stream.learn_height(have.last() + 1)
            self.watch_gap(now, stream)
        if not entry.needs:
            seat.below.pop(site, None)
            seat.fills.forget(site)
            self._request_from(stream, site, have)
            self.settle(stream)
            return True
        below = seat.below.get(site)
        if below is None:
            below = Descendant()
            seat.below[site] = below
        below.have.update(have)
        below.age = 0
        if seat.coordinator == NIL:
            seat.coordinator = self._site
        if seat.coordinator == self._site:
            self._owe(now, stream, site, stream.kept_numbers.difference(below.have))
            self._request_from(stream, site, have)
        return True

    def _send_desc(self, stream: Stream, target: SiteId) -> None:
        """Tell a coordinator what this host and those below it have."""
        self._send_own(stream, target)
        below = stream.seat.below
        for site in sorted(below):
            if site != target:
                have = below[site].have.to_wire(RANGES_MAX)
                self._mailbag.hold(target, Holding(stream.group, stream.origin, site, True, have))

    def _send_own(self, stream: Stream, target: SiteId) -> None:
        have = stream.received.to_wire(RANGES_MAX)
        self._mailbag.hold(target, Holding(stream.group, stream.origin, self._site, stream.seat.alarm, have))

    # fill(), down and up the tree

    def _owe(self, now: Micros, stream: Stream, site: SiteId, numbers: RangeSet) -> None:
        seat = stream.seat
        seat.fills.begin_with(FIRST_BATCHES * self._fill_batch)
        seat.fills.owe(site, numbers)
        self._maybe_fill(now, stream)

    def _maybe_fill(self, now: Micros, stream: Stream) -> bool:
        seat = stream.seat
        if seat.filling or not seat.fills.pending():
            return False
        seat.filling = True
        self._outbox.set_timer(FILL, stream.key, now + self._fill_us)
        return True

    def on_fill_timer(self, now: Micros, stream: Stream) -> None:
        """Send the next batch, each message once, to exactly the hosts that miss it."""
        seat = stream.seat
        seat.filling = False
        for batch in seat.fills.take(self._fill_batch):
            kept = stream.kept.get(batch.number)
            if kept is not None:
                data = Data(stream.group, stream.origin, batch.number, kept.seqno, kept.payload)
                if len(batch.targets) == 1:
                    self._outbox.send(batch.targets[0], data)
                else:
                    self._outbox.multicast(batch.targets, data)
        self._maybe_fill(now, stream)

    def _request_from(self, stream: Stream, site: SiteId, have: RangeSet) -> None:
        """Upward redelivery: ask a host for what it has and we lack, as much as has come of late, unless somebody was
        asked just now."""
        seat = stream.seat
        if stream.origin == self._site:
            return
        lacking = have.difference(stream.received)
        lacking = lacking.difference(seat.requested).difference(seat.requested_before)
        if not lacking:
            return
        if seat.ask_window == 0:
            seat.ask_window = max(WINDOW_MIN, self._fill_batch)
        awaited = seat.requested.difference(stream.received).count()
        lacking = lacking.lowest(seat.ask_window - awaited)
        if lacking:
            seat.requested.update(lacking)
            self._mailbag.want(site, Wanted(stream.group, stream.origin, lacking.to_wire(RANGES_MAX)))

    def on_request(self, now: Micros, source: SiteId, stream: Stream, flat: tuple[int, ...]) -> bool:
        """A host that lacks messages knows that we have them."""
        numbers = ranges_from_wire(flat)
        if numbers is None or source not in stream.hosts:
            return False
        stream.seat.fills.ask(source, numbers.intersection(stream.kept_numbers))
        self._maybe_fill(now, stream)
        return True

    # Events 5 and 6

    def on_period(self, now: Micros, stream: Stream) -> None:
        """A period of the clock: silence, lost neighbours, and the announcement of a coordinator."""
        seat = stream.seat
        seat.fills.age()
        self._maybe_fill(now, stream)
        if seat.requested or seat.requested_before:
            self._set_ask_window(stream)
            seat.requested_before = seat.requested
            seat.requested = RangeSet()
        for site in sorted(seat.below):
            seat.below[site].age += 1
            if seat.below[site].age >= self._patience:
                del seat.below[site]
                seat.fills.forget(site)
        if stream.origin != self._site and stream.silent < self._silence:
            stream.silent += 1
            if stream.silent == self._silence:
                self.raise_alarm(now, stream)
        if seat.probing and stream.silent >= self._silence and self._ways.enabled:
            seat.alone += 1
            if is_time_to_seek(seat.alone):
                self._ways.seek(now)  # perhaps the source is out of direct reach only
        else:
            seat.alone = 0
        if seat.coordinator != NIL and seat.coordinator != self._site:
            seat.unheard += 1
            if seat.unheard >= self._patience:
                self._on_coordinator_lost(now, stream)
            elif not seat.confirmed:
                self._send_desc(stream, seat.coordinator)
        if seat.below and (seat.coordinator == self._site or not seat.confirmed):
            self._mailbag.announce(sorted(seat.below), Told(stream.group, stream.origin, stream.height))
        self.settle(stream)

    def _set_ask_window(self, stream: Stream) -> None:
        """Twice as much when all that was asked for in the period before has come; else as much as has come."""
        seat = stream.seat
        asked = seat.requested_before.count()
        if asked > 0:
            come = asked - seat.requested_before.difference(stream.received).count()
            seat.ask_window = min(WINDOW_MAX, 2 * seat.ask_window) if come == asked else max(WINDOW_MIN, come)

    def on_renewed(self, stream: Stream, site: SiteId) -> None:
        """A host has begun anew: what it said to have is gone."""
        stream.seat.below.pop(site, None)
        stream.seat.fills.forget_all(site)

    def _maybe_tell_tidings(self, stream: Stream) -> bool:
        """After a fruitless round: hosts that would attach to us may never have heard of the stream."""
        others: list[SiteId] = []
        if stream.silent < self._silence or stream.height == 0:
            return False
        for site in stream.hosts:
            if site not in (self._site, stream.origin) and site not in stream.above and site not in stream.seat.below:
                others.append(site)
        if others:
            self._mailbag.tell(others, Told(stream.group, stream.origin, stream.height))
        return bool(others)

    def on_announcement(self, now: Micros, source: SiteId, stream: Stream, height: int) -> bool:
        """Somebody says that it is our coordinator; whether it may be."""
        if source not in stream.above and not self._unsafe:
            return False
        seat = stream.seat
        stream.learn_height(height)
        self.watch_gap(now, stream)
        if not seat.alarm:
            self._send_own(stream, source)
            return True
        self._send_desc(stream, source)
        seat.coordinator = source
        if seat.parent == NIL:
            seat.parent = source
        seat.confirmed = True
        seat.unheard = 0
        seat.probing = False
        self._forget_below(stream)
        return True

    def _forget_below(self, stream: Stream) -> None:
        """Those below are in the care of our coordinator."""
        for site in sorted(stream.seat.below):
            stream.seat.fills.forget(site)
        stream.seat.below.clear()

    def _may_be_below(self, stream: Stream, site: SiteId) -> bool:
        return self._unsafe or site not in stream.above
