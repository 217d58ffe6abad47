"""One simulated site: it hosts a machine, its timers and its disk, and turns the effects of its steps into events.

Durable before visible: with a disk that takes time to sync, everything from the first durable effect of a step on is
held until the sync is done. A crash meanwhile keeps a random prefix of the unsynced steps, whole steps only (a torn
step is cut, as the live log does); what those steps delivered was delivered, what they sent was not sent.
"""

from typing import Final

from tocsin.core.effects import (
    CancelTimer,
    Deliver,
    Effect,
    Effects,
    GroupView,
    Missed,
    Multicast,
    Persist,
    Rollback,
    Send,
    SetTimer,
    View,
)
from tocsin.core.machine import FIRST_INCARNATION, GroupId, Machine, Micros, SiteId
from tocsin.core.message import Message
from tocsin.core.rng import Rng
from tocsin.sim.clock import Clock
from tocsin.sim.disk import Disk, Disks
from tocsin.sim.kernel import Event, Kernel
from tocsin.sim.pending import first_with_room
from tocsin.sim.surroundings import Surroundings
from tocsin.sim.waiting import Taken, Waiting

PAUSED_BACKLOG_MAX: Final = 100_000  # what a stopped process's socket buffer holds here; more is lost


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


class Site:
    """A site is up or down, running or paused; its machine exists only while it is up."""

    def __init__(self, site: SiteId, world: Surroundings, kernel: Kernel, groups: int, rng: Rng) -> None:
        self.site = site
        self.machine: Machine | None = None  # None while down
        self.outbox = Effects()  # of its machine, in every life
        self.paused = False
        self.left = False  # its application has left, and it was not started since
        self.life = 0  # how often it has started; events of an earlier life are ignored
        self.handled = 0  # messages sent and received
        self.disk = Disk(groups)
        self.disks = Disks()  # that it has had, and will have
        self.clock: Clock | None = None  # its own; None: the run's time
        self.sync_us = 0  # how long the disk takes to sync
        self.receive_us = 0  # processing time per received message, serial; 0 = none
        self.receive_buffer = 0  # messages that wait for processing at the most; the rest is lost
        self.pending: list[tuple[GroupId, bytes]] = []  # broadcasts that wait for room, oldest first
        self._world = world
        self._kernel = kernel
        self._rng = rng
        self._acquainted: dict[SiteId, int] = {}  # as `Disk.known`, with what is not yet durable
        self._timers: dict[tuple[str, int], int] = {}  # armed timers and the generation that counts
        self._deadlines: dict[tuple[str, int], Micros] = {}  # of armed timers, where the site has a clock of its own
        self._generation = 0  # next generation; never reused
        self._syncing: list[list[Effect]] = []  # steps that the running sync covers
        self._unsynced: list[list[Effect]] = []  # steps that the next sync will cover
        self._input: list[Waiting] = []  # messages a slow or stopped process has not yet taken
        self._processing = False

    # What happens to a site

    def start(self, now: Micros, machine: Machine) -> None:
        """Bring the site up with a new machine."""
        assert self.machine is None
        self.life += 1
        self.left = False
        self.machine = machine
        self.disk.life += 1
        self._acquainted = dict(self.disk.known)
        machine.on_start(self._shown(now), list(self.disk.records))
        self.disk.damaged = False  # found, and begun anew
        self.end_step(now)

    def crash(self, now: Micros, torn: bool = False) -> None:
        """Lose everything but the disk, and of the disk a part of the unsynced tail: maybe none, if torn at least one
        step, where there is one."""
        self.machine = None
        steps = self._syncing + self._unsynced
        kept = self._rng.below(len(steps) + (0 if torn else 1)) if steps else 0
        for step in steps[:kept]:
            for effect in step:
                if not isinstance(effect, (Send, Multicast)):
                    self._apply(now, effect)
        self.paused = False
        self.life += 1
        self.pending = []
        self._timers.clear()
        self._deadlines.clear()
        self._syncing = []
        self._unsynced = []
        self._input = []
        self._processing = False

    def save_disk(self) -> None:
        """Remember what is durable now."""
        self.disks.saved = self.disk.copy()
        self._world.on_disk_saved(self.site)

    def restore_disk(self) -> None:
        """The disk of a site that is down is as it was saved, or as others find out (`Disks.restored`)."""
        assert self.machine is None, "restored while up"
        self.disk = self.disks.restored(self.disk)

    def empty_disk(self, damaged: bool) -> None:
        """The disk of a site that is down holds nothing, or nothing that can be read: it will begin anew."""
        assert self.machine is None
        self.disk = self.disks.empty(self.disk)
        self.disk.damaged = damaged

    def forget_input_of(self, source: SiteId) -> None:
        """What waits here of a site that begins anew was of its earlier incarnation."""
        self._input = [item for item in self._input if item.source != source]

    def resume(self, now: Micros) -> None:
        """Continue a paused process: it finds its backlog of messages, then its timers."""
        self.paused = False
        waiting = self._input
        self._input = []
        for item in waiting:
            if item.message is None:
                if (item.timer, item.key) in self._timers and self.machine is not None:
                    del self._timers[(item.timer, item.key)]
                    self.machine.on_timer(self._shown(now), item.timer, item.key)
                    self.end_step(now)
            else:
                self.on_arrival(now, item.source, item.message, item.size)
        if self.pending:
            self._take_pending(now)

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
            self._input.append(Waiting(source, message, size, "", 0))
            if not self.paused and not self._processing:
                self._processing = True
                self._kernel.schedule(now + self.receive_us, _Processed(self, self.life))
        else:
            self.handled += 1
            if self._world.traces_messages:
                self._world.on_receive(now, source, self.site, message, size)
            if self._world.renewed and source in self._world.renewed:
                self.maybe_acquaint(now, source, self._world.renewed[source])
            machine.on_message(now if self.clock is None else self.clock.shows(now), source, message)
            if self.outbox.first is not None or self.pending:
                self.end_step(now)

    def on_processed(self, now: Micros, life: int) -> None:
        if life != self.life or self.machine is None or self.paused or not self._input:
            self._processing = False
            return
        item = self._input.pop(0)
        if item.message is not None:
            self.handled += 1
            if self._world.traces_messages:
                self._world.on_receive(now, item.source, self.site, item.message, item.size)
            if item.source in self._world.renewed:
                self.maybe_acquaint(now, item.source, self._world.renewed[item.source])
            self.machine.on_message(self._shown(now), item.source, item.message)
            self.end_step(now)
        self._processing = len(self._input) > 0
        if self._processing:
            self._kernel.schedule(now + self.receive_us, _Processed(self, self.life))

    def on_timer_event(self, now: Micros, timer: str, key: int, generation: int) -> None:
        if self._timers.get((timer, key), -1) != generation or self.machine is None:
            return  # cancelled, replaced, or of an earlier life
        if self.paused:
            self._input.append(Waiting(-1, None, 0, timer, key))
            return
        del self._timers[(timer, key)]
        self.machine.on_timer(now if self.clock is None else self.clock.shows(now), timer, key)
        self.end_step(now)

    def maybe_acquaint(self, now: Micros, peer: SiteId, incarnation: int) -> None:
        """Before the first message of another's new incarnation, the machine is told of it."""
        if self.machine is not None and self._acquainted.get(peer, FIRST_INCARNATION) < incarnation:
            self._acquainted[peer] = incarnation
            self.outbox.acquaint(peer, incarnation)
            self.machine.on_peer_renewed(self._shown(now), peer, incarnation)
            self.end_step(now)

    def on_peer(self, now: Micros, peer: SiteId, up: bool) -> None:
        """The perfect detector reports a crash or a recovery of another site."""
        if self.machine is None:
            return
        if up:
            self.machine.on_peer_up(self._shown(now), peer)
        else:
            self.machine.on_peer_down(self._shown(now), peer)
        self.end_step(now)

    def leave(self, now: Micros) -> None:
        """The application leaves. The machine stays and takes part in what leaving needs; a restart brings it back."""
        if self.machine is not None:
            self.left = True
            self.machine.leave(self._shown(now))
            self.end_step(now)

    def change_group(self, now: Micros, group: GroupId, members: list[SiteId]) -> None:
        if self.machine is not None:
            self.machine.change_group(self._shown(now), group, members)
            self.end_step(now)

    def change_voters(self, now: Micros, site: SiteId, add: bool) -> None:
        """An administrator asks here that a site become a voter, or be one no more."""
        assert self.machine is not None
        if add:
            self.machine.add_site(self._shown(now), site)
        else:
            self.machine.remove_site(self._shown(now), site)
        self.end_step(now)

    def jump_clock(self, now: Micros, by_us: int) -> None:
        """The site's clock jumps; a timer whose deadline is over fires now."""
        assert self.clock is not None
        self.clock.jump(now, by_us)
        for (timer, key), generation in self._timers.items():
            at = max(now, self.clock.comes_at(self._deadlines[(timer, key)]))
            self._kernel.schedule(at, _TimerFires(self, timer, key, generation))  # whichever comes first counts

    def _shown(self, now: Micros) -> Micros:
        """What this site's clock shows."""
        return now if self.clock is None else self.clock.shows(now)

    def synced(self) -> bool:
        """Whether nothing waits for the disk."""
        return not self._syncing and not self._unsynced

    def _take_pending(self, now: Micros) -> None:
        """Hand waiting broadcasts to the machine while it has room."""
        while self.machine is not None and (place := first_with_room(self.pending, self.machine)) >= 0:
            group, payload = self.pending.pop(place)
            seqno = self.machine.broadcast(self._shown(now), group, payload)
            step: list[Effect] = [Taken(group, seqno, len(payload))]  # the trace shows it before its own delivery
            for effect in self.outbox.take_all():
                if isinstance(effect, (SetTimer, CancelTimer)):
                    self._apply(now, effect)
                else:
                    step.append(effect)
            if self.sync_us > 0:
                self._hold(now, step)
            else:
                for effect in step:
                    self._apply(now, effect)

    # Effects

    def end_step(self, now: Micros) -> None:
        """The machine was called: let its effects happen, then hand it what it has room for."""
        if self.sync_us > 0:
            self._apply_or_hold(now, self.outbox.take_all())
        else:
            first = self.outbox.first
            if first is not None:
                self.outbox.first = None
                self._apply(now, first)
                others = self.outbox.others
                if others:
                    self.outbox.others = []
                    for effect in others:
                        self._apply(now, effect)
        if self.pending and not self.paused:
            self._take_pending(now)

    def _apply_or_hold(self, now: Micros, effects: list[Effect]) -> None:
        """Timers are set at once; sends leave at once when nothing durable before them is still to be synced."""
        held: list[Effect] = []
        for effect in effects:
            sends_now = not held and not self._syncing and isinstance(effect, (Send, Multicast))
            if sends_now or isinstance(effect, (SetTimer, CancelTimer)):
                self._apply(now, effect)
            else:
                held.append(effect)
        if held:
            self._hold(now, held)

    def _hold(self, now: Micros, step: list[Effect]) -> None:
        """Let a step wait for the next sync."""
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
            for effect in step:
                self._apply(now, effect)
        if self._unsynced:
            self._start_sync(now)

    def _apply(self, now: Micros, effect: Effect) -> None:
        if isinstance(effect, Send):
            self.handled += 1
            self._world.transmit(now, self.site, effect.target, effect.message)
        elif isinstance(effect, SetTimer):
            self._set_timer(now, effect)
        elif isinstance(effect, CancelTimer):
            self._timers.pop((effect.timer, effect.key), 0)
        elif isinstance(effect, Persist):
            self.disk.keep(effect)
        elif isinstance(effect, Deliver):
            position = self.disk.keep(effect)
            self._world.on_deliver(
                now, self.site, effect.group, effect.origin, effect.seqno, len(effect.payload), position, self.disk.view
            )
        elif isinstance(effect, Multicast):
            self.handled += self._world.transmit_many(now, self.site, effect.targets, effect.message)
        elif isinstance(effect, Taken):
            self.disks.highest_seqno = effect.seqno
            self._world.on_broadcast(now, self.site, effect.group, effect.seqno, effect.size)
        else:
            self._apply_rare(now, effect)

    def _apply_rare(self, now: Micros, effect: Effect) -> None:
        if isinstance(effect, Rollback):
            position = self.disk.keep(effect)
            self._world.on_rollback(now, self.site, effect.group, effect.origin, effect.seqno, position)
        elif isinstance(effect, Missed):
            self.disk.keep(effect)
            self._world.on_missed(now, self.site, effect.group, effect.origin, effect.first, effect.count)
        elif isinstance(effect, View):
            self.disk.keep(effect)
            self._world.on_view(now, self.site, effect.view, effect.members, effect.primary)
            if not effect.primary and not self.left and self.machine is not None and self.machine.removed():
                self.left = True
                self._world.on_leave(now, self.site)
        elif isinstance(effect, GroupView):
            self._world.on_group(now, self.site, effect.group, effect.view, effect.members)
        else:
            self.disk.keep(effect)

    def _set_timer(self, now: Micros, effect: SetTimer) -> None:
        generation = self._generation
        self._generation = generation + 1
        self._timers[(effect.timer, effect.key)] = generation
        deadline = effect.deadline
        if self.clock is not None:
            self._deadlines[(effect.timer, effect.key)] = deadline
            deadline = self.clock.comes_at(deadline)
        at = deadline if deadline > now else now
        self._kernel.schedule(at, _TimerFires(self, effect.timer, effect.key, generation))
