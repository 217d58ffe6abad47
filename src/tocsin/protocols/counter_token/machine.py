"""`counter_token`: one safe total order by a token that counts (Chang, Hwang), with views that survive anything.

Paper: Chang, Hwang, "An Ordered and Reliable Broadcast Protocol for Distributed Systems".

| section                                        | here                                                          |
|------------------------------------------------|---------------------------------------------------------------|
| 2.2 the system state, counters, cycles         | `ring.py`: Slot, Ring; `messages.py`: StateEntry, Token       |
| 2.3 the two commit rules, order in a cycle     | Ring.absorb, Ring.committable, Ring.place                     |
| 3.1 arrival of a token                         | `circulation.py`: on_token, _take_over                        |
| 3.1 arrival of a broadcast message             | `receiving.py`: on_data                                       |
| 3.1 arrival of a request-for-retransmission    | `receiving.py`: on_request                                    |
| 3.1 expiration of the token-owner timer        | `circulation.py`: end_turn, _maybe_count; Sending.announce    |
| 3.2 flow control                               | `flow.py`; Sending.read_flags                                 |
| 3.3 join, leave                                | `joining.py`                                                  |
| 3.3 lost, late, duplicate token; failed owner  | Circulation.on_reissue, _on_old_token, on_holding             |
| 6 multicast: the IDs field                     | StateEntry.group, Ring.destinations                           |
| 2.1 (4) links fail without dividing            | `relay.py`                                                    |

The parts, each with its own state: `order.py` (what is ordered, what delivered), `sending.py` (own messages),
`receiving.py` (messages of others), `circulation.py` (the token), `resting.py` (how long it rests), `voting.py`
(promises and votes), `changing.py` (the next view, by the rules of `views.py`), `installing.py`, `joining.py`,
`catching_up.py`, `relay.py`, `store.py`.

We differ from the paper in this:
- A list is changed by a ballot among the voters (`changing.py`, `views.py`), not by a token that just carries the new
  one: with partitions, crashes during the change and restarts, nothing less gives one line of lists.
- Entries are committed in one order over all groups, each when all before it are. All members count every entry, first
  its destinations, then the others, so that everybody knows its place.
- Messages are on stable storage before they are counted, so what was delivered anywhere survives a crash of everybody.
- An entry is counted once by each member: a member remembers what it has counted (ERRATA).
- While a buffer is nearly full, whole broadcasts to its group wait (ERRATA); besides, there is a window in bytes.
- A repeated request is answered by other holders too (ERRATA).
- Tokens are told apart by (view, cycle, position). A member takes part in a turn once; a restarted member has lost that
  memory and takes part only in the next view.
- The token is held for as short as possible under load, and longer and longer when idle; a hurry message ends that.
"""

from tocsin.core.ballots import epoch_of
from tocsin.core.data import Data
from tocsin.core.machine import FIRST_INCARNATION, GroupId, Machine, Micros, Outbox, Seating, Setup, SiteId
from tocsin.core.message import Message, Record
from tocsin.protocols.counter_token.archive import Archive
from tocsin.protocols.counter_token.catching_up import FETCH, CatchingUp
from tocsin.protocols.counter_token.changing import CHANGE, DECIDE, Changing
from tocsin.protocols.counter_token.circulation import HOLD, LOST, REISSUE, Circulation
from tocsin.protocols.counter_token.context import ACTIVE, LEFT, Context
from tocsin.protocols.counter_token.installing import Installing
from tocsin.protocols.counter_token.joining import JOIN, LEAVE, Joining
from tocsin.protocols.counter_token.messages import (
    Accept,
    Accepted,
    Bye,
    Decided,
    Fetch,
    Holding,
    Hurry,
    Invite,
    Join,
    Prepare,
    Promise,
    Refuse,
    Relayed,
    RelayedData,
    Removed,
    Request,
    Token,
    Transfer,
    View,
)
from tocsin.protocols.counter_token.order import Order
from tocsin.protocols.counter_token.recalling import Recalling
from tocsin.protocols.counter_token.receiving import COPY, REPAIR, REQUEST, Receiving
from tocsin.protocols.counter_token.relay import Relay
from tocsin.protocols.counter_token.resting import HURRY
from tocsin.protocols.counter_token.seats import UNSEATED, Wish
from tocsin.protocols.counter_token.sending import Sending
from tocsin.protocols.counter_token.store import Store
from tocsin.protocols.counter_token.voting import Voting


class CounterToken(Machine):
    """Calls from outside go to the part they concern."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        self._starts_in_doubt = setup.in_doubt
        self._seen_view = -1  # the view that `_joining` was told of
        self._context = Context(setup, outbox)
        self._store = Store(self._context)
        self._order = Order(self._context, self._store)
        self._relay = Relay(self._context)
        self._sending = Sending(self._context, self._store, self._order, self._relay, setup.first_seqno)
        self._receiving = Receiving(self._context, self._store, self._order, self._relay, self._sending)
        self._archive = Archive(self._context)
        self._circulation = Circulation(
            self._context, self._store, self._order, self._relay, self._sending, self._receiving, self._archive
        )
        self._catching_up = CatchingUp(self._context, self._store, self._order, self._relay, self._archive)
        self._voting = Voting(self._context, self._store, self._order, self._sending)
        self._installing = Installing(
            self._context,
            self._store,
            self._order,
            self._sending,
            self._receiving,
            self._circulation,
            self._catching_up,
            self._voting,
        )
        self._changing = Changing(self._context, self._order, self._relay, self._voting, self._installing)
        self._circulation.attach(self._changing)
        self._joining = Joining(
            self._context,
            self._order,
            self._relay,
            self._sending,
            self._voting,
            self._circulation,
            self._catching_up,
            self._installing,
            self._changing,
        )
        self._recalling = Recalling(
            self._context,
            self._store,
            self._order,
            self._sending,
            self._receiving,
            self._circulation,
            self._installing,
            self._voting,
            self._archive,
        )

    def on_start(self, now: Micros, records: list[Record]) -> None:
        context = self._context
        self._order.recall_ends()
        if records:
            self._recalling.recall(records)
        if self._starts_in_doubt and records:
            self._voting.begin_in_doubt()
        if not records and context.site in context.founders and context.incarnation == FIRST_INCARNATION:
            self._found(now)
        else:
            self._joining.seek(now)

    def _found(self, now: Micros) -> None:
        """The founding members know the first view without asking."""
        context = self._context
        voters = tuple([(site, FIRST_INCARNATION) for site in context.founders])
        members = tuple(context.founders)
        first = tuple([FIRST_INCARNATION for _ in members])
        empty = context.view
        view = View(
            0, members, first, voters, voters, (), (), 0, 0, empty.positions, empty.frontier, (), (), (), context.seats
        )
        self._changing.install(now, view)
        self._after(now)

    # The application

    def room(self) -> int:
        if self._joining.leaving or self._context.status == LEFT:
            return 0
        return self._sending.room()

    def broadcast(self, now: Micros, group: GroupId, payload: bytes) -> int:
        seqno = self._sending.take(group, payload)
        self._circulation.send_waiting(now)
        self._recalling.maybe_checkpoint()
        return seqno

    def quiet(self) -> bool:
        if self._context.status == LEFT or self._joining.is_removed:
            return True
        return (
            self._context.status == ACTIVE
            and not self._sending.own
            and not self._context.ring.slots
            and not self._order.lagging
            and not self._joining.leaving
            and self._changing.idle()
            and not self._joining.lacks_vote()
        )

    def removed(self) -> bool:
        return self._joining.is_removed

    def leave(self, now: Micros) -> None:
        self._joining.leave(now)

    def add_site(self, now: Micros, site: SiteId) -> None:
        self._wish(now, Wish(site, True))

    def remove_site(self, now: Micros, site: SiteId) -> None:
        self._wish(now, Wish(site, False))

    def seat_site(self, now: Micros, name: str, address: str) -> None:
        self._wish(now, Wish(UNSEATED, True, name, address))

    def move_site(self, now: Micros, site: SiteId, address: str) -> None:
        self._wish(now, Wish(site, False, "", address))

    def recover(self, now: Micros) -> None:
        self._changing.recover(now)
        self._after(now)

    def seating(self) -> Seating | None:
        context = self._context
        view = context.view if context.installed or self._voting.accepted is None else self._voting.accepted
        voters = dict(view.voters)
        wanted = [seat.site for seat in view.seats if seat.votes and seat.site not in {*voters, *view.removed}]
        return Seating(
            view.ballot if view.voters else -1,
            [(view.members[place], view.incarnations[place]) for place in range(len(view.members))],
            list(view.voters),
            list(view.removed),
            wanted,
            list(self._order.positions),
            context.status == ACTIVE,
            self._order.lagging,
            epoch_of(self._voting.promised),
        )

    def _wish(self, now: Micros, wish: Wish) -> None:
        if UNSEATED <= wish.site < self._context.sites:
            self._changing.wishes.all.append(wish)
            if self._circulation.holding and self._context.status == ACTIVE and self._changing.wanted():
                self._changing.start(now, [])
                self._after(now)

    def on_peer_renewed(self, now: Micros, site: SiteId, incarnation: int) -> None:
        self._receiving.forget_renewed(site)

    # Dispatch

    def on_message(self, now: Micros, source: SiteId, message: Message) -> None:
        if source < 0 or source >= self._context.sites or source == self._context.site:
            self._context.stat_dropped += 1
        elif self._context.status != LEFT:
            self._relay.note_heard(source)
            if isinstance(message, (Relayed, RelayedData)):
                if self._relay.on_relayed(source, message):
                    self._on_message(now, message.source, message.inner, True)
            else:
                self._on_message(now, source, message, False)

    def _on_message(self, now: Micros, source: SiteId, message: Message, relayed: bool) -> None:
        if isinstance(message, Data):
            self._on_data(now, message)
        elif isinstance(message, Token):
            self._on_token(now, source, message, relayed)
        elif isinstance(message, Request):
            self._receiving.on_request(now, source, message)
        elif isinstance(message, Holding):
            self._circulation.on_holding(now, source, message)
        elif isinstance(message, Hurry):
            self._circulation.on_hurry(now, source, message)
            self._after(now)
        else:
            self._on_view_message(now, source, message, relayed)
            self._after(now)

    def _on_data(self, now: Micros, data: Data) -> None:
        found = self._receiving.on_data(now, data)
        if found != COPY:
            if found == REPAIR:
                self._circulation.on_repaired(now)
            if self._circulation.holding:
                self._circulation.on_work(now)
                self._after(now)

    def _on_token(self, now: Micros, source: SiteId, token: Token, relayed: bool) -> None:
        context = self._context
        if token.view == context.ring.view and context.installed:
            self._circulation.on_token(now, source, token, not relayed)
        else:
            self._on_other_view(now, source, token, relayed)
        self._after(now)

    def _on_other_view(self, now: Micros, source: SiteId, token: Token, relayed: bool) -> None:
        """A token of a view that was decided without this site knowing it, or of an old one."""
        view = self._voting.accepted
        if view is not None and view.ballot == token.view == self._voting.promised and self._context.is_in(view):
            self._changing.install(now, view)
            if token.view == self._context.ring.view:
                self._circulation.on_token(now, source, token, not relayed)
        elif token.view > self._context.view_number():
            self._relay.answer(source, self._joining.join(-1), relayed)
        elif self._context.status == ACTIVE and source in self._context.view.members:
            self._relay.answer(source, Decided(self._context.view), relayed)

    def _on_view_message(self, now: Micros, source: SiteId, message: Message, relayed: bool) -> None:
        if isinstance(message, Prepare):
            if source in self._context.view.removed:
                self._relay.answer(source, Removed(self._context.view.ballot, self._context.view.members), relayed)
            elif self._changing.on_prepare(now, source, message, relayed):
                self._joining.invite(source, relayed)
        elif isinstance(message, Promise):
            self._changing.on_promise(now, source, message)
        elif isinstance(message, Refuse):
            self._changing.on_refuse(now, message)
        elif isinstance(message, Accept):
            self._changing.on_accept(now, source, message, relayed)
        elif isinstance(message, Accepted):
            self._changing.on_accepted(now, source, message)
        elif isinstance(message, Decided):
            if self._changing.on_decided(now, message.view):
                self._joining.fall_outside(now)
        elif isinstance(message, Join):
            self._joining.on_join(now, source, message, relayed)
        elif isinstance(message, Invite):
            self._joining.on_invite(now, source, message)
        elif isinstance(message, Bye):
            self._joining.on_bye(now, source, message)
        elif isinstance(message, Removed):
            self._joining.on_removed(message)
        elif isinstance(message, Fetch):
            self._catching_up.on_fetch(source, message, relayed)
        elif isinstance(message, Transfer):
            if self._catching_up.on_transfer(now, source, message):
                self._joining.on_caught_up(now)

    def on_timer(self, now: Micros, timer: str, key: int) -> None:
        if timer == HOLD:
            if self._circulation.holding and self._context.status == ACTIVE:
                self._circulation.end_turn(now)
        elif timer == REISSUE:
            self._circulation.on_reissue(now)
        elif timer == LOST:
            self._circulation.on_lost(now)
        elif timer == HURRY:
            self._circulation.on_hurry_timer(now)
        elif timer == REQUEST:
            if self._receiving.send_request(now, key):
                self._circulation.on_repaired(now)
        elif timer == CHANGE:
            self._changing.on_change_timer(now)
        elif timer == DECIDE:
            self._changing.on_decide_timer(now)
        elif timer == JOIN:
            self._joining.on_timer(now)
        elif timer == LEAVE:
            self._joining.go()
        elif timer == FETCH:
            if self._catching_up.on_timer(now):
                self._joining.on_caught_up(now)
        self._after(now)

    def _after(self, now: Micros) -> None:
        """What a step may have brought about."""
        context = self._context
        if context.status == ACTIVE and context.view_number() != self._seen_view:
            self._seen_view = context.view_number()
            self._joining.on_installed(now)
        if self._order.lagging and not self._catching_up.running and context.status == ACTIVE:
            self._installing.catch_up(now)
        if self._joining.leaving:
            self._joining.maybe_go()
        self._recalling.maybe_checkpoint()
