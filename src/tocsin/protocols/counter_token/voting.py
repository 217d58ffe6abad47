"""A voter's part in deciding about views: one line of ballots (Paxos: promise, then vote).

A promise and a vote are on disk before anybody hears of them. Ballots are numbers, each of one site.
"""

from tocsin.core.machine import FIRST_INCARNATION
from tocsin.core.message import Record
from tocsin.protocols.counter_token.context import Context
from tocsin.protocols.counter_token.messages import Item, Promise, View
from tocsin.protocols.counter_token.order import Order
from tocsin.protocols.counter_token.records import Agreed, Doubt, Promised
from tocsin.protocols.counter_token.sending import Sending
from tocsin.protocols.counter_token.store import Store


class Voting:
    """What this site has promised and voted for."""

    def __init__(self, context: Context, store: Store, order: Order, sending: Sending) -> None:
        self._context = context
        self._store = store
        self._order = order
        self._sending = sending
        self.promised = 0  # no vote in a smaller ballot, no part in a smaller view
        self.accepted: View | None = None  # the last view voted for; at least the one that is installed
        self.in_doubt = False  # the end of the log may be missing: no vote until a view is installed

    def following_ballot(self, seen: int) -> int:
        """A ballot of this site above all that were seen."""
        sites = self._context.sites
        return (max(self.promised, seen) // sites + 1) * sites + self._context.site

    def promise(self, ballot: int) -> None:
        if ballot > self.promised:
            self.promised = ballot
            self._store.persist(Promised(ballot))

    def accept(self, view: View) -> None:
        """Vote; a vote promises, too."""
        if self.accepted is None or view.ballot > self.accepted.ballot:
            self.accepted = view
            self.promised = max(self.promised, view.ballot)
            self._store.persist(Agreed(view))

    def is_voter(self) -> bool:
        """Whether this site's vote counts, as far as it knows."""
        view = self.accepted
        return view is not None and (self._context.site, self._context.incarnation) in view.voters

    def own_promise(self, ballot: int) -> Promise:
        context = self._context
        order = self._order
        items: list[Item] = []
        for slot in context.ring.slots.values():
            items.append(Item(slot.place, slot.group, slot.sender, slot.counted, slot.ranges))
        return Promise(
            ballot,
            context.incarnation,
            self.in_doubt,
            self.accepted,
            context.view_number(),
            order.limit,
            tuple(order.positions),
            tuple([tuple(front) for front in order.frontier]),
            tuple(items),
            order.lagging or (not context.installed and context.incarnation != FIRST_INCARNATION),
            self._sending.floor(),
        )

    # Records

    def begin_in_doubt(self) -> None:
        self.in_doubt = True
        self._store.persist(Doubt())

    def recall(self, record: Record) -> bool:
        """From disk; whether it was one of this part's."""
        if isinstance(record, Promised):
            self.promised = max(self.promised, record.ballot)
        elif isinstance(record, Agreed):
            if self.accepted is None or record.view.ballot > self.accepted.ballot:
                self.accepted = record.view
            self.promised = max(self.promised, record.view.ballot)
        elif isinstance(record, Doubt):
            self.in_doubt = True
        else:
            return False
        return True

    def append_records(self, records: list[Record]) -> None:
        """For a checkpoint, after the view that is installed."""
        if self.accepted is not None and self.accepted.ballot > self._context.view_number():
            records.append(Agreed(self.accepted))
        if self.promised > 0:
            records.append(Promised(self.promised))
        if self.in_doubt:
            records.append(Doubt())
