"""A site that was away gets the deliveries it lacks from any member's log, in order, with the views between them.

It asks for a batch at a time, for each of its groups, and delivers what comes in the one order of all groups (each run
of a batch names its place), together with what was ordered meanwhile and waits here. A member whose log does not reach
back far enough says so; if all that are asked say so, or nobody is there who could have it, the site goes on at the
earliest position that can be had, and the application is told what it missed.
"""

from typing import Final

from tocsin.core.machine import GroupId, Micros, SiteId
from tocsin.protocols.counter_token.archive import Archive
from tocsin.protocols.counter_token.context import ACTIVE, LEFT, Context
from tocsin.protocols.counter_token.messages import Fetch, Transfer
from tocsin.protocols.counter_token.order import Order
from tocsin.protocols.counter_token.records import Known
from tocsin.protocols.counter_token.relay import Relay
from tocsin.protocols.counter_token.store import Store

FETCH: Final = "FETCH"  # ask again for deliveries
TRANSFER_MESSAGES_MAX: Final = 256  # deliveries of one batch
TRANSFER_BYTES_MAX: Final = 48 << 10  # payload of one batch, unless a single message is larger: below a 64 KiB datagram
FETCH_ROUNDS_MAX: Final = 2  # times all donors are asked before a "too old" counts
NOBODY_US: Final = 2_000_000  # so long nobody in the view had it: then it is missed …
ABSENT_US: Final = 8_000_000  # … or so long, while somebody is away who may have it
RELAY_ROUNDS: Final = 2  # times a donor was asked in vain before the others are asked to pass it on


class Fetched:
    """A delivery from another's log that waits for its turn."""

    def __init__(self, view: int, place: int, origin: SiteId, seqno: int, payload: bytes) -> None:
        self.view = view
        self.place = place
        self.origin = origin
        self.seqno = seqno
        self.payload = payload


class CatchingUp:
    """Catching up, and helping others to."""

    def __init__(self, context: Context, store: Store, order: Order, relay: Relay, archive: Archive) -> None:
        groups = len(context.groups)
        self._context = context
        self._outbox = context.outbox
        self._store = store
        self._order = order
        self._relay = relay
        self._archive = archive
        self.running = False
        self._in_vain = False  # outside a view: the logs of others do not reach back so far
        self._target: list[int] = [0] * groups  # by group: where to stop, outside a view; inside, there is no stop
        self._fetched: list[list[Fetched]] = [[] for _ in range(groups)]  # by group, oldest first
        self._donors: list[list[SiteId]] = [[] for _ in range(groups)]  # by group: whom to ask, the present one first
        self._tries: list[int] = [0] * groups  # by group: since the last batch
        self._since: list[Micros] = [0] * groups  # by group: when that was
        self._too_old: list[int] = [-1] * groups  # by group: earliest position that somebody has; -1 none
        self._hint: list[int] = [-1] * groups  # by group: the same by a sender, who knows its own messages only

    # Asking

    def start(self, now: Micros, first: SiteId, target: list[int]) -> bool:
        """Fetch up to these positions: inside a view (`first` below 0) from its other members, outside from the member
        that answered, and others of each group. Whether that was all, at once."""
        context = self._context
        self.running = True
        self._in_vain = False
        self._target = self._order.positions if first < 0 else list(target)
        for group in range(len(context.groups)):
            members = [site for site in context.groups[group] if site in context.everybody]
            if first < 0:
                members = [site for site in members if site in context.ring.place_of]
                members += [site for site in context.others if site not in members]  # who sent it may help
            elif first in members:
                members.remove(first)
                members.insert(0, first)
            self._donors[group] = members
            self._fetched[group] = []
            self._tries[group] = 0
            self._since[group] = now
            self._too_old[group] = -1
            self._hint[group] = -1
        return self._deliver(now)

    def stop(self) -> None:
        if self.running:
            self.running = False
            self._outbox.cancel_timer(FETCH, 0)

    def _lacks(self, group: GroupId) -> bool:
        return self._context.mine[group] and self._order.ends[group] < self._target[group]

    def _must_fetch(self, group: GroupId) -> bool:
        """Whether the group's next delivery is not here."""
        if self._fetched[group] or not self._lacks(group):
            return False
        ready = self._order.next_ready(group)
        return ready is None or ready.position > self._order.ends[group]

    def _fetch_more(self, now: Micros) -> None:
        """Ask for the next batch of every group that waits for one."""
        for group in range(len(self._context.groups)):
            donors = self._donors[group]
            if donors and self._must_fetch(group):
                fetch = Fetch(group, self._order.ends[group])
                if self._tries[group] >= RELAY_ROUNDS * len(donors):
                    self._relay.flood([donors[0]], fetch)
                else:
                    self._relay.send(donors[0], fetch)
        self._outbox.set_timer(FETCH, 0, now + self._context.options.request_us)

    def on_timer(self, now: Micros) -> bool:
        """No answer: ask somebody else. Whether all is here now."""
        if not self.running or self._context.status == LEFT:
            return False
        for group in range(len(self._context.groups)):
            if self._must_fetch(group):
                self._ask_next(now, group)
        return self._deliver(now)

    def _ask_next(self, now: Micros, group: GroupId) -> None:
        donors = self._donors[group]
        if donors:
            donors.append(donors.pop(0))
        self._tries[group] += 1
        ends = self._order.ends[group]
        if self._context.status != ACTIVE:
            self._in_vain = self._in_vain or self._tries[group] >= FETCH_ROUNDS_MAX * len(donors)
            return  # what is missed is for the view to find out
        limit = -1
        waited_us = now - self._since[group]
        absent = self._context.view.absent  # of any group: who has sent it may help
        if self._too_old[group] > ends:
            if self._tries[group] >= FETCH_ROUNDS_MAX * len(donors) and (waited_us >= ABSENT_US or not absent):
                limit = (
                    self._too_old[group] if self._hint[group] <= ends else min(self._hint[group], self._too_old[group])
                )
        elif waited_us >= (ABSENT_US if absent else NOBODY_US):
            limit = self._hint[group] if self._hint[group] > ends else self._target[group]
        if limit > ends:
            ready = self._order.next_ready(group)
            if ready is not None:
                limit = min(limit, ready.position)
            self._order.miss(group, min(limit, self._target[group]))
            self._too_old[group] = -1
            self._hint[group] = -1
            self._tries[group] = 0
            self._since[group] = now

    # Answering

    def on_fetch(self, source: SiteId, fetch: Fetch, relayed: bool) -> None:
        context = self._context
        group = fetch.group
        if group >= len(context.groups) or source not in context.groups[group]:
            context.stat_dropped += 1
            return
        if not context.mine[group]:
            batch = self._archive.batch(group, fetch.position)
            if batch is not None:
                self._relay.answer(source, batch, relayed)
            return
        first = context.log.first(group)
        position = fetch.position
        entries: list[tuple[int, int, bytes]] = []
        size = 0
        if position >= first:
            for entry in context.log.read(group, position, TRANSFER_MESSAGES_MAX):
                size += len(entry.payload)
                if entries and size > TRANSFER_BYTES_MAX:
                    break
                entries.append((entry.origin, entry.seqno, entry.payload))
        history = self._order.history
        runs = history.runs(group, position, len(entries)) if entries else []
        views: list[tuple[int, tuple[int, ...]]] = []
        for _, view, _ in runs:
            if view in history.views and (not views or views[-1][0] != view):
                views.append((view, tuple(history.views[view])))
        if entries and not runs:
            return
        answer = Transfer(group, position, first, tuple(entries), tuple(runs), tuple(views))
        self._relay.answer(source, answer, relayed)

    # Taking

    def on_transfer(self, now: Micros, source: SiteId, transfer: Transfer) -> bool:
        """A batch; whether all is here now."""
        group = transfer.group
        if not self.running or group >= len(self._context.groups):
            return False
        if not self._must_fetch(group) or transfer.first != self._order.ends[group]:
            return False  # late, or a copy
        if not transfer.entries and source not in self._context.groups[group]:
            known = self._hint[group]
            self._hint[group] = transfer.log_first if known < 0 else min(known, transfer.log_first)
            return False
        if not transfer.entries:
            if transfer.log_first > self._order.ends[group]:
                known = self._too_old[group]
                self._too_old[group] = transfer.log_first if known < 0 else min(known, transfer.log_first)
                self._ask_next(now, group)
                return self._deliver(now)
            return False
        fetched = self._unpack(transfer)
        if fetched is None:
            self._context.stat_dropped += 1
            return False
        self._tries[group] = 0
        self._since[group] = now
        limit = self._target[group]
        ready = self._order.next_ready(group)
        if ready is not None:
            limit = min(limit, ready.position)
        self._fetched[group] = fetched[: limit - self._order.ends[group]]
        for view, members in transfer.views:
            if self._order.note_view(view, list(members)):
                self._store.persist(Known(view, members))
        return self._deliver(now)

    def _unpack(self, transfer: Transfer) -> list[Fetched] | None:
        """The batch's deliveries with their views and places; None if they do not add up."""
        found: list[Fetched] = []
        place = 0
        for count, view, where in transfer.runs:
            if place + count > len(transfer.entries):
                return None
            for origin, seqno, payload in transfer.entries[place : place + count]:
                if origin >= self._context.sites:
                    return None
                found.append(Fetched(view, where, origin, seqno, payload))
            place += count
        return found

    def _deliver(self, now: Micros) -> bool:
        """Deliver in the order of places, as long as every group that lacks something has its next one."""
        if self._in_vain:
            self.stop()
            return True
        while True:
            best = -1
            best_place = 0
            waits = False
            for group in range(len(self._context.groups)):
                if not self._lacks(group):
                    continue
                if self._must_fetch(group):
                    waits = True
                    continue
                if self._fetched[group]:
                    place = self._fetched[group][0].place
                else:
                    ready = self._order.next_ready(group)
                    assert ready is not None
                    place = ready.slot.place
                if best < 0 or place < best_place:
                    best = group
                    best_place = place
            if waits:
                self._fetch_more(now)
                return False
            if best < 0:
                break
            if self._fetched[best]:
                self._deliver_one(best, self._fetched[best].pop(0))
            else:
                self._order.deliver_ready(best)
        self.stop()
        return True

    def _deliver_one(self, group: GroupId, fetched: Fetched) -> None:
        self._order.show_past(fetched.view)
        self._order.note_run(group, fetched.view, fetched.place)
        self._outbox.deliver(group, fetched.origin, fetched.seqno, fetched.payload)
        self._order.ends[group] += 1
