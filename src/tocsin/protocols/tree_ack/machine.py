"""`tree_ack`: reliable broadcast down any tree, whoever fails; restarts included.

Paper: Schneider, Gries, Schlichting, "Fast Reliable Broadcasts", 1982.

| the paper                                   | here                                                            |
|---------------------------------------------|-----------------------------------------------------------------|
| 2.3 broadcast strategies, SUCC              | `tocsin.planning.strategies`, `Stream.successors`               |
| 3.1, 3.2 the loop of Figure 3.2             | `Broadcasts`; `_on_data` is its ??msg(new)                      |
| the Broadcast Sequencing Restriction        | `room`; `Data.done`, `Broadcasts.learn`                         |
| "An Optimization"                           | option `watch`, `Broadcasts._watched`                           |
| 2.1 "directly or indirectly"                | `tocsin.core.links`                                             |
| 2.2 failed(p)                               | `Peers`                                                         |
| 3.3 restart, step (1): get what was missed  | `_on_hello`, `_on_welcome`, `Pulls`, `Store.batch`              |
| 3.3 restart, step (2): broadcast again what | `Restart`                                                       |
| perhaps nobody else has                     |                                                                 |

Deviations
- A window of broadcasts per root instead of one. `Data` says what is complete instead of leaving it to be inferred from
  the number; each `Data` names the one before it, so that gaps show, and each root's messages are delivered in order.
- Links may lose messages: a message is sent again until it is acknowledged or its receiver has failed.
- An acknowledgement names the sites of the subtree that were left out as failed. In the paper a processor may be left
  out by one that believes it failed while another knows that it is back. With the names, whoever knows better sends to
  it, and the root knows who may lack what: that is how logs are trimmed.
- Step (2) of a restart broadcasts again only what some functioning site turns out to lack.
- A root that falls silent says that its last broadcast is complete (`Complete`), to each until it has confirmed it.
- For a site that is away `retain` numbers are kept; what is older it is told that it missed.
- A message is passed on before it is durable here, and acknowledged after.
"""

from typing import Final

from tocsin.core.data import Links
from tocsin.core.links import LINKS, Ways, next_on_path
from tocsin.core.machine import FIRST_INCARNATION, GroupId, Machine, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.protocols.tree_ack.announcements import Announcements
from tocsin.protocols.tree_ack.broadcasts import ANNOUNCE, RESEND, Broadcasts
from tocsin.protocols.tree_ack.messages import (
    Ack,
    Batch,
    Complete,
    Data,
    Hello,
    Noted,
    Probe,
    Relay,
    Request,
    Vector,
    Welcome,
)
from tocsin.protocols.tree_ack.options import TreeAckOptions
from tocsin.protocols.tree_ack.peers import WATCH, Peers
from tocsin.protocols.tree_ack.pulls import PULL, Pulls
from tocsin.protocols.tree_ack.relays import TreeAckOutbox
from tocsin.protocols.tree_ack.restart import Restart
from tocsin.protocols.tree_ack.store import LIFE_BITS, Store
from tocsin.protocols.tree_ack.stream import Stream

GREET: Final = "GREET"  # key: the site that has not answered our Hello

GREET_RESENDS: Final = 2  # a Hello is repeated after so many times resend_us


class TreeAck(Machine):
    """A site of the protocol."""

    def __init__(self, setup: Setup, driver: Outbox) -> None:
        options = setup.options
        assert isinstance(options, TreeAckOptions)
        self._ways = Ways(setup.site, setup.sites, options.probe_us // 2, options.recheck_us, driver)
        self._driver = driver  # sends directly; `_outbox` over others where there is no direct way
        outbox = TreeAckOutbox(driver, self._ways)
        outbox.life = (setup.incarnation - FIRST_INCARNATION) << LIFE_BITS
        self._site = setup.site
        self._sites = setup.sites
        self._outbox = outbox
        self._window: int = options.window
        self._resend_us: int = options.resend_us
        self._retain: int = options.retain
        self._peers = Peers(setup.site, setup.sites, options, self._ways, outbox)
        self._broadcasts = Broadcasts(setup.site, setup.sites, setup.groups, options, self._peers, outbox)
        self._broadcasts.first_seqno = setup.first_seqno
        self._announcements = Announcements(setup.site, options, self._broadcasts, self._peers, outbox)
        self._store = Store(setup, outbox, options.records_max)
        self._pulls = Pulls(setup.site, setup.groups, options, self._peers, self._broadcasts, self._store, outbox)
        self._restart = Restart(setup, options.window, self._peers, self._broadcasts, self._store)
        self._greeting: set[SiteId] = set()  # sites that must answer our Hello; none has failed
        self.stat_dropped = 0  # messages that no correct site would have sent

    # Questions

    def room(self) -> int:
        return self._window - self._broadcasts.under_way() if self._knows_own() else 0

    def _knows_own(self) -> bool:
        """Whether it is known which of our messages was the last one."""
        return not self._restart.is_anew and not self._pulls.lacks_own()

    def quiet(self) -> bool:
        return not (self._restart.awaited or self._greeting) and self._pulls.quiet() and self._broadcasts.quiet()

    # The application

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        stream = self._broadcasts.stream(group, self._site)
        assert stream is not None
        seqno = self._store.numbers.take()
        data = Data(group, self._site, seqno, stream.last, stream.done, stream.stable, payload)
        self._outbox.cancel_timer(ANNOUNCE, self._broadcasts.key(stream))
        self._store.take_own(stream, data)  # durable before it is sent: the number is never used again
        instance = self._broadcasts.open(now, stream, data, self._site)
        self._broadcasts.serve(now, stream, instance)
        self._broadcasts.run(now, stream, instance)
        self._end_step(now)
        return seqno

    # Messages

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if not 0 <= source < self._sites or source == self._site:
            return
        self._ways.heard_at[source] = now
        if isinstance(message, Relay):
            self._on_relay(now, source, message)
        elif isinstance(message, Links):
            self._hear(now, source, False)
            for site in self._ways.on_links(now, source, message):
                self._hear(now, site, False)
        else:
            self._on_direct(now, source, message)
        self._end_step(now)

    def _on_relay(self, now: Micros, source: SiteId, relay: Relay) -> None:
        """A message that goes over us, or that came over others."""
        following = next_on_path(relay.path, relay.place, source, self._site, self._sites)
        if following < 0:
            self.stat_dropped += 1
        elif following != self._site:
            self._driver.send(following, Relay(relay.path, relay.place + 1, relay.life, relay.message))
        else:
            origin = relay.path[0]
            incarnation = relay.life >> LIFE_BITS
            known = self._peers.lives[origin] >> LIFE_BITS
            if incarnation < known:
                return  # of a disk that is no more
            if incarnation > known:
                self.on_peer_renewed(now, origin, incarnation + FIRST_INCARNATION)
            self._ways.learn_back(now, relay.path)
            self._on_direct(now, origin, relay.message)

    def _hear(self, now: Micros, source: SiteId, is_greeting: bool) -> bool:
        """A site is there; whether we believed that it had failed, and were wrong."""
        was_wrong = self._peers.hear(source)
        if was_wrong:
            self._back(now, source)
            if not is_greeting:
                self._greet(now, source)
        return was_wrong

    def _on_direct(self, now: Micros, source: SiteId, message: Message) -> None:
        was_wrong = self._hear(now, source, isinstance(message, Hello))
        if was_wrong:
            self._ways.seek(now)  # others may be back with it, out of direct reach
        if isinstance(message, Data):
            self._on_data(now, source, message)
        elif isinstance(message, Ack):
            self._broadcasts.on_ack(now, source, message)
        elif isinstance(message, Complete):
            self._on_complete(now, source, message)
        elif isinstance(message, Hello):
            self._on_hello(now, source, message, was_wrong)
        elif isinstance(message, Welcome):
            self._on_welcome(now, source, message)
        elif isinstance(message, Request):
            self._pulls.on_request(source, message)
        elif isinstance(message, Batch):
            if self._pulls.on_batch(now, source, message):
                self._learn_who_has_own(now)
        elif isinstance(message, Noted):
            self._announcements.on_noted(source, message)
        elif isinstance(message, Probe) and not message.answer:
            self._outbox.send(source, Probe(True))

    def _on_data(self, now: Micros, source: SiteId, data: Data) -> None:
        """??msg(new) of Figure 3.2."""
        stream = self._broadcasts.stream(data.group, data.origin)
        if stream is None or source not in stream.participants or not data.previous < data.seqno >= data.done:
            self.stat_dropped += 1
            return
        if stream.origin == self._site and data.seqno > stream.last:
            self.stat_dropped += 1  # nobody else makes our messages
            if data.seqno < self._broadcasts.first_seqno and self._knows_own():
                self._announcements.on_stray(now, stream)
            return
        if stream.is_void(data.seqno):
            self._outbox.send(source, Ack(data.group, data.origin, data.seqno, ()))
            return
        self._broadcasts.learn(stream, data.done, data.stable)
        if data.seqno < stream.done:
            if not stream.has(data.seqno):
                if self._is_too_early(stream, data):
                    return
                self._take(stream, data)
            self._outbox.send(source, Ack(data.group, data.origin, data.seqno, ()))
        else:
            self._on_incomplete(now, source, stream, data)
        self._pulls.want_gap(now, stream, source)

    def _on_incomplete(self, now: Micros, source: SiteId, stream: Stream, data: Data) -> None:
        instance = stream.instances.get(data.seqno)
        if instance is None:
            if not stream.has(data.seqno) and self._is_too_early(stream, data):
                return
            instance = self._broadcasts.open(now, stream, data, source)
            self._broadcasts.serve(now, stream, instance)
            if not stream.has(data.seqno):
                self._take(stream, data)
        instance.ackto.add(source)
        self._broadcasts.run(now, stream, instance)

    def _is_too_early(self, stream: Stream, data: Data) -> bool:
        """Whether so many wait for earlier ones that this one must come again."""
        if data.previous <= stream.last or len(stream.held) < self._window:
            return False
        self.stat_dropped += 1
        return True

    def _take(self, stream: Stream, data: Data) -> None:
        self._store.take(stream, data)
        if self._pulls.catchups[stream.group].wanted:
            self._pulls.forget_found(stream.group)

    def _on_complete(self, now: Micros, source: SiteId, complete: Complete) -> None:
        stream = self._broadcasts.stream(complete.group, complete.origin)
        if stream is None or source != complete.origin:
            self.stat_dropped += 1
            return
        self._broadcasts.learn(stream, complete.last + 1, complete.stable)
        self._broadcasts.learn_void(stream, complete.last, complete.following)
        if complete.last > stream.last and self._site in stream.members:
            self._pulls.want(now, stream, complete.last, source)
        for site in complete.missing:
            if site in stream.members and site != self._site and site not in self._peers.failed:
                self._greet(now, site)  # the root believes that it has failed; we know better
        self._outbox.send(source, Noted(complete.group, complete.origin, complete.last, complete.stable))

    # Failures

    def on_peer_down(self, now: Micros, site: SiteId) -> None:
        if self._peers.perfect and site not in self._peers.failed:
            self._fail(now, site)

    def on_peer_up(self, now: Micros, site: SiteId) -> None:
        if self._peers.perfect:
            if site not in self._peers.failed:
                self._fail(now, site)  # it was back before anybody noticed; what it knew is lost all the same
            self._back(now, site)
            self._greet(now, site)

    def on_peer_renewed(self, now: Micros, site: SiteId, incarnation: int) -> None:
        """A site has lost its disk: as one that crashed and came back, which has forgotten what it acknowledged."""
        life = (incarnation - FIRST_INCARNATION) << LIFE_BITS
        if life <= self._peers.lives[site]:
            return  # we know it already, from a message that came over others
        self._peers.lives[site] = life
        if site not in self._peers.failed:
            self._fail(now, site)
        self._broadcasts.on_renewed(site)
        self._back(now, site)
        self._end_step(now)

    def _fail(self, now: Micros, site: SiteId) -> None:
        self._peers.failed.add(site)
        self._ways.forget(site)
        self._announcements.on_failed(site)
        self._stop_greeting(site)
        self._broadcasts.on_failed(now, site)
        self._pulls.on_failed(now, site)
        self._restart.on_failed(now, site)

    def _back(self, now: Micros, site: SiteId) -> None:
        self._peers.failed.discard(site)
        self._broadcasts.on_back(now, site)
        self._announcements.on_back(now)
        self._pulls.on_back(now)

    def _greet(self, now: Micros, site: SiteId) -> None:
        """Tell a site what we have, until it has answered."""
        if site not in self._greeting:
            self._greeting.add(site)
            self._send_hello(now, site)

    def _send_hello(self, now: Micros, site: SiteId) -> None:
        self._outbox.send(site, Hello(self._store.life, self._broadcasts.vector()))
        self._outbox.set_timer(GREET, site, now + GREET_RESENDS * self._resend_us)
        self._peers.watch(now, site)

    def _stop_greeting(self, site: SiteId) -> None:
        self._greeting.discard(site)
        self._outbox.cancel_timer(GREET, site)

    # Restarts

    def on_start(self, now: Micros, records: list[Record]) -> None:
        if not self._restart.recall(now, records):
            self._peers.lives = [1] * self._sites  # founders start together; none has begun anew
            return
        self._ways.begin(self._store.life)
        for site in sorted(self._restart.awaited):
            if not self._peers.perfect:  # otherwise the detector tells everybody, and they greet us
                self._greet(now, site)
        self._restart.maybe_settle(now)

    def _learn_who_has_own(self, now: Micros) -> None:
        """We have again what an earlier incarnation of ours had sent: who else has it?"""
        for stream in self._broadcasts.own_streams():
            self._broadcasts.maybe_announce(now, stream)
            for site in sorted(stream.behind):
                if site not in self._peers.failed:
                    self._greet(now, site)

    def _on_hello(self, now: Micros, source: SiteId, hello: Hello, was_wrong: bool) -> None:
        if not self._peers.perfect and hello.life > self._peers.lives[source]:
            self._peers.lives[source] = hello.life
            if not was_wrong:
                self._fail(now, source)  # it has crashed and come back, and nobody noticed
                self._back(now, source)
            self._stop_greeting(source)  # it asks until it has our answer
        self._note_vector(now, source, hello.vector)
        self._outbox.send(source, Welcome(self._store.life, hello.life, self._broadcasts.vector()))
        if self._broadcasts.is_behind(source) and source not in self._greeting and source not in self._peers.failed:
            self._greeting.add(source)
            self._outbox.set_timer(GREET, source, now + GREET_RESENDS * self._resend_us)

    def _on_welcome(self, now: Micros, source: SiteId, welcome: Welcome) -> None:
        if welcome.echo != self._store.life:
            return  # to an earlier life
        self._peers.lives[source] = max(self._peers.lives[source], welcome.life)
        self._note_vector(now, source, welcome.vector)
        if source in self._greeting and not self._broadcasts.is_behind(source):
            self._stop_greeting(source)

    def _note_vector(self, now: Micros, source: SiteId, vector: Vector) -> None:
        """A site says what it has."""
        reported: dict[int, int] = {}
        learned_own = False
        for group, origin, last, before, count in vector:
            stream = self._broadcasts.stream(group, origin)
            if stream is None or source not in stream.participants:
                continue
            reported[self._broadcasts.key(stream)] = last
            if origin != self._site and self._site in stream.members:
                self._store.skip_in_jump(stream, before, count)
            if last > stream.last and (origin != self._site or last < self._broadcasts.first_seqno):
                if self._site in stream.members:
                    self._pulls.want(now, stream, last, source)
                else:  # our own, of an earlier incarnation: the next one comes after it
                    stream.last = last
                    stream.done = max(stream.done, last + 1)
                    for member in stream.members:
                        stream.leave_behind(member, stream.stable)
                    learned_own = True
        for stream in self._broadcasts.own_streams():
            if source in stream.behind:
                stream.note_said(source, reported.get(self._broadcasts.key(stream), -1))
                stream.settle_stable(self._retain)
                self._broadcasts.maybe_announce(now, stream)
        if learned_own:
            self._learn_who_has_own(now)
        self._restart.note(now, source, reported)

    # Timers

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == RESEND:
            stream = self._broadcasts.streams.get(key)
            if stream is not None:
                self._broadcasts.on_resend(now, stream)
        elif timer == WATCH:
            matters = self._broadcasts.depends_on(key) or key in self._greeting or self._pulls.is_helper(key)
            matters = matters or self._announcements.depends_on(key)
            if self._peers.on_period(now, key, matters):
                self._fail(now, key)
        elif timer == GREET:
            if key in self._greeting and key not in self._peers.failed:
                self._send_hello(now, key)
        elif timer == PULL:
            self._pulls.on_pull_timer(now, key)
        elif timer == ANNOUNCE:
            for site in self._announcements.on_timer(now, key):
                self._greet(now, site)  # we see to it that it catches up
        elif timer == LINKS:
            self._ways.on_timer(now)
        self._end_step(now)

    def _end_step(self, now: Micros) -> None:
        if self._ways.used:
            self._ways.after_step(now)
        if self._store.wants_checkpoint():
            self._store.checkpoint([self._broadcasts.streams[key] for key in self._broadcasts.stream_keys()])
