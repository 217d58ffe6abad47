"""Section 3.3: coming back after a crash.

What this site had received is on stable storage: a checkpoint, a few records, and the delivery log. Of what is not
known to be complete, it may be the only holder: once every functioning site has said what it has, it broadcasts again
what somebody lacks. What it lacks itself it gets by catching up (`Pulls`).
"""

from tocsin.core.machine import FIRST_INCARNATION, GroupId, Micros, Setup, SiteId
from tocsin.core.message import Record
from tocsin.protocols.tree_ack.broadcasts import Broadcasts
from tocsin.protocols.tree_ack.messages import Data, Kept, Skipped
from tocsin.protocols.tree_ack.peers import Peers
from tocsin.protocols.tree_ack.store import Store
from tocsin.protocols.tree_ack.stream import Stream

NOTHING: dict[int, int] = {}


class Restart:
    """Remembers, and waits until the others have said what they have."""

    def __init__(self, setup: Setup, window: int, peers: Peers, broadcasts: Broadcasts, store: Store) -> None:
        self.is_anew: bool = (
            setup.incarnation > FIRST_INCARNATION or setup.in_doubt
        )  # began without what an earlier incarnation had, or the end of it: others tell
        self.awaited: set[SiteId] = set()  # sites that have not said what they have; none has failed
        self._reported: dict[SiteId, dict[int, int]] = {}  # until all have: newest numbers by stream's key
        self._site = setup.site
        self._sites = setup.sites
        self._groups = len(setup.groups)
        self._window = window
        self._peers = peers
        self._broadcasts = broadcasts
        self._store = store

    def recall(self, now: Micros, records: list[Record]) -> bool:
        """Rebuild what we knew; whether there was an earlier life."""
        checkpoint = self._store.recall_checkpoint(records)
        for state in checkpoint.streams:
            stream = self._broadcasts.stream(state.group, state.origin)
            assert stream is not None
            stream.last = state.last
            stream.count = state.count
            stream.done = state.done
            stream.stable = state.stable
            stream.floor = state.floor
            stream.floor_count = state.floor_count
            stream.jump = state.jump
        opened: dict[int, dict[int, Data]] = {}  # by stream's key and number: not known to be complete
        for record in records:
            if isinstance(record, Skipped):
                self._recall_skipped(record)
        for record in records:
            if isinstance(record, Kept):
                self._recall(record, opened)
        for group in range(self._groups):
            self._recall_log(group, checkpoint.positions[group], opened)
        if not self._store.found_something and not self.is_anew:
            return False
        self._restore(now, opened)
        return True

    def _recall_skipped(self, skipped: Skipped) -> None:
        stream = self._broadcasts.stream(skipped.group, skipped.origin)
        assert stream is not None
        if skipped.last > stream.last:
            stream.last = stream.floor = skipped.last
            stream.count = stream.floor_count = skipped.count
            stream.done = max(stream.done, skipped.last + 1)
            stream.stable = max(stream.stable, skipped.last + 1)

    def _recall(self, kept: Kept, opened: dict[int, dict[int, Data]]) -> None:
        stream = self._broadcasts.stream(kept.group, kept.origin)
        assert stream is not None
        data = Data(kept.group, kept.origin, kept.seqno, kept.previous, 0, 0, kept.payload)
        opened.setdefault(self._broadcasts.key(stream), {})[kept.seqno] = data
        if kept.origin == self._site:
            self._store.numbers.recall(kept.seqno)
            if self._site not in stream.members and kept.seqno > stream.last:
                stream.step_to(kept.seqno)
        elif kept.seqno > stream.last:
            stream.held[kept.seqno] = data

    def _recall_log(self, group: GroupId, position: int, opened: dict[int, dict[int, Data]]) -> None:
        for entry in self._store.log_since(group, position):
            stream = self._broadcasts.stream(group, entry.origin)
            assert stream is not None
            self._store.found_something = True
            if entry.seqno <= stream.last:
                continue  # the checkpoint knew it
            data = Data(group, entry.origin, entry.seqno, stream.last, 0, 0, entry.payload)
            stream.step_to(entry.seqno)
            stream.held.pop(entry.seqno, None)
            opened.setdefault(self._broadcasts.key(stream), {})[entry.seqno] = data
            if entry.origin == self._site:
                self._store.numbers.recall(entry.seqno)

    def _restore(self, now: Micros, opened: dict[int, dict[int, Data]]) -> None:
        """An earlier life has left messages whose broadcasts may be incomplete: they wait for what others say."""
        for key in sorted(opened):
            stream = self._broadcasts.streams[key]
            numbers = sorted(opened[key])
            delivered = [seqno for seqno in numbers if seqno <= stream.last]
            if len(delivered) > self._window:  # number n was sent, so number n - window was complete
                stream.done = max(stream.done, delivered[-self._window - 1] + 1)
            for seqno in numbers:
                if seqno >= stream.done:
                    instance = self._broadcasts.open(now, stream, opened[key][seqno], -1)
                    instance.waiting = True
        for key in self._broadcasts.stream_keys():
            stream = self._broadcasts.streams[key]
            if stream.origin == self._site and stream.last >= 0:
                for member in stream.members:
                    if member != self._site:
                        stream.leave_behind(member, stream.stable)
        self.awaited = {site for site in range(self._sites) if site != self._site}

    def note(self, now: Micros, site: SiteId, newest: dict[int, int]) -> None:
        """A site has said what it has: newest numbers by stream's key."""
        if site in self.awaited:
            self.awaited.discard(site)
            self._reported[site] = newest
            self.maybe_settle(now)

    def on_failed(self, now: Micros, site: SiteId) -> None:
        if site in self.awaited:
            self.awaited.discard(site)
            self.maybe_settle(now)

    def maybe_settle(self, now: Micros) -> bool:
        """Once everybody has said what they have: broadcast again what somebody lacks."""
        if self.awaited:
            return False
        for key in self._broadcasts.stream_keys():
            stream = self._broadcasts.streams[key]
            for seqno in stream.numbers():
                instance = stream.instances.get(seqno)
                if instance is None or not instance.waiting:
                    continue
                instance.waiting = False
                for site in stream.members:
                    if self._reported.get(site, NOTHING).get(key, -1) >= seqno:
                        instance.acked.add(site)
                if self._somebody_lacks(key, stream, seqno) or not self._broadcasts.is_held(stream, instance):
                    self._broadcasts.serve(now, stream, instance)
                elif stream.origin != self._site:
                    instance.whole = True  # B(b, m) holds
                self._broadcasts.run(now, stream, instance)
        self._reported.clear()
        self.is_anew = False
        return True

    def _somebody_lacks(self, key: int, stream: Stream, seqno: int) -> bool:
        for site in stream.members:
            if site != self._site and site not in self._peers.failed:
                reported = self._reported.get(site)
                if reported is None or reported.get(key, -1) < seqno:
                    return True
        return False
