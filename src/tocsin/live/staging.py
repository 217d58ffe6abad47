"""The effects of steps on their way into the log: what is durable of them is staged there, and what is visible waits
behind it, in order."""

from typing import Final

from tocsin.core.codec import Codec
from tocsin.core.effects import (
    Acquaint,
    Checkpoint,
    Deliver,
    Effect,
    GroupView,
    Missed,
    Multicast,
    Persist,
    Rollback,
    Send,
    Trim,
    View,
)
from tocsin.core.machine import GroupId, SiteId
from tocsin.core.message import Record, payload_of
from tocsin.live.heard import Delivered, Heard
from tocsin.live.outgoing import Outgoing
from tocsin.live.storage import log_format
from tocsin.live.storage.bases import Base
from tocsin.live.storage.closed_files import ClosedFiles
from tocsin.live.storage.log import Log
from tocsin.live.stream import Stream

PAYLOAD_BYTES_MIN: Final = 512  # smaller ones are written again sooner than found

Visible = Send | Multicast | Heard


class Staging:
    """What steps have asked for, and the log does not have yet."""

    def __init__(
        self,
        site: SiteId,
        groups: int,
        record_codec: Codec,
        log: Log,
        closed_files: ClosedFiles,
        outgoing: Outgoing,
        decides: bool = False,
    ) -> None:
        """`decides`: the order is common and never taken back: repeats of producers' numbers are told from it."""
        self.sends = 0  # of what is visible
        self.must_sync = False  # among what is staged is a promise that was not synced before
        self._promises: set[tuple[type[Record], object]] = set()  # of the records that are always synced
        self._visible: list[Visible] = []
        self._site = site
        self._record_codec = record_codec
        self._log = log
        self._closed_files = closed_files
        self._outgoing = outgoing
        self._decides = decides
        self._streams: list[Stream] = []
        if groups:
            self._stream(groups - 1)

    def add(self, effect: Effect) -> None:
        """Take an effect of a step."""
        if isinstance(effect, (Send, Multicast)):
            self._visible.append(effect)
            self.sends += 1
        elif isinstance(effect, Persist):
            payload = payload_of(effect.record)
            carried = payload if len(payload) >= PAYLOAD_BYTES_MIN else b""
            self._log.stage_record(self._record_codec.encode(effect.record), carried)
            if effect.record.always_synced:
                self._promises.add((type(effect.record), effect.record.promise()))
                self.must_sync = True
        elif isinstance(effect, Deliver):
            self._deliver(effect)
        elif isinstance(effect, Checkpoint):
            self._log.stage_checkpoint([self._record_codec.encode(record) for record in effect.records])
            promises = {(type(record), record.promise()) for record in effect.records if record.always_synced}
            self.must_sync = self.must_sync or not promises <= self._promises
            self._promises = promises
        elif isinstance(effect, Trim):
            self._trim(effect.group, effect.position)
        elif isinstance(effect, View):
            self._tell(log_format.View(effect.view, tuple(effect.members), effect.primary))
        elif isinstance(effect, GroupView):
            self._tell(log_format.View(effect.view, tuple(effect.members), True, effect.group))
        elif isinstance(effect, Rollback):
            self._tell(self._stream(effect.group).rollback(effect.origin, effect.seqno))
        elif isinstance(effect, Missed):
            self.miss(effect, None)
        elif isinstance(effect, Acquaint):
            self._log.stage(log_format.Acquaint(effect.site, effect.incarnation))
            self.must_sync = True

    def miss(self, effect: Missed, base: Base | None) -> None:
        """Frames will never come. `base`: where the group's messages stand behind them, if another member has said so;
        otherwise they are counted from here on, and repeats among what was missed are not known."""
        group, first, count = effect.group, effect.first, effect.count
        if effect.origin < 0:
            self._stream(group).skip(first + count)
        if base is None:
            self._log.producers.on_missed()
            self._tell(log_format.Missed(group, effect.origin, first, count))
            return
        stream = self._stream(group)
        before = stream.position
        tables = self._log.producers
        cursors = tables.replace_cursors(group, base.cursors)
        stream.go_on(base.position, tables.replace(group, base.table), base.pieces, cursors)
        told = (base.position, base.table, base.pieces, base.cursors)
        self._tell(log_format.Missed(group, effect.origin, first, count, before, *told))

    def _tell(self, op: log_format.View | log_format.Rollback | log_format.Missed) -> None:
        self._log.stage(op)
        self._visible.append(op)

    def _deliver(self, effect: Deliver) -> None:
        stream = self._stream(effect.group)
        position = stream.end
        if effect.origin == self._site:
            self._outgoing.on_delivered(effect.group, effect.seqno)
        place = self._log.place_of(effect.payload)
        op, messages, answers = stream.deliver_numbered(effect.origin, effect.seqno, effect.payload, place)
        self._log.stage_delivery(op, effect.payload)
        self._visible.append(Delivered(op, messages, position, answers))

    def _trim(self, group: GroupId, position: int) -> None:
        self._closed_files.trim(group, position)
        index = self._log.frames.group(group)
        index.trimmed = max(index.trimmed, min(position, index.end))

    def take_visible(self) -> list[Visible]:
        visible = self._visible
        self._visible = []
        self.sends = 0
        self.must_sync = False
        return visible

    def has_visible(self) -> bool:
        return len(self._visible) > 0

    def drop(self) -> None:
        """The member has failed: nothing becomes visible any more."""
        self.take_visible()
        self._log.drop_staged()

    def on_applied(self) -> None:
        """The log has what was staged before."""
        for stream in self._streams:
            stream.on_applied(self._log.staged_of(stream.group))

    def broken(self) -> int:
        """Large messages that can never be whole here."""
        return sum([stream.stat_broken for stream in self._streams])

    def _stream(self, group: GroupId) -> Stream:
        """Groups may be created while running."""
        while len(self._streams) <= group:
            new = len(self._streams)
            tables = self._log.producers
            table = tables.of(new) if self._decides else None
            self._streams.append(Stream(new, self._log.frames, table, tables.cursors_of(new)))
        return self._streams[group]
