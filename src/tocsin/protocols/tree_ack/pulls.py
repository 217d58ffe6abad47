"""Catching up: asking others for what this site lacks, and answering those who ask.

Section 3.3, step (1). What is received in this way and not known to be complete is an open broadcast like any other,
with the helper as its sender: should the helper fail, this site takes over.
"""

from typing import Final

from tocsin.core.machine import GroupId, Micros, Outbox, SiteId
from tocsin.protocols.tree_ack.broadcasts import Broadcasts
from tocsin.protocols.tree_ack.catchup import Catchup
from tocsin.protocols.tree_ack.messages import Batch, Data, Request
from tocsin.protocols.tree_ack.options import TreeAckOptions
from tocsin.protocols.tree_ack.peers import Peers
from tocsin.protocols.tree_ack.store import Store
from tocsin.protocols.tree_ack.stream import Stream

PULL: Final = "PULL"  # key: the group of which we lack something

PULL_RESENDS: Final = 2  # another site is asked after so many times resend_us


class Pulls:
    """All groups' catching up."""

    def __init__(
        self,
        site: SiteId,
        groups: list[list[SiteId]],
        options: TreeAckOptions,
        peers: Peers,
        broadcasts: Broadcasts,
        store: Store,
        outbox: Outbox,
    ) -> None:
        self.catchups: list[Catchup] = [Catchup() for _ in groups]  # by group
        self._site = site
        self._groups = groups
        self._peers = peers
        self._broadcasts = broadcasts
        self._store = store
        self._outbox = outbox
        self._patience_us: int = options.resend_us
        self._wait_us: int = PULL_RESENDS * options.resend_us
        self._rest_us: int = max(self._wait_us, options.recheck_us)

    def quiet(self) -> bool:
        return all(not catchup.wanted or catchup.is_resting for catchup in self.catchups)

    def wants_own(self, group: GroupId) -> bool:
        """Whether an earlier incarnation of this site has sent messages that we lack: others have them."""
        return self._site in self.catchups[group].wanted

    def lacks_own(self) -> bool:
        return any(self._site in catchup.wanted for catchup in self.catchups)

    def is_helper(self, site: SiteId) -> bool:
        return any(catchup.helper == site for catchup in self.catchups)

    # Asking

    def want_gap(self, now: Micros, stream: Stream, holder: SiteId) -> None:
        """Ask for what is complete everywhere else and holds others back here."""
        missing = stream.missing_complete()
        if missing >= 0:
            self.want(now, stream, missing, holder)

    def want(self, now: Micros, stream: Stream, seqno: int, holder: SiteId) -> None:
        """There is a message that we lack. It may be on its way: we ask only if it has not come after a while."""
        catchup = self.catchups[stream.group]
        if not catchup.wanted:
            self._outbox.set_timer(PULL, stream.group, now + self._patience_us)
        catchup.want(stream.origin, seqno, holder if holder in stream.members else -1)
        if holder == stream.origin and holder not in stream.members:
            catchup.roots.add(holder)

    def on_failed(self, now: Micros, site: SiteId) -> None:
        for group in range(len(self._groups)):
            if self.catchups[group].helper == site:
                self._ask_next(now, group)

    def on_back(self, now: Micros) -> None:
        """A site is there again, perhaps with what nobody else has."""
        for group in range(len(self._groups)):
            if self.catchups[group].is_resting:
                self.catchups[group].wake()
                self._outbox.set_timer(PULL, group, now + self._patience_us)

    def on_pull_timer(self, now: Micros, group: GroupId) -> None:
        """What we lack has not come by itself, the helper was silent, or nobody had anything."""
        if self.catchups[group].wanted:
            self._ask_next(now, group)

    def _ask_next(self, now: Micros, group: GroupId) -> None:
        catchup = self.catchups[group]
        if catchup.turn_to_next(self._groups[group], self._site, self._peers.failed) or catchup.turn_to_root():
            self._send_request(now, group)
        elif self._skip(group):
            self._ask_next(now, group)
        else:
            catchup.give_up(self._broadcasts.group_streams(group))
            self._set_pull(now, group)

    def _skip(self, group: GroupId) -> bool:
        """Everybody was asked, and what comes next is kept by nobody: it is missed. Whether there was such a stream."""
        catchup = self.catchups[group]
        skipped = False
        for origin in sorted(catchup.floors):
            floor, count = catchup.floors[origin]
            stream = self._broadcasts.stream(group, origin)
            if stream is not None and stream.last < floor and stream.count < count:
                self._store.skip(stream, floor, count)
                if origin == self._site:
                    stream.done = stream.stable = max(stream.done, floor + 1)
                self._broadcasts.learn(stream, floor + 1, floor + 1)
                skipped = True
        catchup.floors.clear()
        if skipped:
            self.forget_found(group)
        return skipped and bool(catchup.wanted)

    def _send_request(self, now: Micros, group: GroupId) -> None:
        catchup = self.catchups[group]
        vector: list[tuple[int, int]] = []
        for key in self._broadcasts.stream_keys():
            stream = self._broadcasts.streams[key]
            if stream.group == group and stream.last >= 0:
                vector.append((stream.origin, stream.last))
        self._outbox.send(catchup.helper, Request(group, catchup.cursor, tuple(vector)))
        self._peers.watch(now, catchup.helper)
        self._set_pull(now, group)

    def _set_pull(self, now: Micros, group: GroupId) -> None:
        if self.catchups[group].wanted:
            wait_us = self._rest_us if self.catchups[group].is_resting else self._wait_us
            self._outbox.set_timer(PULL, group, now + wait_us)
        else:
            self._outbox.cancel_timer(PULL, group)

    # Answering, and being answered

    def on_request(self, source: SiteId, request: Request) -> None:
        group = request.group
        if group >= len(self._groups) or source not in self._groups[group]:
            return  # not from a site of ours
        if self._site in self._groups[group]:
            self._outbox.send(source, self._store.batch(request, self._broadcasts.group_streams(group)))
        else:
            self._outbox.send(source, Batch(group, 0, False, self._lost(source, request), ()))

    def _lost(self, source: SiteId, request: Request) -> tuple[tuple[int, int, int], ...]:
        """Of our messages to a group that we are not in: those that were complete, and whose holders have all lost
        their disks since."""
        stream = self._broadcasts.stream(request.group, self._site)
        assert stream is not None
        lost = stream.lost(dict(request.vector).get(self._site, -1))
        return () if lost is None else ((self._site, lost[0], lost[1]),)

    def on_batch(self, now: Micros, source: SiteId, batch: Batch) -> bool:
        """What we asked for; whether we now have again all that an earlier incarnation of ours had sent."""
        group = batch.group
        if group >= len(self._groups) or self._site not in self._groups[group]:
            return False  # not from a site of ours
        lacked_own = self.lacks_own()
        catchup = self.catchups[group]
        for piece in batch.pieces:
            stream = self._broadcasts.stream(group, piece.origin)
            if stream is None or piece.previous != stream.last or piece.seqno <= stream.last:
                continue  # it came another way meanwhile
            if source not in stream.members or (piece.origin == self._site and not self.wants_own(group)):
                continue
            data = Data(group, piece.origin, piece.seqno, piece.previous, 0, 0, piece.payload)
            self._store.take(stream, data)
            catchup.note_progress()
            if piece.origin == self._site:
                stream.done = max(stream.done, piece.seqno + 1)  # what is under way of it is for its holders to see to
                for member in stream.members:
                    if member not in (self._site, source):
                        stream.leave_behind(member, stream.stable)
            elif not piece.complete and piece.seqno >= stream.done and piece.seqno not in stream.instances:
                instance = self._broadcasts.open(now, stream, data, source)
                self._broadcasts.serve(now, stream, instance)
                self._broadcasts.run(now, stream, instance)
        if catchup.helper == source:
            for origin, floor, count in batch.floors:
                if source in self._groups[group] or source == origin:
                    catchup.note_floor(origin, floor, count)
        self.forget_found(group)
        if catchup.wanted and catchup.helper == source:
            if batch.more and batch.cursor > catchup.cursor:
                catchup.cursor = batch.cursor
                self._send_request(now, group)
            else:
                catchup.note_nothing()
                self._ask_next(now, group)
        return lacked_own and not self.lacks_own()

    def forget_found(self, group: GroupId) -> None:
        catchup = self.catchups[group]
        catchup.forget_found(self._broadcasts.group_streams(group))
        if not catchup.wanted:
            self._outbox.cancel_timer(PULL, group)
