"""Installing a view: the old one is brought to its end, then the new one begins where it says."""

from tocsin.core.machine import FIRST_INCARNATION, Micros
from tocsin.protocols.counter_token.catching_up import CatchingUp
from tocsin.protocols.counter_token.circulation import Circulation
from tocsin.protocols.counter_token.context import ACTIVE, FROZEN, Context
from tocsin.protocols.counter_token.messages import Mark, View
from tocsin.protocols.counter_token.order import Order
from tocsin.protocols.counter_token.receiving import Receiving
from tocsin.protocols.counter_token.records import Installed
from tocsin.protocols.counter_token.sending import Sending
from tocsin.protocols.counter_token.store import Store
from tocsin.protocols.counter_token.voting import Voting


class Installing:
    """Becoming a member of a view, and ceasing to take part in one."""

    def __init__(
        self,
        context: Context,
        store: Store,
        order: Order,
        sending: Sending,
        receiving: Receiving,
        circulation: Circulation,
        catching_up: CatchingUp,
        voting: Voting,
    ) -> None:
        self._context = context
        self._store = store
        self._order = order
        self._sending = sending
        self._receiving = receiving
        self._circulation = circulation
        self._catching_up = catching_up
        self._voting = voting

    def freeze(self) -> None:
        """Take no more part in the view."""
        if self._context.status == ACTIVE:
            self._context.status = FROZEN
            self._circulation.stop()
            self._receiving.stop()

    def install(self, now: Micros, view: View) -> None:
        """The view is decided, and this site is a member of it and has voted for it, or votes now."""
        context = self._context
        order = self._order
        self.freeze()
        self._catching_up.stop()
        self._voting.accept(view)
        newcomer = not context.installed
        self.settle_past(view)
        self._store.persist(Installed(view.ballot))
        self._voting.in_doubt = False
        order.note_view(view.ballot, list(view.members))
        context.sit_down(view)
        context.learn_seats(view)
        context.status = ACTIVE
        if newcomer and context.incarnation == FIRST_INCARNATION and view.ballot > 0:
            for group in range(len(context.groups)):
                if context.mine[group]:
                    order.miss(group, view.positions[group])
        order.enter(view)
        if not order.lagging:
            order.show_member()
        self._sending.start_view()
        self._receiving.start_view(now)
        if order.lagging:
            self.catch_up(now)
        self._circulation.start_view(now)

    def settle_past(self, view: View) -> None:
        """Which of the entries that this site knows of its last view keep their places: these are ordered."""
        context = self._context
        slots = context.ring.slots
        if not context.installed or not slots:
            return
        mark: Mark | None = None
        for each in view.marks:
            if each.view == context.view.ballot:
                mark = each
        if mark is None:
            return  # too long ago: what it had of them is fetched
        carried = {entry.place for entry in view.carried}
        kept = set(mark.kept)
        known = sorted(slots)
        for place in sorted({*known, *kept}):
            if place in carried or (place >= mark.start and place not in kept):
                break
            slot = slots.get(place)
            if slot is None or not slot.counted:
                break  # it comes from others, with all that follows
            self._circulation.settle(slot, context.view.ballot)
            context.ring.drop(slot)

    def catch_up(self, now: Micros) -> None:
        """Inside the view: fetch what is older than it."""
        if self._catching_up.start(now, -1, []):
            self.on_caught_up()

    def on_caught_up(self) -> None:
        """Everything that is ordered is delivered here."""
        if self._context.status == ACTIVE:
            self._order.lagging = False
            self._order.show_member()
