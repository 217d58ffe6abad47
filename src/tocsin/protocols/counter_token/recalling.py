"""Checkpoints, and coming back from one: the records are played again, in their order, into the parts.

What was ordered in a step is on disk as `Ordered`, after the `Turn` that names its entries; what was delivered, the log
says. Nothing is inferred from how much there is of something.
"""

from tocsin.core.data import Data
from tocsin.core.message import Record
from tocsin.protocols.counter_token.archive import Archive
from tocsin.protocols.counter_token.circulation import Circulation
from tocsin.protocols.counter_token.context import Context
from tocsin.protocols.counter_token.installing import Installing
from tocsin.protocols.counter_token.order import Order
from tocsin.protocols.counter_token.receiving import Receiving
from tocsin.protocols.counter_token.records import (
    Agreed,
    Installed,
    Kept,
    Ordered,
    Own,
    Reached,
    Stored,
    Summary,
    Turn,
    TurnSlot,
    Waiting,
)
from tocsin.protocols.counter_token.ring import Slot, checked_slot
from tocsin.protocols.counter_token.sending import Sending
from tocsin.protocols.counter_token.store import Store
from tocsin.protocols.counter_token.voting import Voting


class Recalling:
    """All parts' records together."""

    def __init__(
        self,
        context: Context,
        store: Store,
        order: Order,
        sending: Sending,
        receiving: Receiving,
        circulation: Circulation,
        installing: Installing,
        voting: Voting,
        archive: Archive,
    ) -> None:
        self._context = context
        self._archive = archive
        self._store = store
        self._order = order
        self._sending = sending
        self._receiving = receiving
        self._circulation = circulation
        self._installing = installing
        self._voting = voting

    # Coming back

    def recall(self, records: list[Record]) -> None:
        """Play the records again; the view goes on without this site until the next one."""
        self._order.lagging = True  # nothing is delivered while records are read
        for record in records:
            self._recall(record)
        self._store.recall(records)
        self._sending.finish_recall()
        self._order.recall_shown()

    def _recall(self, record: Record) -> None:
        if isinstance(record, Own):
            self._sending.recall(Data(record.group, self._context.site, record.seqno, record.payload))
        elif isinstance(record, Kept):
            data = Data(record.group, record.origin, record.seqno, record.payload)
            if record.origin == self._context.site:
                self._sending.recall(data)
            else:
                self._receiving.recall(data)
        elif isinstance(record, Turn):
            if record.view == self._context.view_number():
                for entry in record.slots:
                    self._recall_entry(entry)
        elif isinstance(record, Ordered):
            self._recall_ordered(record.place)
        elif isinstance(record, Reached):
            for place in sorted(self._context.ring.slots):
                if place < record.place:
                    self._context.ring.drop(self._context.ring.slots[place])
            self._order.recall_reached(record)
        elif isinstance(record, Installed):
            self._recall_view()
        elif isinstance(record, Waiting):
            self._recall_waiting(record)
        elif isinstance(record, Stored):
            self._recall_stored(record)
        elif isinstance(record, Summary):
            self._sending.resume(record.next_seqno)
        elif not self._voting.recall(record):
            self._order.recall(record)

    def _recall_view(self) -> None:
        """As it was installed."""
        view = self._voting.accepted
        assert view is not None, "voted for before"
        self._installing.settle_past(view)
        self._voting.in_doubt = False
        self._order.note_view(view.ballot, list(view.members))
        self._context.sit_down(view)
        self._context.learn_seats(view)
        self._order.enter(view)
        self._order.lagging = True

    def _recall_entry(self, entry: TurnSlot) -> None:
        ring = self._context.ring
        if entry.place < self._order.limit:
            return
        slot = ring.slots.get(entry.place)
        if slot is None:
            slot = checked_slot(entry.place, 1, entry.sender, entry.group, entry.ranges)
            assert slot is not None, "it was checked before"
            slot.destination = self._context.mine[entry.group]
            ring.slots[entry.place] = slot
        slot.counted = entry.counted
        slot.kept = True

    def _recall_ordered(self, limit: int) -> None:
        ring = self._context.ring
        for place in sorted(ring.slots):
            if place < limit:
                slot = ring.slots[place]
                self._circulation.settle(slot, ring.view)
                ring.drop(slot)
        self._order.recall_ordered(limit)

    def _recall_waiting(self, waiting: Waiting) -> None:
        slot = checked_slot(waiting.place, 1, waiting.sender, waiting.group, waiting.ranges)
        assert slot is not None, "it was checked before"
        slot.destination = True
        messages = self._receiving.take(slot)
        self._order.recall_waiting(slot, waiting.position, waiting.view, messages)
        if slot.sender == self._context.site:
            self._sending.forget(slot)

    def _recall_stored(self, stored: Stored) -> None:
        slot = checked_slot(stored.place, 1, stored.sender, stored.group, stored.ranges)
        assert slot is not None, "it was checked before"
        slot.keeper = True
        self._archive.recall(stored, self._receiving.take(slot))
        if slot.sender == self._context.site:
            self._sending.forget(slot)

    # Checkpoints

    def maybe_checkpoint(self) -> bool:
        """Replace the records by what still matters, once they are many."""
        held_bytes = self._receiving.held_bytes()
        live = len(self._sending.own) + 2 * len(self._context.ring.slots) + 2 * self._archive.count()
        if not self._store.is_due(live, held_bytes):
            return False
        self._store.fold(self._checkpoint())
        return True

    def _checkpoint(self) -> list[Record]:
        records: list[Record] = [Summary(self._sending.following())]
        self._order.append_history(records)
        if self._context.installed:
            records.append(Agreed(self._context.view))
            records.append(Installed(self._context.view.ballot))
            records.append(self._order.reached())
        self._voting.append_records(records)
        self._order.append_ready(records)
        self._archive.append_records(records)
        self._sending.append_own(records)
        slots: list[Slot] = [slot for slot in self._context.ring.slots.values() if slot.kept or slot.cycle == 0]
        self._receiving.append_kept(records, slots)
        turn = [TurnSlot(slot.place, slot.group, slot.sender, slot.counted, slot.ranges) for slot in slots if slot.kept]
        if turn:
            records.append(Turn(self._context.view.ballot, tuple(turn)))
        return records
