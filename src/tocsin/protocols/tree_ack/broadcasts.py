"""Figure 3.2: who is sent a message, who acknowledges it when, and who takes over for whom.

| Figure 3.2                                                    | here                                      |
|---------------------------------------------------------------|-------------------------------------------|
| sendto nonempty: choose, skip i, pass over a failed one, send | `_send_out`                               |
| ackfrom and FAILED have a common element                      | `on_failed`                               |
| ??ack(a)                                                      | `on_ack`                                  |
| failed(b), nothing to send or to wait for: r, sendto := b, {b}| `run`, `Instance.orphaned`                |
| ??msg(new)                                                    | `TreeAck._on_data`, `open`, `learn`       |
| ackto nonempty, B(i, m): acknowledge                          | `_answer`                                 |
| at b: nothing to send or to wait for: B(b, m)                 | `_complete`                               |
"""

from typing import Final

from tocsin.core.errors import InputError
from tocsin.core.machine import GroupId, Micros, Outbox, SiteId
from tocsin.planning.strategies import GivenTree, Strategy, strategy
from tocsin.protocols.tree_ack.instance import Instance
from tocsin.protocols.tree_ack.messages import Ack, Data, Vector
from tocsin.protocols.tree_ack.options import TreeAckOptions
from tocsin.protocols.tree_ack.peers import Peers
from tocsin.protocols.tree_ack.stream import BACKOFF_MAX, Stream

RESEND: Final = "RESEND"  # key: the stream
ANNOUNCE: Final = "ANNOUNCE"  # key: the stream


class Broadcasts:
    """All broadcasts this site takes part in."""

    def __init__(
        self,
        site: SiteId,
        sites: int,
        groups: list[list[SiteId]],
        options: TreeAckOptions,
        peers: Peers,
        outbox: Outbox,
    ) -> None:
        self.streams: dict[int, Stream] = {}  # by key: those in which something happened
        self.first_seqno = 0  # our numbers below are of an earlier incarnation
        self._site = site
        self._sites = sites
        self._groups = groups
        self._plans: list[Strategy] = []  # by group: for a root that is a member …
        self._plans_outside: list[Strategy] = []  # … and for one that is not
        for members in groups:
            self._plans.append(plan_for(options, len(members)))
            self._plans_outside.append(plan_for(options, len(members) + 1))
        self._peers = peers
        self._outbox = outbox
        self._watch_sender: bool = options.watch == "sender"
        self._window: int = options.window
        self._retain: int = options.retain
        self._resend_us: int = options.resend_us
        self._announce_us: int = options.announce_us

    # Streams

    def key(self, stream: Stream) -> int:
        return stream.group * self._sites + stream.origin

    def stream(self, group: GroupId, origin: SiteId) -> Stream | None:
        """The stream of a root to a group; None where there can be none that concerns us."""
        if group >= len(self._groups) or origin >= self._sites:
            return None
        key = group * self._sites + origin
        stream = self.streams.get(key)
        if stream is None:
            members = self._groups[group]
            if self._site not in members and self._site != origin:
                return None
            if origin in members:
                stream = Stream(group, origin, members, members, self._plans[group])
            else:
                stream = Stream(group, origin, sorted([*members, origin]), members, self._plans_outside[group])
            self.streams[key] = stream
        return stream

    def own_streams(self) -> list[Stream]:
        """The streams of which this site is the root."""
        found: list[Stream] = []
        for group in range(len(self._groups)):
            stream = self.streams.get(group * self._sites + self._site)
            if stream is not None:
                found.append(stream)
        return found

    def under_way(self) -> int:
        """Broadcasts of this site that are not complete."""
        return sum([len(stream.instances) for stream in self.own_streams()])

    def group_streams(self, group: GroupId) -> dict[int, Stream]:
        """The streams to a group, by origin."""
        found: dict[int, Stream] = {}
        for key in self.stream_keys():
            stream = self.streams[key]
            if stream.group == group:
                found[stream.origin] = stream
        return found

    def stream_keys(self) -> list[int]:
        """The streams' keys, in increasing order."""
        return sorted(self.streams)

    def vector(self) -> Vector:
        """What we have (of our own messages to groups that we are not in: what there is)."""
        vector: list[tuple[int, int, int, int, int]] = []
        for key in self.stream_keys():
            stream = self.streams[key]
            if stream.last >= 0:
                vector.append((stream.group, stream.origin, stream.last, *stream.before_jump()))
        return tuple(vector)

    def is_behind(self, site: SiteId) -> bool:
        """Whether a site may lack messages of ours: then it is greeted until it has them."""
        return any(site in stream.behind for stream in self.own_streams())

    # An instance's life

    def open(self, now: Micros, stream: Stream, message: Data, sender: SiteId) -> Instance:
        """We have a message whose broadcast is not known to be complete, from `sender` (-1: from an earlier life)."""
        instance = Instance(message, sender)
        stream.instances[message.seqno] = instance
        if stream.origin != self._site:
            watched = self._watched(stream, instance)
            instance.orphaned = watched < 0 or watched in self._peers.failed
            self._peers.watch(now, watched)
            if len(stream.instances) > self._window:  # no root has more under way: the oldest is complete
                self.learn(stream, min(stream.instances) + 1, 0)
        return instance

    def serve(self, now: Micros, stream: Stream, instance: Instance) -> None:
        """Send the message to our successors, or to those who must be sent it instead."""
        instance.sendto.extend(stream.successors(self._site))
        self._send_out(now, stream, instance)

    def run(self, now: Micros, stream: Stream, instance: Instance) -> None:
        """Do all that the guards of Figure 3.2 allow."""
        self._send_out(now, stream, instance)
        if not instance.ackfrom and not instance.waiting and not instance.whole:
            if stream.origin == self._site:
                if self.is_held(stream, instance):
                    self._complete(now, stream, instance)
            elif instance.orphaned:
                instance.whole = True  # r, sendto := b, {b}
                instance.sendto.append(stream.origin)
                self._send_out(now, stream, instance)
        self._answer(stream, instance)

    def is_held(self, stream: Stream, instance: Instance) -> bool:
        """Whether a member has it: what only a root outside the group has is not broadcast, whoever has failed."""
        return self._site in stream.members or any(site in stream.members for site in instance.acked)

    def _sees_to(self, stream: Stream, instance: Instance, site: SiteId) -> bool:
        """Whether a site that was left out is ours to serve. Who serves its subtree alone waits for sites of that
        subtree alone, and who serves everybody is waited for by nobody: so nobody waits for itself in a circle."""
        return stream.origin == self._site or instance.whole or stream.is_below(site, self._site)

    def _send_out(self, now: Micros, stream: Stream, instance: Instance) -> None:
        sendto = instance.sendto
        while sendto:
            site = sendto.pop(0)
            if site == self._site or site in instance.ackfrom:
                continue
            if site in self._peers.failed:
                instance.skipped.add(site)
                sendto.extend(stream.successors(site))
            else:
                instance.ackfrom.add(site)
                instance.resent = False
                stream.backoff = 0
                self._outbox.send(site, instance.message)
                self._peers.watch(now, site)
                self._arm(now, stream)

    def _answer(self, stream: Stream, instance: Instance) -> None:
        if not instance.ackto or not instance.served():
            return
        message = instance.message
        ack = Ack(message.group, message.origin, message.seqno, tuple(sorted(instance.skipped)))
        for site in sorted(instance.ackto):
            if not self._peers.perfect or site not in self._peers.failed:
                self._outbox.send(site, ack)
        instance.ackto.clear()

    def _complete(self, now: Micros, stream: Stream, instance: Instance) -> None:
        """B(b, m) holds at the root b: the next broadcast may begin."""
        seqno = instance.message.seqno
        instance.whole = True
        for site in sorted(instance.skipped):
            if site in stream.members:
                stream.leave_behind(site, seqno)
        self._answer(stream, instance)
        for number in stream.numbers():
            if not stream.instances[number].whole:
                break
            del stream.instances[number]
            stream.done = number + 1
        stream.settle_stable(self._retain)
        self.maybe_announce(now, stream)

    def maybe_announce(self, now: Micros, stream: Stream) -> bool:
        """Of our own stream, when nothing is under way: say in a while that all is complete."""
        if self._announce_us == 0 or stream.instances or stream.last < 0:
            return False
        self._outbox.set_timer(ANNOUNCE, self.key(stream), now + self._announce_us)
        return True

    def _watched(self, stream: Stream, instance: Instance) -> SiteId:
        """Whose failure makes us take over: m.sender or, without the optimization, the root."""
        return instance.sender if self._watch_sender or instance.sender < 0 else stream.origin

    # What happens to instances

    def on_ack(self, now: Micros, source: SiteId, ack: Ack) -> None:
        stream = self.stream(ack.group, ack.origin)
        instance = stream.instances.get(ack.seqno) if stream is not None else None
        if stream is None or instance is None or source not in instance.ackfrom:
            return  # late, or twice
        instance.ackfrom.discard(source)
        instance.acked.add(source)
        stream.backoff = 0
        for site in ack.missing:
            if site in stream.participants and site != self._site and site not in instance.acked:
                if site in self._peers.failed or not self._sees_to(stream, instance, site):
                    instance.skipped.add(site)  # for those to see to who sent it to us
                else:
                    instance.sendto.append(site)  # left out there, but we know that it lives
        self.run(now, stream, instance)
        self._disarm_if_done(stream)

    def learn(self, stream: Stream, done: int, stable: int) -> None:
        """The root says what is complete and what is stable: B(b, m), hence B(i, m), for all numbers below `done`."""
        if stream.origin == self._site:
            return
        if done > stream.done:
            stream.done = done
            for seqno in stream.numbers():
                if seqno < done:
                    self._close(stream, seqno)
            self._disarm_if_done(stream)
        if stream.stable < stable <= stream.done:
            stream.stable = stable

    def learn_void(self, stream: Stream, last: int, following: int) -> None:
        """A root that has begun anew says that nobody has a way to deliver what it sent between these numbers."""
        if stream.origin == self._site or stream.last > last:
            return  # we have more than it knows of, and it will hear of it
        stream.void = (last, following)
        for seqno in sorted(stream.held):
            if stream.is_void(seqno):
                del stream.held[seqno]
        for seqno in stream.numbers():
            if stream.is_void(seqno):
                self._close(stream, seqno)
        self._disarm_if_done(stream)

    def _close(self, stream: Stream, seqno: int) -> None:
        """Nothing is left to see to."""
        instance = stream.instances.pop(seqno)
        instance.waiting = False
        instance.whole = True
        instance.skipped.clear()
        self._answer(stream, instance)

    def on_failed(self, now: Micros, site: SiteId) -> None:
        """A site has failed: we serve its successors, and take over if we had the message from it."""
        for key in self.stream_keys():
            stream = self.streams[key]
            for seqno in stream.numbers():
                instance = stream.instances.get(seqno)
                if instance is None:
                    continue  # complete by now
                if site in instance.ackfrom:
                    instance.ackfrom.discard(site)
                    instance.skipped.add(site)
                    instance.sendto.extend(stream.successors(site))
                if stream.origin != self._site and self._watched(stream, instance) == site:
                    instance.orphaned = True
                self.run(now, stream, instance)
            self._disarm_if_done(stream)

    def on_back(self, now: Micros, site: SiteId) -> None:
        """A site that we left out is there again."""
        for key in self.stream_keys():
            stream = self.streams[key]
            for seqno in stream.numbers():
                instance = stream.instances[seqno]
                if site in instance.skipped and self._sees_to(stream, instance, site):
                    instance.skipped.discard(site)
                    instance.sendto.append(site)
                    self._send_out(now, stream, instance)

    def on_renewed(self, site: SiteId) -> None:
        """A site has begun anew: what it acknowledged it no longer has."""
        for key in self.stream_keys():
            for instance in self.streams[key].instances.values():
                instance.acked.discard(site)
        for stream in self.own_streams():
            if site in stream.members and stream.last >= 0:
                stream.leave_behind(site, stream.stable)

    def depends_on(self, site: SiteId) -> bool:
        """Whether the failure of this site would make us act."""
        for stream in self.streams.values():
            for instance in stream.instances.values():
                if site in instance.ackfrom:
                    return True
                if stream.origin != self._site and not instance.whole and self._watched(stream, instance) == site:
                    return True
        return False

    def quiet(self) -> bool:
        for stream in self.streams.values():
            if stream.instances and stream.origin == self._site:
                return False
            for instance in stream.instances.values():
                if instance.waiting or instance.ackfrom or instance.ackto:
                    return False
        return True

    # Links are made reliable by sending again

    def _arm(self, now: Micros, stream: Stream) -> None:
        if not stream.resend_armed:
            stream.resend_armed = True
            self._outbox.set_timer(RESEND, self.key(stream), now + (self._resend_us << stream.backoff))

    def _disarm_if_done(self, stream: Stream) -> None:
        if not stream.resend_armed:
            return
        for instance in stream.instances.values():
            if instance.ackfrom:
                return
        stream.resend_armed = False
        stream.backoff = 0
        self._outbox.cancel_timer(RESEND, self.key(stream))

    def on_resend(self, now: Micros, stream: Stream) -> None:
        """Send again what was sent before the timer was last set."""
        stream.resend_armed = False
        owed = False
        for seqno in stream.numbers():
            instance = stream.instances[seqno]
            if instance.ackfrom:
                owed = True
                if instance.resent or len(stream.instances) == 1:  # alone, it was sent when the timer was set
                    for site in sorted(instance.ackfrom):
                        self._outbox.send(site, instance.message)
                instance.resent = True
                if stream.backoff > 1 and self._peers.perfect:
                    for site in sorted(instance.ackfrom):
                        self._peers.watch_link(now, site)
        if owed:
            if stream.backoff < BACKOFF_MAX:
                stream.backoff += 1
            self._arm(now, stream)


def plan_for(options: TreeAckOptions, sites: int) -> Strategy:
    """The strategy for a broadcast among so many sites."""
    if options.tree and len(options.tree) == sites - 1:
        children: list[list[int]] = [[] for _ in range(sites + 1)]
        for sender, receiver in options.tree:
            if not 1 <= sender <= sites:
                raise InputError(f"`tree`: expected names 1 to {sites}, found {sender}")
            children[sender].append(receiver)
        return GivenTree(children, options.delay, options.gap)
    return strategy(options.shape, sites, options.delay, options.gap)
