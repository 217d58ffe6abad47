"""One simulated site: it hosts a machine, its timers and its disk, and turns the machine's requests into events.

Durable before visible: with a disk that takes time to sync, everything requested from the first durable request of a
step on is held until the sync is done. A crash meanwhile keeps a random prefix of the unsynced steps, whole steps
only (a torn step is cut, as the live journal does); what those steps delivered was delivered, what they sent was not
sent.
"""

from abc import ABC, abstractmethod
from typing import Final

from tocsin.core.machine import Entry, GroupId, Machine, Micros, Outbox, SiteId
from tocsin.core.message import Message, Record
from tocsin.core.rng import Rng
from tocsin.sim.disk import Disk
from tocsin.sim.kernel import Event, Kernel

_SEND: Final = 0
_MULTICAST: Final = 1
_DELIVER: Final = 2
_ROLLBACK: Final = 3
_MISSED: Final = 4
_VIEW: Final = 5
_PERSIST: Final = 6
_CHECKPOINT: Final = 7
_BROADCAST: Final = 8
_GROUP: Final = 9
_TRIM: Final = 10

PAUSED_BACKLOG_MAX: Final = 100_000  # what a stopped process's socket buffer holds here; more is lost


class Surroundings(ABC):
    """What a site needs from the world around it: a network, and somebody who takes notes."""

    traces_messages: bool  # whether somebody wants to know of every message

    @abstractmethod
    def transmit(self, now: Micros, source: SiteId, target: SiteId, message: Message) -> None: ...

    @abstractmethod
    def transmit_many(self, now: Micros, source: SiteId, targets: list[SiteId], message: Message) -> None: ...

    @abstractmethod
    def on_receive(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        """Called only where messages are traced."""

    @abstractmethod
    def on_drop(
        self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int, reason: str
    ) -> None: ...

    @abstractmethod
    def on_broadcast(self, now: Micros, site: SiteId, group: GroupId, seqno: int, size: int) -> None: ...

    @abstractmethod
    def on_deliver(
        self,
        now: Micros,
        site: SiteId,
        group: GroupId,
        origin: SiteId,
        seqno: int,
        size: int,
        position: int,
        view: int,
    ) -> None: ...

    @abstractmethod
    def on_rollback(
        self, now: Micros, site: SiteId, group: GroupId, origin: SiteId, seqno: int, position: int
    ) -> None: ...

    @abstractmethod
    def on_missed(self, now: Micros, site: SiteId, group: GroupId, origin: SiteId, first: int, count: int) -> None: ...

    @abstractmethod
    def on_view(self, now: Micros, site: SiteId, view: int, members: list[SiteId], primary: bool) -> None: ...

    @abstractmethod
    def on_group(self, now: Micros, site: SiteId, group: GroupId, view: int, members: list[SiteId]) -> None: ...


class _Held:
    """A request that waits for the disk."""

    def __init__(self, what: int, first: int, second: int, third: int) -> None:
        self.what = what
        self.first = first
        self.second = second
        self.third = third
        self.fourth = 0
        self.payload = b""
        self.sites: list[SiteId] = []
        self.message: Message | None = None
        self.records: list[Record] = []


class _TimerFires(Event):
    def __init__(self, site: "Site", timer: str, key: int, generation: int) -> None:
        self.site = site
        self.timer = timer
        self.key = key
        self.generation = generation

    def fire(self, now: Micros) -> None:
        self.site.on_timer_event(now, self.timer, self.key, self.generation)


class _SyncDone(Event):
    def __init__(self, site: "Site", life: int) -> None:
        self.site = site
        self.life = life

    def fire(self, now: Micros) -> None:
        self.site.on_sync_done(now, self.life)


class _Processed(Event):
    """A slow receiver has finished with the message at the head of its input buffer."""

    def __init__(self, site: "Site", life: int) -> None:
        self.site = site
        self.life = life

    def fire(self, now: Micros) -> None:
        self.site.on_processed(now, self.life)


class _Waiting:
    """A message in an input buffer, or (source < 0) a timer that came due while the process was stopped."""

    def __init__(self, source: SiteId, message: Message | None, size: int, timer: str, key: int) -> None:
        self.source = source
        self.message = message
        self.size = size
        self.timer = timer
        self.key = key


class Site(Outbox):
    """A site is up or down, running or paused; its machine exists only while it is up."""

    def __init__(self, site: SiteId, world: Surroundings, kernel: Kernel, groups: int, rng: Rng) -> None:
        self.site = site
        self.machine: Machine | None = None  # None while down
        self.paused = False
        self.life = 0  # how often it has started; events of an earlier life are ignored
        self.handled = 0  # messages sent and received
        self.view = -1  # number of the last installed view; -1 before any
        self.disk = Disk(groups)
        self.sync_us = 0  # how long the disk takes to sync
        self.receive_us = 0  # processing time per received message, serial; 0 = none
        self.receive_buffer = 0  # messages that wait for processing at the most; the rest is lost
        self.pending: list[tuple[GroupId, bytes]] = []  # broadcasts that wait for room, oldest first
        self._world = world
        self._kernel = kernel
        self._rng = rng
        self._timers: dict[tuple[str, int], int] = {}  # armed timers and the generation that counts
        self._generation = 0  # next generation; never reused
        self._step: list[_Held] | None = None  # requests of the present step that wait for the disk
        self._syncing: list[list[_Held]] = []  # steps that the running sync covers
        self._unsynced: list[list[_Held]] = []  # steps that the next sync will cover
        self._input: list[_Waiting] = []  # messages a slow or stopped process has not yet taken
        self._processing = False

    # What happens to a site

    def start(self, now: Micros, machine: Machine) -> None:
        """Bring the site up with a new machine."""
        assert self.machine is None
        self.life += 1
        self.machine = machine
        machine.on_start(now, list(self.disk.records))
        self._end_step(now)

    def crash(self, now: Micros) -> None:
        """Lose everything but the disk, and of the disk the unsynced tail."""
        steps = self._syncing + self._unsynced
        kept = self._rng.below(len(steps) + 1) if steps else 0
        for step in steps[:kept]:
            for held in step:
                if held.what not in (_SEND, _MULTICAST):
                    self._apply(now, held)
        self.machine = None
        self.paused = False
        self.life += 1
        self.pending = []
        self._timers.clear()
        self._step = None
        self._syncing = []
        self._unsynced = []
        self._input = []
        self._processing = False

    def resume(self, now: Micros) -> None:
        """Continue a paused process: it finds its backlog of messages, then its timers."""
        self.paused = False
        waiting = self._input
        self._input = []
        for item in waiting:
            if item.message is None:
                if (item.timer, item.key) in self._timers and self.machine is not None:
                    del self._timers[(item.timer, item.key)]
                    self.machine.on_timer(now, item.timer, item.key)
                    self._end_step(now)
            else:
                self.on_arrival(now, item.source, item.message, item.size)

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> None:
        """The application broadcasts; held back while the machine has no room or the process is stopped."""
        self.pending.append((group, payload))
        if not self.paused:
            self._take_pending(now)

    def on_arrival(self, now: Micros, source: SiteId, message: Message, size: int) -> None:
        """A message reached this site's input."""
        machine = self.machine
        if machine is None:
            self._world.on_drop(now, source, self.site, message, size, "down")
        elif self.paused or self.receive_us > 0:
            limit = PAUSED_BACKLOG_MAX if self.receive_buffer == 0 else self.receive_buffer
            if len(self._input) >= limit:
                self._world.on_drop(now, source, self.site, message, size, "buffer")
                return
            self._input.append(_Waiting(source, message, size, "", 0))
            if not self.paused and not self._processing:
                self._processing = True
                self._kernel.schedule(now + self.receive_us, _Processed(self, self.life))
        else:
            self.handled += 1
            if self._world.traces_messages:
                self._world.on_receive(now, source, self.site, message, size)
            machine.on_message(now, source, message)
            if self._step is not None or self.pending:
                self._end_step(now)

    def on_processed(self, now: Micros, life: int) -> None:
        if life != self.life or self.machine is None or self.paused or not self._input:
            self._processing = False
            return
        item = self._input.pop(0)
        if item.message is not None:
            self.handled += 1
            if self._world.traces_messages:
                self._world.on_receive(now, item.source, self.site, item.message, item.size)
            self.machine.on_message(now, item.source, item.message)
            self._end_step(now)
        self._processing = len(self._input) > 0
        if self._processing:
            self._kernel.schedule(now + self.receive_us, _Processed(self, self.life))

    def on_timer_event(self, now: Micros, timer: str, key: int, generation: int) -> None:
        if self._timers.get((timer, key), -1) != generation or self.machine is None:
            return  # cancelled, replaced, or of an earlier life
        if self.paused:
            self._input.append(_Waiting(-1, None, 0, timer, key))
            return
        del self._timers[(timer, key)]
        self.machine.on_timer(now, timer, key)
        self._end_step(now)

    def on_peer(self, now: Micros, peer: SiteId, up: bool) -> None:
        """The perfect detector reports a crash or a recovery of another site."""
        if self.machine is None:
            return
        if up:
            self.machine.on_peer_up(now, peer)
        else:
            self.machine.on_peer_down(now, peer)
        self._end_step(now)

    def leave(self, now: Micros) -> None:
        if self.machine is not None:
            self.machine.leave(now)
            self._end_step(now)

    def change_group(self, now: Micros, group: GroupId, members: list[SiteId]) -> None:
        if self.machine is not None:
            self.machine.change_group(now, group, members)
            self._end_step(now)

    def synced(self) -> bool:
        """Whether nothing waits for the disk."""
        return not self._syncing and not self._unsynced

    def _take_pending(self, now: Micros) -> None:
        """Hand waiting broadcasts to the machine while it has room."""
        while self.pending and self.machine is not None and self.machine.room() > 0:
            group, payload = self.pending.pop(0)
            step: list[_Held] = []
            self._step = step  # hold the whole step: the trace shows a broadcast before its own delivery
            seqno = self.machine.broadcast(now, group, payload)
            step.insert(0, _Held(_BROADCAST, group, seqno, len(payload)))
            if self.sync_us > 0:
                self._close_step(now)
            else:
                self._step = None
                for held in step:
                    self._apply(now, held)

    def _end_step(self, now: Micros) -> None:
        if self._step is not None:
            self._close_step(now)
        if self.pending and not self.paused:
            self._take_pending(now)

    # The modelled disk's sync

    def _hold(self, what: int, first: int, second: int, third: int) -> _Held:
        held = _Held(what, first, second, third)
        if self._step is None:
            self._step = []
        self._step.append(held)
        return held

    def _holding_durable(self) -> bool:
        """Whether a durable request must wait."""
        return self._step is not None or self.sync_us > 0

    def _close_step(self, now: Micros) -> None:
        step = self._step
        if step is None:
            return
        self._step = None
        self._unsynced.append(step)
        if not self._syncing:
            self._start_sync(now)

    def _start_sync(self, now: Micros) -> None:
        self._syncing = self._unsynced
        self._unsynced = []
        self._kernel.schedule(now + self.sync_us, _SyncDone(self, self.life))

    def on_sync_done(self, now: Micros, life: int) -> None:
        if life != self.life:
            return
        done = self._syncing
        self._syncing = []
        for step in done:
            for held in step:
                self._apply(now, held)
        if self._unsynced:
            self._start_sync(now)

    def _apply(self, now: Micros, held: _Held) -> None:
        if held.what == _SEND and held.message is not None:
            self._world.transmit(now, self.site, held.first, held.message)
        elif held.what == _MULTICAST and held.message is not None:
            self._world.transmit_many(now, self.site, held.sites, held.message)
        elif held.what == _DELIVER:
            self._deliver_now(now, held.first, held.second, held.third, held.payload)
        elif held.what == _ROLLBACK:
            self._rollback_now(now, held.first, held.second, held.third)
        elif held.what == _MISSED:
            self._missed_now(now, held.first, held.second, held.third, held.fourth)
        elif held.what == _VIEW:
            self._view_now(now, held.first, held.sites, held.second == 1)
        elif held.what == _GROUP:
            self._world.on_group(now, self.site, held.first, held.second, held.sites)
        elif held.what == _PERSIST:
            self.disk.records.extend(held.records)
        elif held.what == _CHECKPOINT:
            self.disk.records = held.records
        elif held.what == _TRIM:
            self.disk.trim(held.first, held.second)
        elif held.what == _BROADCAST:
            self._world.on_broadcast(now, self.site, held.first, held.second, held.third)

    def _deliver_now(self, now: Micros, group: GroupId, origin: SiteId, seqno: int, payload: bytes) -> None:
        position = self.disk.append(Entry(group, origin, seqno, payload))
        self._world.on_deliver(now, self.site, group, origin, seqno, len(payload), position, self.view)

    def _rollback_now(self, now: Micros, group: GroupId, origin: SiteId, seqno: int) -> None:
        position = self.disk.undo(group, origin, seqno)
        self._world.on_rollback(now, self.site, group, origin, seqno, position)

    def _missed_now(self, now: Micros, group: GroupId, origin: SiteId, first: int, count: int) -> None:
        if origin < 0:
            self.disk.skip(group, first + count)
        self._world.on_missed(now, self.site, group, origin, first, count)

    def _view_now(self, now: Micros, view: int, members: list[SiteId], primary: bool) -> None:
        self.view = view
        self._world.on_view(now, self.site, view, members, primary)

    # Outbox

    def send(self, target: SiteId, message: Message) -> None:
        if self._step is not None or self._syncing:  # something durable before it is not yet synced
            self._hold(_SEND, target, 0, 0).message = message
        else:
            self._world.transmit(self._kernel.now, self.site, target, message)

    def multicast(self, targets: list[SiteId], message: Message) -> None:
        if self._step is not None or self._syncing:  # something durable before it is not yet synced
            held = self._hold(_MULTICAST, 0, 0, 0)
            held.sites = targets
            held.message = message
        else:
            self._world.transmit_many(self._kernel.now, self.site, targets, message)

    def set_timer(self, timer: str, key: int, deadline: Micros) -> None:
        generation = self._generation
        self._generation = generation + 1
        self._timers[(timer, key)] = generation
        at = deadline if deadline > self._kernel.now else self._kernel.now
        self._kernel.schedule(at, _TimerFires(self, timer, key, generation))

    def cancel_timer(self, timer: str, key: int) -> None:
        self._timers.pop((timer, key), 0)

    def deliver(self, group: GroupId, origin: SiteId, seqno: int, payload: bytes) -> None:
        if self._holding_durable():
            self._hold(_DELIVER, group, origin, seqno).payload = payload
        else:
            self._deliver_now(self._kernel.now, group, origin, seqno, payload)

    def rollback(self, group: GroupId, origin: SiteId, seqno: int) -> None:
        if self._holding_durable():
            self._hold(_ROLLBACK, group, origin, seqno)
        else:
            self._rollback_now(self._kernel.now, group, origin, seqno)

    def missed(self, group: GroupId, origin: SiteId, first: int, count: int) -> None:
        if self._holding_durable():
            self._hold(_MISSED, group, origin, first).fourth = count
        else:
            self._missed_now(self._kernel.now, group, origin, first, count)

    def install_view(self, view: int, members: list[SiteId], primary: bool) -> None:
        if self._holding_durable():
            self._hold(_VIEW, view, 1 if primary else 0, 0).sites = list(members)
        else:
            self._view_now(self._kernel.now, view, list(members), primary)

    def install_group(self, group: GroupId, view: int, members: list[SiteId]) -> None:
        if self._holding_durable():
            self._hold(_GROUP, group, view, 0).sites = list(members)
        else:
            self._world.on_group(self._kernel.now, self.site, group, view, members)

    def persist(self, record: Record) -> None:
        if self._holding_durable():
            self._hold(_PERSIST, 0, 0, 0).records.append(record)
        else:
            self.disk.records.append(record)

    def checkpoint(self, records: list[Record]) -> None:
        if self._holding_durable():
            self._hold(_CHECKPOINT, 0, 0, 0).records = list(records)
        else:
            self.disk.records = list(records)

    def trim(self, group: GroupId, position: int) -> None:
        if self._holding_durable():  # after the rollbacks that were requested before it
            self._hold(_TRIM, group, position, 0)
        else:
            self.disk.trim(group, position)
