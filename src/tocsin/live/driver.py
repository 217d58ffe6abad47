"""Drives one machine: datagrams, timers and broadcasts in; sends, deliveries and records out; durable before visible.

One call of the machine is one step. What a step makes durable is staged in the write-ahead log; what it makes visible
(sends, events for the application) waits behind it, in `commits.py`. The driver knows no protocol. It is the twin of
`sim/site.py`.
"""

import asyncio
import logging
import os
from collections.abc import Callable
from typing import Final

from tocsin.core.errors import DecodeError, TocsinError
from tocsin.core.machine import GroupId, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.rng import Rng
from tocsin.live.clock import Alarm, now_us
from tocsin.live.commits import Commits, Visible
from tocsin.live.errors import ProtocolFailed
from tocsin.live.frame_format import Numbers, pack
from tocsin.live.group_config import Group
from tocsin.live.happenings import Delivered, Listener, RolledBack, Sending
from tocsin.live.packing import Packer
from tocsin.live.receptions import Receptions
from tocsin.live.storage import log_format
from tocsin.live.storage.closed_files import ClosedFiles
from tocsin.live.storage.journal_folder import JournalFolder
from tocsin.live.storage.log import Log
from tocsin.live.stream import Stream
from tocsin.live.timers import Timers
from tocsin.live.wire.wire import Wire

_log = logging.getLogger("tocsin.live")

OUTSTANDING_BYTES_MAX: Final = 4 << 20  # own frames handed to the protocol and not yet delivered here
PAYLOAD_BYTES_MIN: Final = 512  # smaller ones are written again sooner than found
DUE_BYTES_MAX: Final = 64 << 10  # with less outstanding, the application has its turn as soon as it was told something
TIMERS_PER_TURN_MAX: Final = 256  # fired in one turn; the rest in the next


def _payload(record: Record) -> bytes:
    """The large bytes that a record holds, if it does."""
    for field in record.__struct_fields__:
        value = getattr(record, field)
        if type(value) is bytes and len(value) >= PAYLOAD_BYTES_MIN:
            return value
    return b""


class Driver(Outbox):
    """One machine, live."""

    def __init__(
        self,
        group: Group,
        site: int,
        loop: asyncio.AbstractEventLoop,
        wire: Wire,
        log: Log,
        journal: JournalFolder | None,
        listener: Listener,
    ) -> None:
        self.stat_steps = 0
        self.stat_decode_drops = 0
        self.log = log
        self.wire = wire
        self.view: log_format.View | None = log.view
        self.packers = [Packer() for _ in group.groups]
        self.failed: TocsinError | None = None
        self.is_due = False  # the application was told something and should have its turn
        self._group = group
        self._site = site
        self._loop = loop
        self.commits = Commits(loop, log, group.journal.durability == "disk", self)
        self.closed_files = ClosedFiles(loop, log, journal, self.fail)
        self._listener = listener
        self._codec = group.protocol.codec()
        self._record_codec = group.protocol.record_codec()
        self._notes_receptions = group.journal.receives
        self._receptions = Receptions()
        self._streams = [Stream(index, log.frames) for index in range(len(group.groups))]
        self._next_number = log.next_number  # of this member's next message, over all groups
        self._outstanding: dict[tuple[int, int], int] = {}  # own frames not yet delivered here: group, number -> bytes
        self._outstanding_bytes = 0
        self._delivered_now: set[tuple[int, int]] = set()  # own frames delivered since the last broadcast began
        self._alarm = Alarm(loop, self._on_alarm)
        self._timers = Timers(self._alarm)
        self._closed = False
        self._held = False
        setup = Setup(
            site,
            len(group.sites),
            list(group.founders),
            [list(members) for members in group.groups],
            group.options,
            Rng(int.from_bytes(os.urandom(6), "big")).fork("machine"),
            log.frames,
            None,
        )
        self.machine = group.protocol.make(setup, self)

    # Life

    def start(self) -> None:
        """Start the machine with its records; the first batch notes the start."""
        records: list[Record] = []
        for data in self.log.read_records():
            record = self._record_codec.decode(data)
            assert isinstance(record, Record)
            records.append(record)
        self.log.stage(log_format.Start(self.log.life + 1))
        self._run(lambda now: self.machine.on_start(now, records))
        self.on_turn_end()
        self.wire.start(self)

    async def stop(self, left: bool) -> None:
        """Stop driving; what is staged is written, and the end is noted."""
        if self._closed:
            return
        self._closed = True
        self._timers.clear()
        self._alarm.close()
        self.wire.close()
        await self.commits.finish(left)
        await self.closed_files.finish(whole=self.failed is None)
        self.log.close()

    def fail(self, error: TocsinError) -> None:
        """Crash-stop: nothing becomes visible any more."""
        if self.failed is None:
            self.failed = error
            self._timers.clear()
            self.commits.drop()
            self.wire.pause()
            self._listener.on_failed(error)

    def hold(self) -> None:
        """Stand still, as a stopped process would: the application is too slow and asked for that."""
        if not self._held:
            self._held = True
            self.wire.pause()

    def go_on(self) -> None:
        if self._held:
            self._held = False
            if self.failed is None and not self._closed:
                self.wire.resume()
                self._loop.call_soon(self._on_alarm)

    # Steps

    def _run(self, step: Callable[[Micros], None]) -> None:
        """One step of the machine."""
        if self.failed is not None:
            return
        self.stat_steps += 1
        try:
            step(now_us())
        except Exception as error:
            _log.exception("the machine failed in a step; the member stops")
            self.fail(ProtocolFailed(f"a fault in {self._group.protocol.name}: {type(error).__name__}: {error}"))
            return
        self.commits.end_step()

    def on_content(self, source: int, body: memoryview) -> None:
        """A frame of a peer that holds a message of the protocol."""
        if self.failed is not None:
            return
        try:
            message = self._codec.decode(body)
        except DecodeError:
            self.stat_decode_drops += 1
            return
        self.stat_steps += 1
        if self._notes_receptions and message.kind == "data":
            for received in self._receptions.of(message):
                self.log.stage(received)
        try:
            self.machine.on_message(now_us(), source, message)
        except Exception as error:
            _log.exception("the machine failed on a message; the member stops")
            self.fail(ProtocolFailed(f"a fault in {self._group.protocol.name}: {type(error).__name__}: {error}"))
            return
        self.commits.end_step()

    def on_turn_end(self) -> None:
        """The end of a turn of the loop: take broadcasts, write, release, arm the alarm."""
        self.is_due = False
        if self.failed is not None or self._closed:
            return
        self._take_broadcasts()
        self.commits.end_turn()
        self._timers.arm()
        self.closed_files.look()

    def _on_alarm(self) -> None:
        self._timers.on_alarm()
        if self._held:
            return
        for _ in range(TIMERS_PER_TURN_MAX):
            due = self._timers.next_due(now_us())
            if due is None or self.failed is not None:
                break
            timer, key = due
            self._run(lambda now, timer=timer, key=key: self.machine.on_timer(now, timer, key))  # type: ignore[misc]
        self.on_turn_end()

    def _take_broadcasts(self) -> None:
        """Hand frames to the machine while it has room."""
        for group, packer in enumerate(self.packers):
            while len(packer) and self.failed is None and self._has_room():
                frame, numbers = packer.take(self._next_number)
                self._next_number = max(self._next_number, numbers.number + max(numbers.count, 1))
                at = self.log.staged()
                self._run_broadcast(group, frame, numbers, at)

    def _has_room(self) -> bool:
        """Whether the machine takes a broadcast, and not too much of ours is on its way: what waits here is packed into
        fuller frames later, and need not be kept safe yet."""
        return self._outstanding_bytes < OUTSTANDING_BYTES_MAX and self.machine.room() > 0

    def broadcast_reaching(self, group: GroupId, message: bytes, reach: float) -> float:
        """A message in a frame of its own, with a wanted reach: what is promised. A refusal comes before anything is
        done; the machine must have room."""
        promised = self.machine.promise(now_us(), group, reach)
        number = self._next_number
        self._next_number = number + 1
        self._run_broadcast(group, pack(number, [message]), Numbers(number, 1), self.log.staged(), reach)
        self.on_turn_end()
        return promised

    def _run_broadcast(self, group: GroupId, frame: bytes, numbers: Numbers, at: int, reach: float = 0.0) -> None:
        self.stat_steps += 1
        self._delivered_now.clear()
        try:
            if reach > 0.0:
                seqno = self.machine.broadcast_reaching(now_us(), group, frame, reach)
            else:
                seqno = self.machine.broadcast(now_us(), group, frame)
        except Exception as error:
            _log.exception("the machine failed in a broadcast; the member stops")
            self.fail(ProtocolFailed(f"a fault in {self._group.protocol.name}: {type(error).__name__}: {error}"))
            return
        if self._site in self._group.groups[group] and (group, seqno) not in self._delivered_now:
            self._outstanding[(group, seqno)] = len(frame)
            self._outstanding_bytes += len(frame)
        self.log.insert(at, log_format.Broadcast(group, seqno, numbers.number, numbers.count))
        self._listener.on_broadcast(group, seqno, numbers)
        self.commits.end_step()

    def leave(self) -> None:
        self._run(self.machine.leave)
        self.on_turn_end()

    # What has become durable

    def on_applied(self) -> None:
        for stream in self._streams:
            stream.on_applied(self.log.staged_of(stream.group))

    def send_out(self, visible: list[Visible]) -> None:
        """Send, in order; one frame for the same message to several sites."""
        sendings = [item for item in visible if isinstance(item, Sending)]
        index = 0
        while index < len(sendings):
            message = sendings[index].message
            targets = sendings[index].targets
            index += 1
            while index < len(sendings) and sendings[index].message is message:
                targets = targets + sendings[index].targets
                index += 1
            self.wire.send(targets, self._codec.encode(message), message.kind == "data")
        self.wire.flush()

    def tell(self, visible: list[Visible]) -> None:
        """Let the application hear, in order."""
        told = False
        for item in visible:
            if not isinstance(item, Sending):
                self._listener.on_happening(item)
                told = True
        if told:
            self.is_due = self._outstanding_bytes < DUE_BYTES_MAX
            self._listener.on_visible_end()

    # Outbox

    def send(self, target: SiteId, message: Message) -> None:
        self.commits.add(Sending([target], message))

    def multicast(self, targets: list[SiteId], message: Message) -> None:
        if targets:
            self.commits.add(Sending(list(targets), message))

    def set_timer(self, timer: str, key: int, deadline: Micros) -> None:
        self._timers.set(timer, key, deadline)

    def cancel_timer(self, timer: str, key: int) -> None:
        self._timers.cancel(timer, key)

    def deliver(self, group: GroupId, origin: SiteId, seqno: int, payload: bytes) -> None:
        stream = self._stream(group)
        at = stream.end
        if origin == self._site:
            self._delivered_now.add((group, seqno))
            self._outstanding_bytes -= self._outstanding.pop((group, seqno), 0)
        op, messages = stream.deliver(origin, seqno, payload, self.log.place_of(payload))
        self.log.stage_delivery(op, payload)
        self.commits.add(Delivered(group, origin, seqno, op.number, op.position, messages, at))

    def rollback(self, group: GroupId, origin: SiteId, seqno: int) -> None:
        op = self._stream(group).rollback(origin, seqno)
        self.log.stage(op)
        self.commits.add(RolledBack(op))

    def missed(self, group: GroupId, origin: SiteId, first: int, count: int) -> None:
        op = log_format.Missed(group, origin, first, count)
        if origin < 0:
            self._stream(group).skip(first + count)
        self.log.stage(op)
        self.commits.add(op)

    def install_view(self, view: int, members: list[SiteId], primary: bool) -> None:
        op = log_format.View(view, tuple(members), primary)
        self.log.stage(op)
        self.commits.add(op)

    def persist(self, record: Record) -> None:
        self.log.stage_record(self._record_codec.encode(record), _payload(record))

    def checkpoint(self, records: list[Record]) -> None:
        self.log.stage_checkpoint([self._record_codec.encode(record) for record in records])

    def trim(self, group: GroupId, position: int) -> None:
        trimmed = self.closed_files.trimmed
        trimmed[group] = max(position, trimmed.get(group, 0))
        index = self.log.frames.group(group)
        index.trimmed = max(index.trimmed, min(position, index.end))

    def _stream(self, group: GroupId) -> Stream:
        while len(self._streams) <= group:
            self._streams.append(Stream(len(self._streams), self.log.frames))
        return self._streams[group]
