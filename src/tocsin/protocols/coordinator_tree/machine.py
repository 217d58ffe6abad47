"""`coordinator_tree`: unreliable multicast made reliable, partitions healed cheaply.

Paper: Garcia-Molina, Kogan 1988. Single source; with several sources one instance each, here a `Stream` each.

| the paper                                              | here                                          |
|--------------------------------------------------------|-----------------------------------------------|
| section 4, the source multicasts numbered messages     | `broadcast`                                   |
| section 4, null messages after delta of silence        | `_say_null`                                   |
| section 4, failure after m delta of silence, or a gap  | `Redelivery.on_period`, `watch_gap`           |
| section 2.1, delivery at once; order left to others    | `_accept`; option `order = "fifo"`            |
| section 4.1 and Appendix I, redelivery                 | `redelivery.py`, event by event               |
| section 4.2, acyclic and jointly complete lists        | `lists.py`                                    |
| section 5.1, Shortest-Distance-First, reordering       | `lists.py`, `round_trips.py`                  |

Deviations, each with its reason, are listed in docs/protocols/coordinator_tree.md: one clock of period delta for
everything; a site leaves the tree when it has all and hears the source; descendants answer announcements; stability and
trimming; stable storage.
"""

from typing import Final

from tocsin.core.data import Links
from tocsin.core.links import LINKS, SEEK_PERIODS_MAX, Ways, next_on_path
from tocsin.core.machine import (
    FIRST_INCARNATION,
    GroupId,
    Machine,
    Micros,
    Outbox,
    Setup,
    SiteId,
)
from tocsin.core.message import Message, Record
from tocsin.protocols.coordinator_tree.lists import Lists
from tocsin.protocols.coordinator_tree.mailbag import Mailbag
from tocsin.protocols.coordinator_tree.messages import (
    ENTRIES_MAX,
    Anew,
    CoordinatorIs,
    Data,
    Desc,
    Have,
    Held,
    IAmCoordinator,
    Known,
    Null,
    Ping,
    Pong,
    Prefix,
    Probe,
    Progress,
    Relay,
    Request,
    Tidings,
)
from tocsin.protocols.coordinator_tree.options import CoordinatorTreeOptions
from tocsin.protocols.coordinator_tree.reception import Reception
from tocsin.protocols.coordinator_tree.redelivery import (
    FILL,
    GAP,
    PROBE,
    Redelivery,
)
from tocsin.protocols.coordinator_tree.relays import CoordinatorTreeOutbox
from tocsin.protocols.coordinator_tree.renewal import Renewal
from tocsin.protocols.coordinator_tree.reports import Reports
from tocsin.protocols.coordinator_tree.round_trips import RoundTrips
from tocsin.protocols.coordinator_tree.storage import Storage
from tocsin.protocols.coordinator_tree.stream import NIL, Kept, Stream
from tocsin.protocols.coordinator_tree.streams import Streams

LIFE_BITS: Final = 20  # starts of one incarnation
RENEWAL_PATIENCE: Final = 2  # times `patience`: periods in which somebody must answer a site that begins anew

PERIOD: Final = "PERIOD"  # key 0: the site's one clock, of period delta


class CoordinatorTree(Machine):
    """Normal operation, stability and storage; `Redelivery` does the rest."""

    def __init__(self, setup: Setup, driver: Outbox) -> None:
        options = setup.options
        assert isinstance(options, CoordinatorTreeOptions)
        self._ways = Ways(setup.site, setup.sites, options.delta_us // 2, SEEK_PERIODS_MAX * options.delta_us, driver)
        self._ways.enabled = options.relays
        self._driver = driver  # sends directly; `_outbox` over others where there is no direct way
        outbox = CoordinatorTreeOutbox(driver, self._ways)
        outbox.incarnation = setup.incarnation
        self._incarnations: dict[SiteId, int] = {}  # of others who have begun anew
        self._is_anew = setup.incarnation > FIRST_INCARNATION or setup.in_doubt
        self._ways.begin((setup.incarnation << LIFE_BITS) + setup.life)
        self._site = setup.site
        self._groups = setup.groups
        self._outbox = outbox
        self._rng = setup.rng
        self._delta_us: int = options.delta_us
        self._report_periods: int = options.report_periods
        self._measure_periods: int = options.measure_periods
        self._storage = Storage(outbox, setup.log, len(setup.groups), options.records_max, setup.first_seqno)
        self._mailbag = Mailbag(outbox)
        self._round_trips = RoundTrips()
        site, sites = setup.site, setup.sites
        self._redelivery = Redelivery(site, sites, options, outbox, self._mailbag, self._round_trips, self._ways)
        self._renewal = Renewal(site, sites, RENEWAL_PATIENCE * options.patience, outbox)
        lists = Lists(site, sites, setup.topology, options.lists, options.unsafe_lists)
        self._streams = Streams(site, sites, setup.groups, lists)
        self._reception = Reception(options, self._storage, outbox, len(setup.groups) > 1)
        self._reports = Reports(setup.site, options, self._streams, self._ways, outbox)
        self._sites = sites
        self._until_report = options.report_periods  # periods; then `_report`
        self._until_measure = options.measure_periods
        self._measured: SiteId = setup.site  # the last host that was pinged
        self.stat_dropped = 0  # what peers should not have sent

    def room(self) -> int:
        """What the slowest host that reports takes; one that is silent may be cut off, and holds nobody back."""
        if self._renewal.under_way:
            return 0
        return self._reports.room()

    def quiet(self) -> bool:
        """Whether this site has all it knows of, and everybody has all of its own."""
        if self._renewal.under_way:
            return False
        for stream in self._streams.all:
            if stream.has_gaps() or (stream.origin == self._site and stream.stable < stream.height):
                return False
        return True

    def stream(self, group: GroupId, origin: SiteId) -> Stream | None:
        """What this site knows of a stream, None if it never heard of it; for people who watch."""
        return self._streams.known(group, origin)

    # The contract

    def on_start(self, now: Micros, records: list[Record]) -> None:
        self._storage.recall(records, self._site, self._streams)
        for stream in self._streams.all:
            if stream.received:
                stream.height = stream.received.last() + 1
            if stream.origin == self._site:
                stream.next_delivery = stream.height
                self._reports.find_stability(stream)
            else:
                self._reception.deliver_held(stream)
                self._redelivery.watch_gap(now, stream)
            self._reception.trim(stream)  # the log has more than is kept
        if self._is_anew:
            self._renewal.begin()
        else:
            self._say_null()
        self._outbox.set_timer(PERIOD, 0, now + self._delta_us // 2 + self._rng.below(self._delta_us // 2 + 1))
        self._end_step(now, 0)

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        stream = self._streams.open(group, self._site)
        seqno = self._storage.numbers.take()
        number = stream.height
        stream.height = number + 1
        stream.received.add(number)
        kept = Kept(seqno, payload, NIL)
        stream.keep(number, kept)
        stream.next_delivery = number + 1
        if self._site in self._groups[group]:
            self._storage.deliver(stream, number, kept)
        else:
            self._storage.persist(Held(group, self._site, number, seqno, payload))
        others = list(stream.has)
        if others:
            self._outbox.multicast(others, Data(group, self._site, number, seqno, payload))
        stream.spoken = True
        self._reports.find_stability(stream)
        self._reception.trim(stream)
        return seqno

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if self._ways.enabled:
            self._ways.heard_at[source] = now
        if isinstance(message, Relay):
            self._on_relay(now, source, message)
        elif isinstance(message, Links):
            self._ways.on_links(now, source, message)
            self._end_step(now, 0)
        else:
            self._on_direct(now, source, message)

    def _on_relay(self, now: Micros, source: SiteId, relay: Relay) -> None:
        """A message that goes over us, or that came over others."""
        following = next_on_path(relay.path, relay.place, source, self._site, self._sites)
        if following < 0:
            self.stat_dropped += 1
        elif following != self._site:
            self._driver.send(following, Relay(relay.path, relay.place + 1, relay.incarnation, relay.message))
        else:
            origin = relay.path[0]
            known = self._incarnations.get(origin, FIRST_INCARNATION)
            if relay.incarnation < known:
                return  # of a disk that is no more
            if relay.incarnation > known:
                self.on_peer_renewed(now, origin, relay.incarnation)
            self._ways.learn_back(now, relay.path)
            self._on_direct(now, origin, relay.message)

    def on_peer_renewed(self, now: Micros, site: SiteId, incarnation: int) -> None:
        """A site has lost its disk: what it had reported it no longer has."""
        if incarnation <= self._incarnations.get(site, FIRST_INCARNATION):
            return
        self._incarnations[site] = incarnation
        for stream in self._streams.all:
            if site in stream.has:
                stream.has[site] = 0
            self._redelivery.on_renewed(stream, site)

    def _on_direct(self, now: Micros, source: SiteId, message: Message) -> None:
        answered_stamp = 0
        sound = True
        if isinstance(message, Data):
            sound = self._on_data(now, source, message)
        elif isinstance(message, Null):
            for progress in message.entries:
                if progress.group < len(self._groups) and self._site not in self._groups[progress.group]:
                    continue  # one multicast is for all groups of its source
                sound = self._on_progress(now, source, progress) and sound
        elif isinstance(message, Probe):
            answered_stamp = message.stamp
            for searched in message.entries:
                stream = self._streams.find(searched.group, searched.origin)
                sound = stream is not None and self._redelivery.on_probe(source, stream) and sound
        elif isinstance(message, CoordinatorIs):
            self._round_trips.note(now, source, message.stamp)
            for pointer in message.entries:
                stream = self._streams.find(pointer.group, pointer.origin)
                sound = (
                    stream is not None and self._redelivery.on_pointer(stream, source, pointer.coordinator) and sound
                )
        elif isinstance(message, Desc):
            for holding in message.entries:
                stream = self._streams.find(holding.group, holding.origin)
                sound = stream is not None and self._redelivery.on_holding(now, stream, holding, message.hops) and sound
        elif isinstance(message, IAmCoordinator):
            for told in message.entries:
                stream = self._streams.find(told.group, told.origin)
                sound = (
                    stream is not None and self._redelivery.on_announcement(now, source, stream, told.height) and sound
                )
        elif isinstance(message, Tidings):
            for told in message.entries:
                stream = self._streams.find(told.group, told.origin)
                if stream is not None and stream.origin != self._site:
                    stream.learn_height(told.height)
                    self._redelivery.watch_gap(now, stream)
        elif isinstance(message, Request):
            for wanted in message.entries:
                stream = self._streams.find(wanted.group, wanted.origin)
                sound = (
                    stream is not None and self._redelivery.on_request(now, source, stream, wanted.numbers) and sound
                )
        elif isinstance(message, Have):
            for prefix in message.entries:
                sound = self._on_prefix(source, prefix) and sound
        elif isinstance(message, Ping):
            self._outbox.send(source, Pong(message.stamp))
        elif isinstance(message, Pong):
            self._round_trips.note(now, source, message.stamp)
        elif isinstance(message, Anew):
            self._renewal.answer(source, self._streams)
        elif isinstance(message, Known):
            sound = self._renewal.on_known(source, message, self._streams)
        if not sound:
            self.stat_dropped += 1
        self._end_step(now, answered_stamp)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == PERIOD:
            self._on_period(now)
        elif timer == PROBE:
            self._redelivery.on_probe_timer(now, self._streams.all)
        elif timer == GAP:
            self._redelivery.on_gap_timer(now, self._streams.by_key(key))
        elif timer == FILL:
            self._redelivery.on_fill_timer(now, self._streams.by_key(key))
        elif timer == LINKS:
            self._ways.on_timer(now)
        self._end_step(now, 0)

    def _end_step(self, now: Micros, answered_stamp: int) -> None:
        stamp = now if self._measure_periods > 0 else 0
        self._mailbag.flush(stamp, answered_stamp)
        if self._ways.used:
            self._ways.after_step(now)
        self._storage.maybe_checkpoint(self._streams.all)

    # The clock

    def _on_period(self, now: Micros) -> None:
        if self._renewal.under_way and self._renewal.maybe_end(now, self._streams.all):
            self._end_renewal()
        due = self._reports.stable_news
        for stream in self._streams.all:
            if stream.origin == self._site and stream.height > 0:
                due = due or not stream.spoken
                stream.spoken = False
                self._reports.wait(now, stream)
            self._redelivery.on_period(now, stream)
        if due:
            self._say_null()
        if self._report_periods > 0:
            self._until_report -= 1
            if self._until_report == 0:
                self._until_report = self._report_periods
                self._reports.send()
        if self._measure_periods > 0:
            self._until_measure -= 1
            if self._until_measure == 0:
                self._until_measure = self._measure_periods
                self._measure(now)
        self._storage.maybe_release(self._streams.all)
        self._outbox.set_timer(PERIOD, 0, now + self._delta_us)

    def _end_renewal(self) -> None:
        """Everybody has said what they know of our streams: what is still missing is nowhere."""
        for stream in self._streams.all:
            if stream.origin == self._site:
                if self._site in stream.members:
                    self._reception.tell_missed(stream, stream.height)
                else:
                    stream.received.add_range(0, stream.height)
                stream.next_delivery = stream.height
                stream.floor = stream.kept_numbers.first() if stream.kept_numbers else stream.height
        self._say_null()

    def _say_null(self) -> None:
        """Tell everybody who gets our broadcasts how far they are."""
        entries: list[Progress] = []
        targets: set[SiteId] = set()
        for stream in self._streams.all:
            if stream.origin == self._site and stream.height > 0:
                entries.append(Progress(stream.group, stream.height, stream.stable, stream.floor))
                targets.update(stream.has)
        self._reports.stable_news = False
        if targets:
            for place in range(0, len(entries), ENTRIES_MAX):
                self._outbox.multicast(sorted(targets), Null(tuple(entries[place : place + ENTRIES_MAX])))

    def _measure(self, now: Micros) -> None:
        """Ping the next host, in turn, of those on any of our lists."""
        hosts: set[SiteId] = set()
        for stream in self._streams.all:
            hosts.update(stream.above)
        if hosts:
            later = [host for host in sorted(hosts) if host > self._measured]
            self._measured = later[0] if later else min(hosts)
            self._outbox.send(self._measured, Ping(now))

    # Normal operation

    def _on_data(self, now: Micros, source: SiteId, data: Data) -> bool:
        stream = self._streams.find(data.group, data.origin)
        if stream is None or (stream.origin == self._site and not self._renewal.under_way):
            return False
        if not stream.received.contains(data.number):
            self._reception.accept(stream, data)
            self._renewal.note_progress()
            self._reports.maybe_send(data.number)
            stream.learn_height(data.number + 1)
            self._redelivery.watch_gap(now, stream)
            self._redelivery.settle(stream)
        if source == stream.origin:
            self._redelivery.on_source_heard(now, stream)
        return True

    def _on_progress(self, now: Micros, source: SiteId, progress: Progress) -> bool:
        """A null message of the source about one of its streams."""
        stream = self._streams.find(progress.group, source)
        if stream is None or not max(progress.stable, progress.floor) <= progress.height:
            return False
        stream.learn_height(progress.height)
        stream.told_stable = progress.stable
        if progress.floor > stream.prefix():
            self._reception.miss(stream, progress.floor)
        stable = min(progress.stable, stream.prefix())
        if stable > stream.stable:
            stream.stable = stable
            self._reception.trim(stream)
        self._redelivery.watch_gap(now, stream)
        self._redelivery.on_source_heard(now, stream)
        return True

    # Stability, trimming, and what was missed

    def _on_prefix(self, source: SiteId, prefix: Prefix) -> bool:
        stream = self._streams.find(prefix.group, self._site)
        if stream is None or source not in stream.has:
            return False
        stream.overdue[source] = 0
        if stream.has[source] < prefix.below <= stream.height:
            stream.has[source] = prefix.below
            self._reports.find_stability(stream)
            self._reception.trim(stream)
        return True
