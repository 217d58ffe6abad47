"""Being outside a view: asking to be let in, letting others in, stopping (section 3.3: insertion and deletion).

A site in no view asks everybody (`Join`). A member of a view that goes on invites it and tells how far the groups are.
A site that is far behind fetches first, so that nobody has to wait for it; then it asks again, and the next owner of
the token changes the view. A voter that nobody invites starts a change itself: perhaps all are outside. A site whose
vote does not count, because its disk is a new one, asks again once it is a member and has everything.

Who stops says so (`Bye`), and the others go on at once. It stays a voter. When it comes back, it asks like anybody.
"""

from typing import Final

from tocsin.core.machine import Micros, SiteId
from tocsin.protocols.counter_token.catching_up import CatchingUp
from tocsin.protocols.counter_token.changing import Changing
from tocsin.protocols.counter_token.circulation import Circulation
from tocsin.protocols.counter_token.context import ACTIVE, FROZEN, LEFT, Context, member_incarnation
from tocsin.protocols.counter_token.installing import Installing
from tocsin.protocols.counter_token.messages import Bye, Decided, Invite, Join, Removed
from tocsin.protocols.counter_token.order import Order
from tocsin.protocols.counter_token.relay import Relay
from tocsin.protocols.counter_token.sending import Sending
from tocsin.protocols.counter_token.views import is_sound_view
from tocsin.protocols.counter_token.voting import Voting

JOIN: Final = "JOIN"  # ask again to be let in
LEAVE: Final = "LEAVE"  # go, though own messages are not ordered
FLOOD_ATTEMPTS: Final = 2  # times everybody was asked before it goes round dead links, too
LEAVE_PATIENCE: Final = 50  # times `change_us` that a site waits for its own messages to be ordered before it goes


class Joining:
    """This site's way in and out, and its part in that of others."""

    def __init__(
        self,
        context: Context,
        order: Order,
        relay: Relay,
        sending: Sending,
        voting: Voting,
        circulation: Circulation,
        catching_up: CatchingUp,
        installing: Installing,
        changing: Changing,
    ) -> None:
        self._context = context
        self._outbox = context.outbox
        self._order = order
        self._relay = relay
        self._sending = sending
        self._voting = voting
        self._circulation = circulation
        self._catching_up = catching_up
        self._installing = installing
        self._changing = changing
        self._attempts = 0
        self._heard = -1  # the view that invited this site
        self._invited = False  # somebody has answered since it was last asked
        self.leaving = False
        self.is_removed = False

    # Asking

    def join(self, heard: int, ready: bool = False) -> Join:
        context = self._context
        promised = self._voting.promised
        return Join(context.view_number(), heard, self._attempts, context.incarnation, promised, ready)

    def seek(self, now: Micros) -> None:
        """In no view: ask to be let in."""
        self._heard = -1
        self._attempts = 0
        self._ask(now)

    def _ask(self, now: Micros) -> None:
        self._invited = False
        join = self.join(self._heard)
        if self._attempts > 0 and self._attempts % FLOOD_ATTEMPTS == 0:
            self._relay.flood(self._context.everybody, join)
        else:
            self._relay.multicast(self._context.everybody, join)
        self._attempts += 1
        step: int = self._context.options.join_us
        if self._attempts == 1 and self._voting.is_voter():
            rank = self._context.site
            step = self._context.options.change_us * (2 + rank) // 4  # perhaps all are outside
        self._outbox.set_timer(JOIN, 0, now + (step << min(max(0, self._attempts - 2), 3)))

    def on_timer(self, now: Micros) -> None:
        """Nobody has let this site in."""
        context = self._context
        if context.status == ACTIVE:
            self.maybe_ask_for_vote(now)
        elif context.status == FROZEN and not self.is_removed and not self._catching_up.running:
            if self._voting.is_voter() and not self._invited and not self._changing.waiting:
                self._changing.start(now, [])
            if context.status == FROZEN:
                self._ask(now)

    def maybe_ask_for_vote(self, now: Micros) -> bool:
        """A member whose vote does not count, and that has everything, asks for it."""
        context = self._context
        if not self.lacks_vote() or context.status != ACTIVE:
            return False
        if not self._order.lagging:
            join = self.join(context.view_number(), True)
            self._relay.multicast(context.others, join)
            if self._circulation.holding:
                self._changing.note_joiner(now, context.site)
        self._outbox.set_timer(JOIN, 0, now + context.options.join_us)
        return True

    def lacks_vote(self) -> bool:
        """Whether this site is to vote, and its vote does not count yet."""
        view = self._context.view
        if self._voting.is_voter():
            return False
        seats = [seat for seat in view.seats if seat.votes and seat.site == self._context.site]
        return self._context.site in dict(view.voters) or len(seats) > 0

    def on_installed(self, now: Micros) -> None:
        """This site is in a view."""
        self._attempts = 0
        self._heard = -1
        self._outbox.cancel_timer(JOIN, 0)
        self.maybe_ask_for_vote(now)

    # Answering

    def on_join(self, now: Micros, source: SiteId, join: Join, relayed: bool) -> None:
        context = self._context
        view = context.view
        if source in view.removed:
            self._relay.answer(source, Removed(view.ballot, view.members), relayed)
            return
        self._changing.note_ballot(join.promised)
        if context.status != ACTIVE:
            self._changing.note_joiner(now, source)
            return
        is_member = source in context.ring.place_of
        same = is_member and member_incarnation(view, source) == join.incarnation
        if same and not join.ready and join.view < view.ballot:
            self._relay.answer(source, Decided(view), relayed)  # it has missed the decision
        elif join.heard == view.ballot or is_member:
            self._let_in(now, source)
            if is_member and join.incarnation > member_incarnation(view, source):
                self._go_on_without(now, source)
        elif (
            context.ring.owner() == context.site
            or context.ring.members[join.attempt % context.ring.size] == context.site
        ):
            self.invite(source, relayed)

    def _let_in(self, now: Micros, source: SiteId) -> None:
        self._changing.note_joiner(now, source)
        if self._circulation.holding or self._context.ring.size == 1:
            self._changing.start(now, [])

    def _go_on_without(self, now: Micros, source: SiteId) -> None:
        """A member is gone as it was, perhaps with the token: the one after it changes the view at once."""
        ring = self._context.ring
        if self._context.status == ACTIVE and source in ring.place_of:
            if ring.members[(ring.place_of[source] + 1) % ring.size] == self._context.site:
                self._changing.start(now, [])

    def invite(self, source: SiteId, relayed: bool) -> None:
        self._relay.answer(source, Invite(self._context.view, tuple(self._order.positions)), relayed)

    def on_invite(self, now: Micros, source: SiteId, invite: Invite) -> None:
        context = self._context
        if context.status != FROZEN or self.is_removed or len(invite.positions) != len(context.groups):
            return
        view = invite.view
        if view.ballot < self._heard or not is_sound_view(view, len(context.groups), context.sites):
            return
        self._invited = True
        context.learn_seats(view)
        if self._changing.is_coordinating():
            self._changing.stop()  # there is a view that goes on
        self._heard = view.ballot
        behind = 0
        for group in range(len(context.groups)):
            if context.mine[group]:
                behind = max(behind, invite.positions[group] - self._order.ends[group])
        if self._catching_up.running:
            return
        if context.installed and context.view.ballot < view.ballot:
            self._installing.settle_past(view)  # what it has itself need not be fetched
            self._order.note_ordered()
        if context.installed and behind > context.options.join_lag:
            if not self._catching_up.start(now, source, list(invite.positions)):
                return
        self._ask_again(now)

    def _ask_again(self, now: Micros) -> None:
        """To those who have invited this site: let it in."""
        join = self.join(self._heard)
        self._relay.multicast(self._context.everybody, join)
        self._outbox.set_timer(JOIN, 0, now + 2 * self._context.options.join_us)

    def on_caught_up(self, now: Micros) -> None:
        """Everything is here that was asked for."""
        if self._context.status == FROZEN:
            self._ask_again(now)
        else:
            self._installing.on_caught_up()
            self.maybe_ask_for_vote(now)

    # Left out, removed

    def fall_outside(self, now: Micros) -> None:
        """A view was decided without this site."""
        if self._context.status == LEFT or self.is_removed:
            return
        self._installing.freeze()
        self._changing.stop()
        self._order.show_alone()
        self.seek(now)

    def on_removed(self, removed: Removed) -> None:
        """This site is no voter any more, and not let in."""
        context = self._context
        if context.status == LEFT or self.is_removed or context.site in removed.members:
            return
        if [site for site in removed.members if site >= context.sites]:
            context.stat_dropped += 1
            return
        self._installing.freeze()
        self._changing.stop()
        self._catching_up.stop()
        self.is_removed = True
        self._outbox.cancel_timer(JOIN, 0)
        self._order.show_view(removed.view, list(removed.members), False)

    # Stopping

    def leave(self, now: Micros) -> None:
        if self._context.status == LEFT:
            return
        self.leaving = True
        if not self.maybe_go():
            self._outbox.set_timer(LEAVE, 0, now + LEAVE_PATIENCE * self._context.options.change_us)

    def maybe_go(self) -> bool:
        """Stop, once own messages are ordered."""
        if not self.leaving or self._sending.own:
            return False
        self.go()
        return True

    def go(self) -> None:
        """Be gone; the others are told."""
        context = self._context
        if context.status == LEFT:
            return
        self._installing.freeze()
        self._changing.stop()
        self._catching_up.stop()
        self.leaving = False
        self._relay.multicast(context.everybody, Bye(context.view_number()))
        context.status = LEFT
        self._outbox.cancel_timer(JOIN, 0)
        self._outbox.cancel_timer(LEAVE, 0)
        members = [site for site in context.view.members if site != context.site]
        self._order.show_view(context.view.ballot, members, False)

    def on_bye(self, now: Micros, source: SiteId, bye: Bye) -> None:
        """Somebody stops: the member after it changes the view at once."""
        context = self._context
        if bye.view < context.view_number() and source in context.ring.place_of:
            return  # an old one; it has come back
        self._changing.note_leaver(source)
        ring = context.ring
        if context.status == ACTIVE and source in ring.place_of:
            following = ring.members[(ring.place_of[source] + 1) % ring.size]
            if following == context.site:
                self._changing.start(now, [source])
