"""Drives one machine, in one direction: input, step, commit, release.

An *input* (a message of a peer, a timer, a broadcast of the application, a batch that reached the disk) becomes one
*step* of the machine. Its effects are *committed*: staged in the log (`staging.py`) and written (`commits.py`). What is
visible of them is *released* when it is durable (`outlet.py`): to the wire, then to the application. Nothing on this
way calls back. The driver knows no protocol; it is the twin of `sim/site.py`.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from typing import Final

from tocsin.core.effects import CancelTimer, Effect, Effects, Missed, Seats, SetTimer, View
from tocsin.core.errors import DecodeError, TocsinError
from tocsin.core.machine import FIRST_INCARNATION, GroupId, Micros, SiteId
from tocsin.core.message import Record
from tocsin.live.born import setup_of
from tocsin.live.clock import Alarm, now_us
from tocsin.live.commits import Commits
from tocsin.live.errors import Closed, Damaged, ProtocolFailed, Regressed, StorageFailed
from tocsin.live.frame_format import Numbers
from tocsin.live.group_config import Group
from tocsin.live.handover import Handover
from tocsin.live.incoming import Incoming
from tocsin.live.majority_sync import MajoritySync
from tocsin.live.news import News
from tocsin.live.opening import Opened
from tocsin.live.outgoing import Outgoing
from tocsin.live.outlet import Outlet
from tocsin.live.receipts import Receipt
from tocsin.live.receptions import Receptions
from tocsin.live.seat_keeping import SeatKeeping, removed_error
from tocsin.live.staging import Staging
from tocsin.live.storage import log_format
from tocsin.live.storage.closed_files import ClosedFiles
from tocsin.live.storage.log import Log
from tocsin.live.timers import Timers

_log = logging.getLogger("tocsin.live")

OUTSTANDING_BYTES_MAX: Final = 4 << 20  # own frames handed to the protocol and not yet delivered here
DUE_BYTES_MAX: Final = 64 << 10  # with less outstanding, the application has its turn as soon as it was told something
RECEIVES_PER_TURN_MAX: Final = 64  # calls of receive, so that timers and the application get their turn
TIMERS_PER_TURN_MAX: Final = 256  # fired in one turn; the rest in the next


class Driver:
    """One machine, live."""

    def __init__(
        self,
        group: Group,
        site: SiteId,
        loop: asyncio.AbstractEventLoop,
        opened: Opened,
        log: Log,
        outgoing: Outgoing,
        incoming: Incoming,
    ) -> None:
        self.stat_steps = 0
        self.stat_decode_drops = 0
        self.stat_blocked = 0  # times that the member stood still for a slow application
        self.log = log
        self.wire = wire = opened.wire
        self.register = register = opened.register
        self._seats = SeatKeeping(group, site, log.incarnation, opened, loop)
        self.failed: TocsinError | None = None
        self._group = group
        self._site = site
        self._loop = loop
        self._codec = group.protocol.codec()
        self._record_codec = group.protocol.record_codec()
        self._notes_receptions = group.journal.receives
        self._receptions = Receptions()
        self._outgoing = outgoing
        self._incoming = incoming
        self._alarm = Alarm(loop, self._on_alarm)
        self.timers = Timers(self._alarm)
        self.closed_files = ClosedFiles(loop, log, opened.journal, self.fail)
        groups, has_order = len(group.groups), group.protocol.has_common_order()
        self.staging = Staging(site, groups, self._record_codec, log, self.closed_files, outgoing, has_order)
        self._outlet = Outlet(site, self._codec, wire.sender, outgoing, incoming)
        waits = group.journal.durability == "disk"  # for the disk
        self.commits = Commits(loop, log, waits, self.staging, self._outlet, self.end_turn, self.fail, self._fail_by)
        self._closed = False
        self._held = False  # standing still
        self._settles = False  # what was in doubt
        self._effects = Effects()
        self._news = News(loop, register, wire, log, group.sites)
        self._handover = Handover(loop, group, site, wire, log, self._on_handed)
        self._waiting: list[Effect] = []  # of a step that waits for what others hand over
        self._later: list[Callable[[Micros], object]] = []  # steps to be done then
        self._acquainted = dict(log.knowledge.acquainted)  # with what the log does not have yet
        self.machine = group.protocol.make(setup_of(group, site, log), self._effects)
        self.safety = MajoritySync(
            group, site, log.incarnation, self.machine, wire, self.commits.sync, lambda: self.failed is not None
        )

    # Life

    def start(self) -> None:
        """Start the machine with its records; the log has noted the start."""
        records: list[Record] = []
        for data in self.log.read_records():
            record = self._record_codec.decode(data)
            assert isinstance(record, Record)
            records.append(record)
        self._step(lambda now: self.machine.on_start(now, records))
        self.end_turn()
        self.wire.begin_life(self._on_readable)
        self._news.start()
        self._maybe_settle()

    async def stop(self, left: bool) -> None:
        """Stop driving; what is staged is written, and the end is noted. StorageFailed if the journal cannot be
        written: the log has everything, and the next life tries again."""
        if self._closed:
            return
        self._closed = True
        self.timers.clear()
        self._alarm.close()
        self._news.stop()
        self._handover.stop()
        self.wire.close()
        try:
            await self.commits.finish(left)
        except (Damaged, StorageFailed, OSError) as error:
            self.failed = StorageFailed(str(error)) if isinstance(error, OSError) else error
        failure: TocsinError | None = None
        try:
            await self.closed_files.finish(whole=self.failed is None)
        except (Damaged, StorageFailed) as error:
            self.failed = failure = error
        await self._seats.finish()
        await self._loop.run_in_executor(None, self.log.close)
        if failure is not None:
            raise failure

    def fail(self, error: TocsinError) -> None:
        """Crash-stop: nothing becomes visible any more."""
        if self.failed is None:
            _log.error("%s: %s", self._group.sites[self._site], error)
            self.failed = error
            self.timers.clear()
            self._news.stop()
            self.commits.drop()
            self.wire.pause()
            self._outgoing.give_up()
            self._incoming.end()

    def forbid(self) -> None:
        """In a process that was forked from the member's: nothing is written or sent here. The event loop, which is the
        parent's, too, is left alone."""
        self.failed = Closed("this process was forked from a member's, and is no member; join again here")
        self.commits.drop()

    def _maybe_hold(self) -> bool:
        """Stand still, as a stopped process would, when the application is too slow and asked for that."""
        if not self._held and self._incoming.holds_back() and not self._closed:
            self._held = True
            self.stat_blocked += 1
            self.wire.pause()
        return self._held

    def maybe_go_on(self) -> None:
        """The application has taken something, or what it had not taken was rolled back."""
        if self._held and not self._incoming.holds_back():
            self._held = False
            if self.failed is None and not self._closed:
                self.wire.resume()
                self._loop.call_soon(self._on_alarm)

    # Inputs

    def _on_readable(self, sock: socket.socket) -> None:
        try:
            self._receive(sock)
        except Exception as error:
            self._fail_by(error)

    def _receive(self, sock: socket.socket) -> None:
        for _ in range(RECEIVES_PER_TURN_MAX):
            arrived = self.wire.receive(sock)
            if self.wire.told:
                self._on_told()
            if self.wire.handed:
                self._handover.take(self.wire.take_handed())
            if self.wire.syncs:
                self.safety.take_all()
            if arrived is None:
                break
            for source, body in arrived:
                self._on_body(source, body)
            if self._maybe_hold() or self.failed is not None or self._is_due():
                break
        self.end_turn()

    def _on_told(self) -> None:
        """Peers have said who they are, and what they know. The machine is told of one that has begun anew before it
        gets anything of it."""
        for told in self.wire.take_told():
            if self.failed is not None:
                return
            why = self._seats.fenced_by(told.peer, self.machine) or self._news.hear(told)
            if why:
                self.fail(
                    Regressed(
                        f"{why}; the member stops, and nothing more of it is taken; start it again: it sets the folder "
                        f"aside and comes back as a new incarnation"
                    )
                )
                return
            for claim in told.claims if told.met else ():
                self._maybe_acquaint(claim.site, claim.incarnation)
        self._maybe_settle()

    def _maybe_acquaint(self, peer: SiteId, incarnation: int) -> None:
        if self._acquainted.get(peer, FIRST_INCARNATION) < incarnation:
            self._acquainted[peer] = incarnation
            self._effects.acquaint(peer, incarnation)
            self._step(lambda now: self.machine.on_peer_renewed(now, peer, incarnation))

    def _maybe_settle(self) -> None:
        """What is in doubt at the end of the log is so no longer when others know of nothing behind it."""
        if self.log.in_doubt and not self._settles and self._news.is_settled():
            self._settles = True
            self.commits.settle()

    def _on_body(self, source: SiteId, body: memoryview) -> None:
        """What a peer has sent; a message of the protocol, if it can be decoded."""
        if self.failed is not None or self._waiting:
            return
        try:
            message = self._codec.decode(body)
        except DecodeError:
            self.stat_decode_drops += 1
            return
        if self._notes_receptions and message.kind == "data":
            for received in self._receptions.of(message):
                if received.origin < len(self._group.sites):  # what a peer claims is looked at before it is kept
                    self.log.stage(received)
        self._step(lambda now: self.machine.on_message(now, source, message))

    def _on_alarm(self) -> None:
        try:
            self._fire_timers()
        except Exception as error:
            self._fail_by(error)

    def _fire_timers(self) -> None:
        self.timers.on_alarm()
        if self._held or self._waiting:
            return
        for _ in range(TIMERS_PER_TURN_MAX):
            due = self.timers.next_due(now_us())
            if due is None or self.failed is not None:
                break
            self._on_timer(due[0], due[1])
        self.end_turn()

    def _on_timer(self, timer: str, key: int) -> None:
        self._step(lambda now: self.machine.on_timer(now, timer, key))

    def request(self, call: Callable[[Micros], None]) -> None:
        """What the application, or an administrator, asks of the machine."""
        self._step(call)
        self.end_turn()

    def end_turn(self) -> None:
        """The end of a turn of the loop: take broadcasts, write, release, arm the alarm."""
        try:
            self._end_turn()
        except Exception as error:
            self._fail_by(error)

    def _end_turn(self) -> None:
        if self.failed is None and not self._closed:
            self._take_broadcasts()
            self.commits.end_turn()
            self.timers.arm()
            self.closed_files.look()
        self._outlet.has_told = False
        self.maybe_go_on()
        self._maybe_hold()

    def _is_due(self) -> bool:
        """Whether the application was told something and should have its turn now."""
        return self._outlet.has_told and self._outgoing.frame_bytes < DUE_BYTES_MAX

    # Broadcasts

    def _take_broadcasts(self) -> None:
        """Hand frames to the machine while it has room."""
        for group in self._outgoing.groups_waiting():
            while self._outgoing.has_messages(group) and self.failed is None and self._has_room(group):
                frame, numbers = self._outgoing.take_frame(group)
                self._broadcast(group, frame, numbers, 0.0, None)

    def _has_room(self, group: GroupId) -> bool:
        """Whether the machine takes a broadcast to the group, and not too much of ours is on its way: what waits is
        packed into fuller frames later, and need not be kept safe yet."""
        has_room = self._outgoing.frame_bytes < OUTSTANDING_BYTES_MAX and not self._waiting
        return has_room and self.machine.room_for(group) > 0

    def broadcast_reaching(self, group: GroupId, message: bytes, reach: float, receipt: Receipt) -> float:
        """A message in a frame of its own, with a wanted reach: what is promised. A refusal comes before anything is
        done; the machine must have room."""
        promised = self.machine.promise(now_us(), group, reach)
        frame, numbers = self._outgoing.pack_alone(message)
        self._broadcast(group, frame, numbers, reach, receipt)
        self.end_turn()
        return promised

    def _broadcast(self, group: GroupId, payload: bytes, numbers: Numbers, reach: float, alone: Receipt | None) -> None:
        """Hand a frame to the machine, which gives it its number."""
        if reach > 0.0:
            answer = self._call(lambda now: self.machine.broadcast_reaching(now, group, payload, reach))
        else:
            answer = self._call(lambda now: self.machine.broadcast(now, group, payload))
        if not isinstance(answer, int):
            return
        frame: int = answer
        self.log.stage(log_format.Broadcast(group, frame, numbers.number, numbers.count))
        self._outgoing.on_broadcast(group, frame, numbers, alone)
        if self._group.protocol.plans_reach:
            left_out = self.machine.left_out(now_us(), group, reach)
            self._outgoing.receipts.leave_out(group, frame, tuple([self._group.sites[site] for site in left_out]))
        if self._site in self._group.groups[group]:
            self._outgoing.on_way(group, frame, len(payload))
        self._end_step()

    # Steps

    def _step(self, call: Callable[[Micros], object]) -> None:
        """One input, one step of the machine."""
        if self._waiting:
            self._later.append(call)
        elif self.failed is None:
            self._call(call)
            self._end_step()

    def _call(self, call: Callable[[Micros], object]) -> object:
        """Let the machine take one input; what it answers. Its effects wait in the outbox."""
        self.stat_steps += 1
        try:
            return call(now_us())
        except Exception as error:
            self._fail_by(error)
            return None

    def _fail_by(self, error: Exception) -> None:
        """A fault of ours, wherever in a turn, or damage in what is read back of the log: the member stops and says so,
        instead of going on with half a step."""
        self._effects.take_all()
        if isinstance(error, Damaged):
            self.fail(error)
            return
        _log.error("a fault in a turn; the member stops", exc_info=error)
        self.fail(ProtocolFailed(f"a fault in {self._group.protocol.name}: {type(error).__name__}: {error}"))

    def _end_step(self) -> None:
        """Stage the effects of the step, and commit; unless others have to be asked first."""
        effects = self._effects.take_all()
        for effect in effects:
            if isinstance(effect, Missed) and self._handover.maybe_wait(effects):
                self._waiting = effects
                return
        self._stage(effects)

    def _on_handed(self) -> None:
        """What the last step has to wait for is here."""
        effects, later, self._waiting, self._later = self._waiting, self._later, [], []
        if self.failed is None and not self._closed:
            try:
                self._stage(effects)
                for call in later:
                    self._step(call)
            except Exception as error:
                self._fail_by(error)
            self.end_turn()
            self._loop.call_soon(self._on_alarm)

    def _stage(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, SetTimer):
                self.timers.set(effect.timer, effect.key, effect.deadline)
            elif isinstance(effect, CancelTimer):
                self.timers.cancel(effect.timer, effect.key)
            elif isinstance(effect, Missed):
                self.staging.miss(effect, self._handover.base(effect))
            elif isinstance(effect, Seats):
                self._seats.on_seats(effect)
            else:
                if isinstance(effect, View) and not effect.primary and self.machine.removed():
                    self._loop.call_soon(self.fail, removed_error(self._group.sites[self._site]))
                self.staging.add(effect)
        if self.failed is None:
            self.commits.end_step()
