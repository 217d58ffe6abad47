"""Changing the view: who asks, who promises, who decides (section 3.3 of the paper, and what it assumes away).

Anybody in no view may start a change, and a member may: the owner when somebody asks to be let in, a passer after L
unanswered reissues, anyone who has not seen the token for too long. It asks in a new ballot (`Prepare`); who promises
stops in its view and tells what it knows (`Promise`); from a majority of the voters comes the next view (`views.py`),
which its members vote for (`Accept`, `Accepted`); decided by a majority, it is told and installed (`Decided`). Ballots
keep concurrent changes apart. Members of a view that goes on do not follow somebody outside it: they let it in.
"""

from typing import Final

from tocsin.core.ballots import EPOCH_BALLOTS, epoch_of
from tocsin.core.machine import Micros, SiteId
from tocsin.protocols.counter_token.context import ACTIVE, FROZEN, LEFT, Changes, Context
from tocsin.protocols.counter_token.installing import Installing
from tocsin.protocols.counter_token.messages import (
    Accept,
    Accepted,
    Decided,
    Prepare,
    Promise,
    Refuse,
    View,
)
from tocsin.protocols.counter_token.order import Order
from tocsin.protocols.counter_token.relay import Relay
from tocsin.protocols.counter_token.seats import Wishes
from tocsin.protocols.counter_token.views import (
    decides,
    is_sound_promise,
    is_sound_view,
    last_view,
    may_follow,
    propose,
    voting,
)
from tocsin.protocols.counter_token.voting import Voting

CHANGE: Final = "CHANGE"  # the next step of a change of view
DECIDE: Final = "DECIDE"  # tell the decision again
TICKS: Final = 4  # times that the silent are asked before it is done without them
PATIENCE_DOUBLINGS: Final = 2  # of `change_us`
ACCEPT_TRIES_MAX: Final = 3  # Accepts sent before a new ballot
DECIDE_TRIES_MAX: Final = 5  # times the decision is told unasked


class Change:
    """A change of view that this site coordinates."""

    def __init__(self, ballot: int, suspects: list[SiteId]) -> None:
        self.ballot = ballot
        self.suspects = suspects  # not waited for
        self.promises: dict[SiteId, Promise] = {}
        self.ticks = 0  # times the silent were asked again
        self.view: View | None = None  # set: the vote
        self.accepted: dict[SiteId, int] = {}  # by site: the incarnation that voted
        self.tries = 0
        self.recovers = False  # whoever is here goes on, whatever the others had


class Changing(Changes):
    """The coordinator's part and the members'."""

    def __init__(self, context: Context, order: Order, relay: Relay, voting: Voting, installing: Installing) -> None:
        self._context = context
        self._outbox = context.outbox
        self._order = order
        self._relay = relay
        self._voting = voting
        self._installing = installing
        self._change: Change | None = None
        self._seen = 0  # largest ballot heard of
        self._attempts = 0  # changes tried since the last view
        self.waiting = False  # a change is under way: the timer runs
        self._decide_tries = 0
        self.joiners: list[SiteId] = []  # sorted; asked to be let in, or for their votes
        self.leaving: list[SiteId] = []  # sorted; said that they stop
        self.wishes = Wishes(context)

    # Who is wanted

    def wanted(self) -> bool:
        return len(self.joiners) > 0 or self.wishes.is_open()

    def note_joiner(self, now: Micros, site: SiteId) -> None:
        """Somebody asks to be let in."""
        self.leaving = [other for other in self.leaving if other != site]
        if site not in self.joiners:
            self.joiners = sorted([*self.joiners, site])
        change = self._change
        if change is not None and change.view is None and site not in change.promises:
            self._relay.send(site, Prepare(change.ballot, self._attempts))

    def note_ballot(self, ballot: int) -> None:
        """Somebody has promised it."""
        self._seen = max(self._seen, ballot)

    def note_leaver(self, site: SiteId) -> None:
        self.joiners = [other for other in self.joiners if other != site]
        if site not in self.leaving:
            self.leaving = sorted([*self.leaving, site])

    def _everyone(self) -> list[SiteId]:
        """Whom a change concerns: members, voters, and those who ask."""
        sites: set[SiteId] = {*self._context.ring.members, *self.joiners}
        removed: tuple[int, ...] = ()
        view = self._voting.accepted
        if view is not None:
            sites.update(view.members)
            sites.update([site for site, _ in view.voters])
            sites.update([site for site, _ in view.before])
            removed = view.removed
        return [
            site
            for site in sorted(sites)
            if site != self._context.site and site not in removed and site not in self.leaving
        ]

    def _awaited(self, change: Change) -> list[SiteId]:
        """Who is expected to answer."""
        sites = {*self._context.ring.members, *self.joiners}
        return [
            site
            for site in sorted(sites)
            if site not in change.promises and site not in change.suspects and site not in self.leaving
        ]

    # Starting

    def start(self, now: Micros, suspects: list[SiteId]) -> None:
        """Phase 1: a ballot above all that were seen."""
        if self._context.status == LEFT or self._voting.accepted is None:
            return
        self._installing.freeze()
        ballot = self._voting.following_ballot(self._seen)
        self._voting.promise(ballot)
        change = Change(ballot, suspects)
        self._change = change
        change.promises[self._context.site] = self._voting.own_promise(ballot)
        self._attempts += 1
        self._relay.multicast(self._everyone(), Prepare(ballot, self._attempts))
        self._set_tick(now)
        self._maybe_propose(now, False)

    def recover(self, now: Micros) -> None:
        """Most voters' disks are lost, an administrator says: those that answer go on, in a new epoch, in which nobody
        counts who is not here. Its ballots are above all of the epochs before."""
        if self._context.status != FROZEN or self._voting.accepted is None:
            return
        self._seen = max(self._seen, self._voting.promised)
        self._seen = max(self._seen, (epoch_of(self._seen) + 1) * EPOCH_BALLOTS)
        self.start(now, [])
        if self._change is not None:
            self._change.recovers = True

    def _patience_us(self, attempt: int) -> int:
        """How long a coordinator waits for answers before it does without."""
        step: int = self._context.options.change_us
        return step << min(max(0, attempt - 1), PATIENCE_DOUBLINGS)

    def _set_tick(self, now: Micros) -> None:
        self._outbox.set_timer(CHANGE, 0, now + self._tick_us())
        self.waiting = True

    def _tick_us(self) -> int:
        return max(1, self._patience_us(self._attempts) // TICKS)

    def _wait(self, now: Micros, attempt: int) -> None:
        """Look again when the coordinator has had its time, twice; each site after another time."""
        step: int = self._context.options.change_us
        wait_us = 2 * self._patience_us(attempt) + step * self._context.site // 4
        self._outbox.set_timer(CHANGE, 0, now + wait_us)
        self.waiting = True

    # The members' part

    def on_prepare(self, now: Micros, source: SiteId, prepare: Prepare, relayed: bool) -> bool:
        """Whether it comes from somebody who is to be let in instead."""
        context = self._context
        self._seen = max(self._seen, prepare.ballot)
        if context.status == ACTIVE and source not in context.ring.place_of:
            return True
        if prepare.ballot < self._voting.promised:
            self._relay.answer(source, Refuse(prepare.ballot, self._voting.promised), relayed)
            return False
        self._installing.freeze()
        if prepare.ballot > self._voting.promised:
            self._voting.promise(prepare.ballot)
            self._change = None
            self._attempts += 1
        elif self._change is None:
            self._order.show_alone()  # asked again: the coordinator has found no majority
        self._wait(now, prepare.attempt)
        self._relay.answer(source, self._voting.own_promise(prepare.ballot), relayed)
        return False

    def on_refuse(self, now: Micros, refuse: Refuse) -> None:
        self._seen = max(self._seen, refuse.promised)
        change = self._change
        if change is None or refuse.ballot != change.ballot or change.view is not None:
            return
        self._change = None
        self._wait(now, self._attempts)

    def on_accept(self, now: Micros, source: SiteId, accept: Accept, relayed: bool) -> None:
        context = self._context
        view = accept.view
        if not is_sound_view(view, len(context.groups), context.sites) or not context.is_in(view):
            context.stat_dropped += 1
            return
        self._seen = max(self._seen, view.ballot)
        if view.ballot < self._voting.promised:
            self._relay.answer(source, Refuse(view.ballot, self._voting.promised), relayed)
            return
        if view.ballot > context.view_number():
            self._installing.freeze()
            self._change = None
            self._voting.accept(view)
            self._wait(now, self._attempts)
        self._relay.answer(source, Accepted(view.ballot, context.incarnation), relayed)

    # The coordinator's part

    def on_promise(self, now: Micros, source: SiteId, promise: Promise) -> None:
        change = self._change
        if change is None or promise.ballot != change.ballot or change.view is not None:
            return
        if not is_sound_promise(promise, len(self._context.groups), self._context.sites):
            self._context.stat_dropped += 1
            return
        change.promises[source] = promise
        self._maybe_propose(now, False)

    def _maybe_propose(self, now: Micros, is_late: bool) -> bool:
        """Phase 2, when everybody waited for has answered, or when it is late and enough have."""
        change = self._change
        if change is None or change.view is not None or (self._awaited(change) and not is_late):
            return False
        last = last_view(change.promises)
        if last is None:
            return False
        is_decided = False
        for site in sorted(change.promises):
            if change.promises[site].installed == last.ballot:
                is_decided = True
        majority = self._context.needs_majority and not change.recovers
        if majority and not may_follow(last, voting(change.promises), is_decided):
            return False
        view = propose(
            change.ballot,
            last,
            change.promises,
            self.leaving,
            self.wishes.all,
            is_decided,
            majority,
            self._context.sites,
            change.recovers,
        )
        if not view.members or (majority and not decides(view, self._could_accept(change, view))):
            return False
        change.view = view
        if self._context.site in view.members:
            self._voting.accept(view)
            change.accepted[self._context.site] = self._context.incarnation
        self._relay.multicast([site for site in view.members if site != self._context.site], Accept(view))
        self._set_tick(now)
        self._maybe_decide(now)
        return True

    def _could_accept(self, change: Change, view: View) -> dict[SiteId, int]:
        return {site: change.promises[site].incarnation for site in view.members}

    def on_accepted(self, now: Micros, source: SiteId, accepted: Accepted) -> None:
        change = self._change
        if change is None or change.view is None or accepted.ballot != change.ballot:
            return
        if source in change.view.members and source not in change.accepted:
            change.accepted[source] = accepted.incarnation
            self._maybe_decide(now)

    def _maybe_decide(self, now: Micros) -> bool:
        change = self._change
        if change is None or change.view is None:
            return False
        view = change.view
        if self._context.needs_majority and not change.recovers:
            if not decides(view, change.accepted):
                return False
        elif len(change.accepted) < len(view.members):
            return False
        targets = [site for site in self._everyone() if site in view.members or site in self._context.ring.members]
        self._decide_tries = 0
        self._change = None
        silent = [site for site in view.members if site not in change.accepted and site != self._context.site]
        self._relay.multicast([site for site in targets if site not in silent], Decided(view))
        self._relay.flood(silent, Decided(view))
        if self._context.site in view.members:
            self.install(now, view)
            if self._context.status == ACTIVE:
                self._outbox.set_timer(DECIDE, 0, now + self._context.options.change_us)
        return True

    def on_decide_timer(self, now: Micros) -> None:
        """No token of the new view yet: perhaps its first owner has not heard the decision."""
        ring = self._context.ring
        if self._context.status != ACTIVE or ring.turn > ring.size or self._decide_tries >= DECIDE_TRIES_MAX:
            return
        self._decide_tries += 1
        self._relay.flood(self._context.others, Decided(self._context.view))
        self._outbox.set_timer(DECIDE, 0, now + self._context.options.change_us)

    def on_change_timer(self, now: Micros) -> None:
        """The change does not get on."""
        self.waiting = False
        if self._context.status != FROZEN:
            return
        change = self._change
        if change is None:
            self.start(now, [])
            return
        if change.view is not None:
            self._press_for_votes(now, change)
            return
        change.ticks += 1
        if change.ticks % TICKS == 0:
            if self._maybe_propose(now, True):
                return
            self._order.show_alone()
            self._attempts += 1
            change.suspects = []  # everybody counts now
            change.promises[self._context.site] = self._voting.own_promise(change.ballot)
        silent = [site for site in self._everyone() if site not in change.promises]
        prepare = Prepare(change.ballot, self._attempts)
        if change.ticks % TICKS == TICKS // 2:
            self._relay.flood(silent, prepare)
        else:
            self._relay.multicast(silent, prepare)
        self._set_tick(now)

    def _press_for_votes(self, now: Micros, change: Change) -> None:
        assert change.view is not None
        change.tries += 1
        if change.tries > ACCEPT_TRIES_MAX:
            self.start(now, [])
            return
        silent = [site for site in change.view.members if site not in change.accepted and site != self._context.site]
        self._relay.flood(silent, Accept(change.view))
        self._set_tick(now)

    # The decision

    def on_decided(self, now: Micros, view: View) -> bool:
        """Whether a view was decided without this site."""
        context = self._context
        if not is_sound_view(view, len(context.groups), context.sites):
            context.stat_dropped += 1
            return False
        self._seen = max(self._seen, view.ballot)
        context.learn_seats(view)
        if view.ballot <= context.view_number() or context.status == LEFT:
            return False
        if not context.is_in(view):
            return view.ballot >= self._voting.promised
        if view.ballot >= self._voting.promised:
            self.install(now, view)
        return False

    def install(self, now: Micros, view: View) -> None:
        self._change = None
        self._attempts = 0
        self.joiners = []  # who is not in it asks again, if it is still there
        self.leaving = [site for site in self.leaving if site in view.members]
        self._outbox.cancel_timer(CHANGE, 0)
        self.waiting = False
        self._outbox.cancel_timer(DECIDE, 0)
        self._installing.install(now, view)
        self.wishes.drop()

    def stop(self) -> None:
        """No change is sought here any more."""
        self._change = None
        self._outbox.cancel_timer(CHANGE, 0)
        self.waiting = False
        self._outbox.cancel_timer(DECIDE, 0)

    def is_coordinating(self) -> bool:
        return self._change is not None

    def idle(self) -> bool:
        return not self.joiners and not self.wishes.is_open()
