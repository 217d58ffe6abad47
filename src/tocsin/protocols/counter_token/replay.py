"""A site that was away gets the deliveries it lacks from any member's log, in order, with the views between them.

It asks for a batch at a time, for each of its groups, and delivers what comes in the one order of all groups (each run
of a batch names its view and its place). A member whose log does not reach back far enough says so; if all that answer
say so, the site goes on at the earliest position that can be had, and the application is told what it missed.
"""

from typing import Final

from tocsin.core.machine import GroupId, Micros, Outbox, Setup, SiteId
from tocsin.protocols.counter_token.circulation import Circulation
from tocsin.protocols.counter_token.foundation import FETCH, LEFT
from tocsin.protocols.counter_token.messages import Fetch, Known, Transfer

TRANSFER_MESSAGES_MAX: Final = 256  # deliveries of one batch
TRANSFER_BYTES_MAX: Final = 48 << 10  # payload of one batch, unless a single message is larger: below a 64 KiB datagram
FETCH_ROUNDS_MAX: Final = 2  # times all donors are asked before a "too old" counts


class Fetched:
    """A delivery from another's log that waits for its turn."""

    def __init__(self, view: int, order: int, origin: SiteId, seqno: int, payload: bytes) -> None:
        self.view = view
        self.order = order
        self.origin = origin
        self.seqno = seqno
        self.payload = payload


class Replay(Circulation):
    """Catching up, and helping others to."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        super().__init__(setup, outbox)
        self._replaying = False
        self._target: list[int] = []  # by group: where to stop
        self._fetched: list[list[Fetched]] = [[] for _ in setup.groups]  # by group, oldest first
        self._donors: list[list[SiteId]] = [[] for _ in setup.groups]  # by group: whom to ask, the present one first
        self._fetch_tries: list[int] = [0] * len(setup.groups)
        self._too_old: list[int] = [-1] * len(setup.groups)  # by group: earliest position that somebody has; -1 none
        self._member_shown = -1  # the view that the application was told this site is a member of

    # Asking

    def _start_replay(self, now: Micros, target: list[int]) -> None:
        """Inside a view: from its other members."""
        self._begin_replay(now, target, -1)

    def _start_replay_from(self, now: Micros, source: SiteId, target: list[int]) -> None:
        """Outside: from the member that answered, and others of each group."""
        self._begin_replay(now, target, source)

    def _begin_replay(self, now: Micros, target: list[int], first: SiteId) -> None:
        self._replaying = True
        self._target = target
        for group in range(len(self._groups)):
            members = [site for site in self._groups[group] if site != self._site]
            if first < 0:
                members = [site for site in members if site in self._ring.place_of]
            elif first in members:
                members.remove(first)
                members.insert(0, first)
            self._donors[group] = members
            self._fetched[group] = []
            self._fetch_tries[group] = 0
            self._too_old[group] = -1
        self._fetch_more(now)

    def _lacks(self, group: GroupId) -> bool:
        return self._site in self._groups[group] and self._ends[group] < self._target[group]

    def _fetch_more(self, now: Micros) -> None:
        """Ask for the next batch of every group that waits for one."""
        for group in range(len(self._groups)):
            if self._lacks(group) and not self._fetched[group] and self._donors[group]:
                self._outbox.send(self._donors[group][0], Fetch(group, self._ends[group]))
        self._outbox.set_timer(FETCH, 0, now + self._options.request_us)

    def _on_fetch_timer(self, now: Micros) -> None:
        """No answer: ask somebody else."""
        if not self._replaying or self._status == LEFT:
            return
        for group in range(len(self._groups)):
            if self._lacks(group) and not self._fetched[group]:
                self._ask_next(group)
        self._deliver_fetched(now)

    def _ask_next(self, group: GroupId) -> None:
        donors = self._donors[group]
        if donors:
            donors.append(donors.pop(0))
        self._fetch_tries[group] += 1
        if self._too_old[group] > self._ends[group] and self._fetch_tries[group] >= FETCH_ROUNDS_MAX * len(donors):
            self._miss(group, min(self._too_old[group], self._target[group]))
            self._too_old[group] = -1
            self._fetch_tries[group] = 0

    # Answering

    def _on_fetch(self, source: SiteId, fetch: Fetch) -> None:
        group = fetch.group
        if group >= len(self._groups) or self._site not in self._groups[group] or source not in self._groups[group]:
            self.stat_dropped += 1
            return
        first = self._log.first(group)
        position = fetch.position
        if position < first:
            self._outbox.send(source, Transfer(group, position, first, (), (), ()))
            return
        entries: list[tuple[int, int, bytes]] = []
        size = 0
        for entry in self._log.read(group, position, TRANSFER_MESSAGES_MAX):
            size += len(entry.payload)
            if entries and size > TRANSFER_BYTES_MAX:
                break
            entries.append((entry.origin, entry.seqno, entry.payload))
        runs = self._history.runs(group, position, len(entries))
        if not entries or not runs:
            return  # no further than the one who asks
        views: list[tuple[int, tuple[int, ...]]] = []
        for _, view, _ in runs:
            if view in self._history.views and (not views or views[-1][0] != view):
                views.append((view, tuple(self._history.views[view])))
        self._outbox.send(source, Transfer(group, position, first, tuple(entries), tuple(runs), tuple(views)))

    # Taking

    def _on_transfer(self, now: Micros, source: SiteId, transfer: Transfer) -> None:
        group = transfer.group
        if not self._replaying or group >= len(self._groups) or source not in self._groups[group]:
            return
        if not self._lacks(group) or self._fetched[group] or transfer.first != self._ends[group]:
            return  # late, or a copy
        if not transfer.entries:
            if transfer.log_first > self._ends[group]:
                known = self._too_old[group]
                self._too_old[group] = transfer.log_first if known < 0 else min(known, transfer.log_first)
                self._ask_next(group)
                self._deliver_fetched(now)
            return
        fetched = self._unpack(transfer)
        if fetched is None:
            self.stat_dropped += 1
            return
        self._fetch_tries[group] = 0
        self._fetched[group] = fetched[: self._target[group] - self._ends[group]]
        for view, members in transfer.views:
            if view not in self._history.views:
                self._note_view(view, list(members))
                self._records.persist(Known(view, members))
        self._deliver_fetched(now)
        self._maybe_checkpoint()

    def _unpack(self, transfer: Transfer) -> list[Fetched] | None:
        """The batch's deliveries with their views and places; None if they do not add up."""
        found: list[Fetched] = []
        place = 0
        for count, view, order in transfer.runs:
            if place + count > len(transfer.entries):
                return None
            for origin, seqno, payload in transfer.entries[place : place + count]:
                if origin >= self._sites:
                    return None
                found.append(Fetched(view, order, origin, seqno, payload))
            place += count
        return found

    def _deliver_fetched(self, now: Micros) -> None:
        """Deliver in the order of views and places, as long as every group that lacks something has a batch."""
        while True:
            best = -1
            waits = False
            for group in range(len(self._groups)):
                if not self._lacks(group):
                    continue
                if not self._fetched[group]:
                    waits = True
                elif best < 0 or self._before(self._fetched[group][0], self._fetched[best][0]):
                    best = group
            if waits:
                self._fetch_more(now)
                return
            if best < 0:
                break
            self._deliver_one(best, self._fetched[best].pop(0))
        self._replaying = False
        self._outbox.cancel_timer(FETCH, 0)
        self._on_caught_up(now)

    def _before(self, one: Fetched, other: Fetched) -> bool:
        return (one.view, one.order) < (other.view, other.order)

    def _deliver_one(self, group: GroupId, fetched: Fetched) -> None:
        if fetched.view > self._shown_view and fetched.view in self._history.views:
            self._show_view(fetched.view, self._history.views[fetched.view], False)
        self._note_run(group, fetched.view, fetched.order)
        self._outbox.deliver(group, fetched.origin, fetched.seqno, fetched.payload)
        self._ends[group] += 1
