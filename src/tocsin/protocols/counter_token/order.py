"""The group's order, as far as this site knows it: what is ordered, and what of it is delivered here.

Two things are kept apart. *Ordered* is one number, `limit`: every entry at a smaller place has its place for ever, and
with it every group its position and every origin its next number. *Delivered* is a position for each group of this
site, the end of its log. A site that was away is *lagging*: others have ordered more than it has delivered. It takes
part all the same; what is ordered meanwhile waits in `ready`, and what is older comes from the logs of others
(`catching_up.py`).
"""

from typing import Final

from tocsin.core.data import Data
from tocsin.core.machine import ANY_ORIGIN, GroupId, SiteId
from tocsin.core.message import Record
from tocsin.protocols.counter_token.context import ACTIVE, MESSAGE_OVERHEAD, Context
from tocsin.protocols.counter_token.history import History
from tocsin.protocols.counter_token.messages import View
from tocsin.protocols.counter_token.records import Kept, Known, Ordered, Reached, Run, Waiting
from tocsin.protocols.counter_token.ring import Slot
from tocsin.protocols.counter_token.store import Store

MARKS_MAX: Final = 1024  # commits remembered for trimming; forgetting one trims a little later


class Ready:
    """An entry that is ordered and waits for older deliveries to be fetched."""

    def __init__(self, slot: Slot, position: int, view: int, messages: list[Data]) -> None:
        self.slot = slot
        self.position = position  # of its first message
        self.view = view
        self.messages = messages


class Order:
    """Ordered, delivered, and between them."""

    def __init__(self, context: Context, store: Store) -> None:
        self._context = context
        self._outbox = context.outbox
        self._store = store
        self._groups = len(context.groups)
        self.limit = 0  # everything at a smaller place is ordered
        self.positions: list[int] = [0] * self._groups  # by group: ordered
        self.frontier: list[list[int]] = [[0] * context.sites for _ in context.groups]  # by group, origin: not ordered
        self.ends: list[int] = [0] * self._groups  # by group: delivered here; only of groups of this site
        self.lagging = False  # in some group of this site, `ends` is below `positions`
        self.ready: list[list[Ready]] = [[] for _ in context.groups]  # by group and position; empty unless lagging
        self.ready_bytes = 0
        self.history = History(self._groups)
        self.shown_view = -1  # newest view that the application was told of
        self.member_shown = -1  # … and newest that it was told this site is a member of
        self.alone = False  # it was told that this site does not order any more
        self._noted = 0  # the `limit` that is on disk
        self._marks: list[tuple[int, list[int]]] = []  # (place, positions after it): for trimming
        self._trimmed: list[int] = [0] * self._groups

    # Ordering

    def settle(self, slot: Slot, view: int, messages: list[Data]) -> None:
        """The next entry is ordered: it gets its positions, and is delivered or waits for older deliveries."""
        group = slot.group
        position = self.positions[group]
        self.positions[group] = position + slot.count
        front = self.frontier[group]
        front[slot.sender] = max(slot.following(), front[slot.sender])
        self.limit = max(self.limit, slot.place + 1)
        if not slot.destination or position + slot.count <= self.ends[group]:
            return
        if slot.bare:
            self.lagging = True
        elif self.lagging:
            self.ready[group].append(Ready(slot, position, view, messages))
            for data in messages:
                self.ready_bytes += len(data.payload) + MESSAGE_OVERHEAD
        else:
            self.deliver_entry(group, view, slot.place, messages)

    def note_ordered(self) -> None:
        """Make it a fact, in the step that has ordered."""
        if self.limit > self._noted:
            self._noted = self.limit
            self._store.persist(Ordered(self.limit))
            self._marks.append((self.limit, list(self.positions)))
            if len(self._marks) > MARKS_MAX:
                del self._marks[0]

    def enter(self, view: View) -> None:
        """A view begins: whatever is before it is ordered, here or elsewhere."""
        self.limit = max(self.limit, view.start)
        self._noted = self.limit  # its record says so
        self.positions = list(view.positions)
        self.frontier = [list(front) for front in view.frontier]
        self._marks = []
        self.lagging = self.is_behind()

    def is_behind(self) -> bool:
        for group in range(self._groups):
            if self._context.mine[group] and self.ends[group] < self.positions[group]:
                return True
        return False

    # Delivering

    def deliver_entry(self, group: GroupId, view: int, place: int, messages: list[Data]) -> None:
        self.note_run(group, view, place)
        outbox = self._outbox
        for data in messages:
            outbox.deliver(group, data.origin, data.seqno, data.payload)
        self.ends[group] += len(messages)

    def note_run(self, group: GroupId, view: int, place: int) -> None:
        if self.history.starts_run(group, view, place):
            self.history.start_run(group, self.ends[group], view, place)
            self._store.persist(Run(group, self.ends[group], view, place))

    def deliver_ready(self, group: GroupId) -> None:
        """The oldest that waits in a group is next."""
        ready = self.ready[group].pop(0)
        for data in ready.messages:
            self.ready_bytes -= len(data.payload) + MESSAGE_OVERHEAD
        rest = ready.messages[self.ends[group] - ready.position :]
        if rest:
            self.show_past(ready.view)
            self.deliver_entry(group, ready.view, ready.slot.place, rest)

    def next_ready(self, group: GroupId) -> Ready | None:
        """What waits in a group and is not delivered."""
        waiting = self.ready[group]
        while waiting and waiting[0].position + waiting[0].slot.count <= self.ends[group]:
            for data in waiting.pop(0).messages:
                self.ready_bytes -= len(data.payload) + MESSAGE_OVERHEAD
        return waiting[0] if waiting else None

    def miss(self, group: GroupId, position: int) -> None:
        """Deliveries below the position are out of reach for good."""
        first = self.ends[group]
        if position > first:
            self._outbox.missed(group, ANY_ORIGIN, first, position - first)
            self.ends[group] = position

    # Telling of views

    def show_view(self, view: int, members: list[SiteId], primary: bool) -> None:
        """Tell the application. Sites of no group are members of nothing; they hear when they are out."""
        context = self._context
        self.shown_view = view
        if context.is_receiver[context.site] or (not primary and context.site not in members):
            self._outbox.install_view(view, [site for site in members if context.is_receiver[site]], primary)

    def show_member(self) -> None:
        view = self._context.view
        if self.member_shown != view.ballot or self.alone:
            self.alone = False
            self.member_shown = view.ballot
            self.show_view(view.ballot, list(view.members), True)

    def show_alone(self) -> None:
        """This site does not order any more: it speaks for itself only, until a view lists it again."""
        context = self._context
        if not self.alone and context.installed:
            self.alone = True
            self.show_view(context.view.ballot, [context.site], False)

    def show_past(self, view: int) -> None:
        """What is delivered now belongs to this view: the present one, which is then reached, or an earlier one."""
        if view == self._context.view.ballot and self._context.status == ACTIVE:
            self.show_member()
        elif view != self.shown_view and view in self.history.views:
            self.show_view(view, self.history.views[view], False)

    def note_view(self, view: int, members: list[SiteId]) -> bool:
        """Remember a view's members, for replays; whether it is a new one."""
        if view in self.history.views:
            return False
        self.history.views[view] = list(members)
        return True

    # Trimming

    def maybe_trim(self, stable: int) -> bool:
        """What all members have delivered is needed by nobody, unless a former member is away."""
        passed: list[int] | None = None
        while self._marks and self._marks[0][0] <= stable:
            passed = self._marks.pop(0)[1]
        if passed is None:
            return False
        for group in range(self._groups):
            limit = passed[group]
            if self._context.view.absent:
                limit = min(limit, self.positions[group] - self._context.options.log_messages)
            if limit > self._trimmed[group]:
                self._trimmed[group] = limit
                self._outbox.trim(group, limit)
        return True

    # Records

    def recall_ends(self) -> None:
        for group in range(self._groups):
            self.ends[group] = self._context.log.end(group)

    def recall(self, record: Record) -> bool:
        """From disk; whether it was one of this part's."""
        if isinstance(record, Run):
            self.history.start_run(record.group, record.start, record.view, record.place)
        elif isinstance(record, Known):
            self.note_view(record.view, list(record.members))
        else:
            return False
        return True

    def recall_reached(self, reached: Reached) -> None:
        self._noted = self.limit = reached.place
        self.positions = list(reached.positions)
        self.frontier = [list(front) for front in reached.frontier]

    def recall_ordered(self, place: int) -> None:
        """All entries below it were settled."""
        self._noted = self.limit = max(self.limit, place)

    def recall_shown(self) -> None:
        """Which view the application was last told of, and what it is still to be told."""
        self.lagging = self.is_behind()
        for keys in self.history.keys:
            if keys:
                self.shown_view = max(self.shown_view, keys[-1][0])
        if self._context.installed and not self.lagging:
            self.shown_view = self.member_shown = self._context.view.ballot

    def append_history(self, records: list[Record]) -> None:
        """For a checkpoint."""
        firsts = [self._context.log.first(group) for group in range(self._groups)]
        self.history.trim(firsts, self._context.view_number())
        for view, members in self.history.views.items():
            records.append(Known(view, tuple(members)))
        for group in range(self._groups):
            starts = self.history.starts[group]
            keys = self.history.keys[group]
            for place in range(len(starts)):
                records.append(Run(group, starts[place], keys[place][0], keys[place][1]))

    def reached(self) -> Reached:
        """For a checkpoint."""
        return Reached(self.limit, tuple(self.positions), tuple([tuple(front) for front in self.frontier]))

    def append_ready(self, records: list[Record]) -> None:
        """For a checkpoint: what waits, after its messages."""
        for waiting in self.ready:
            for ready in waiting:
                slot = ready.slot
                for data in ready.messages:
                    records.append(Kept(data.group, data.origin, data.seqno, data.payload))
                entry = Waiting(ready.view, slot.place, slot.group, slot.sender, ready.position, slot.ranges)
                records.append(entry)

    def recall_waiting(self, slot: Slot, position: int, view: int, messages: list[Data]) -> None:
        if messages and position + slot.count > self.ends[slot.group]:
            self.ready[slot.group].append(Ready(slot, position, view, messages))
            for data in messages:
                self.ready_bytes += len(data.payload) + MESSAGE_OVERHEAD
