"""A root that has fallen silent tells everybody that its last broadcast is complete, and what is stable, until heard.

In the paper the last broadcast is never known to be complete. Here its receivers stop watching, let go of it, and trim
their logs. A member confirms each `Complete`; one that has failed is told anew when it is back, because it may have
forgotten it.

`announce_us` may be shorter than a round trip: the same is never told again before `resend_us`, and in vain after
pauses that double.
"""

from tocsin.core.machine import Micros, Outbox, SiteId
from tocsin.protocols.tree_ack.broadcasts import ANNOUNCE, Broadcasts
from tocsin.protocols.tree_ack.messages import Complete, Noted
from tocsin.protocols.tree_ack.options import TreeAckOptions
from tocsin.protocols.tree_ack.peers import Peers
from tocsin.protocols.tree_ack.stream import BACKOFF_MAX, Stream


class Announcements:
    """Of this site's own streams."""

    def __init__(
        self, site: SiteId, options: TreeAckOptions, broadcasts: Broadcasts, peers: Peers, outbox: Outbox
    ) -> None:
        self._site = site
        self._announce_us: int = options.announce_us
        self._resend_us: int = options.resend_us
        self._broadcasts = broadcasts
        self._peers = peers
        self._outbox = outbox

    def on_timer(self, now: Micros, key: int) -> list[SiteId]:
        """Nothing to broadcast for a while; answers who must catch up first."""
        stream = self._broadcasts.streams.get(key)
        if stream is None or stream.instances:
            return []
        missing = sorted(stream.behind)
        catching_up = [site for site in missing if site not in self._peers.failed]
        if catching_up:
            self._outbox.set_timer(ANNOUNCE, key, now + max(self._announce_us, self._resend_us))
            return catching_up
        if stream.announced != (stream.last, stream.stable):
            stream.announced = (stream.last, stream.stable)
            stream.untold.update(stream.members)
            stream.untold.discard(self._site)
            stream.tellings = 0
        elif now < self._tell_again_at(stream):
            self._outbox.set_timer(ANNOUNCE, key, self._tell_again_at(stream))
            return []
        following = max(stream.last + 1, self._broadcasts.first_seqno)
        complete = Complete(stream.group, stream.origin, stream.last, stream.stable, tuple(missing), following)
        self._tell(now, key, stream, complete)
        return []

    def on_stray(self, now: Micros, stream: Stream) -> None:
        """Somebody has a message of our earlier incarnation that cannot be delivered: what was before it is lost. It is
        told with the next `Complete`, which is due for this reason alone where there are no others."""
        if not stream.is_stray_known and not stream.instances:
            stream.is_stray_known = True
            self._outbox.set_timer(
                ANNOUNCE, self._broadcasts.key(stream), now + max(self._announce_us, self._resend_us)
            )

    def _tell(self, now: Micros, key: int, stream: Stream, complete: Complete) -> None:
        told = [site for site in sorted(stream.untold) if site not in self._peers.failed]
        for site in told:
            self._outbox.send(site, complete)
            self._peers.watch(now, site)
        if told:
            stream.told_at = now
            stream.tellings += 1
            self._outbox.set_timer(ANNOUNCE, key, self._tell_again_at(stream))

    def _tell_again_at(self, stream: Stream) -> Micros:
        """Before this the same is not told again."""
        if stream.tellings == 0:
            return stream.told_at + self._resend_us
        return stream.told_at + max(self._announce_us, self._resend_us << min(stream.tellings - 1, BACKOFF_MAX))

    def on_noted(self, source: SiteId, noted: Noted) -> None:
        stream = self._broadcasts.stream(noted.group, self._site)
        if stream is not None and (noted.last, noted.stable) == stream.announced:
            stream.untold.discard(source)

    def on_failed(self, site: SiteId) -> None:
        for stream in self._broadcasts.own_streams():
            if site in stream.members:
                stream.untold.add(site)

    def on_back(self, now: Micros) -> None:
        for stream in self._broadcasts.own_streams():
            stream.tellings = 0  # whoever is back is not to wait for those who were away
            self._broadcasts.maybe_announce(now, stream)

    def depends_on(self, site: SiteId) -> bool:
        """Whether this site has not confirmed what it is told."""
        return any(site in stream.untold for stream in self._broadcasts.own_streams())
