"""Views: how a list is changed (section 3.3 of the paper, and what it assumes away).

A change from view v to v + 1 is one instance of consensus (Paxos: promise, accept, decided) among the members of v. It
is started by the owner when somebody asks to join or it wants to leave, by a passer after L unanswered reissues, by
anyone who has not seen the token for too long, and by a member that comes back from a crash. Anybody may start one at
any time; ballots keep them apart.

A member that promises stops: it counts, passes and commits nothing more in v. Its report says what it has counted.
`consensus.py` makes the next view from the reports of a majority. Whoever learns the decision installs it; a member of
v that is not in v + 1 is outside, says so to its application, and asks to be let in again.
"""

from typing import Final

from tocsin.core.machine import Micros, SiteId
from tocsin.protocols.counter_token.consensus import (
    has_quorum,
    is_sound_proposal,
    is_sound_report,
    propose,
)
from tocsin.protocols.counter_token.foundation import (
    ACTIVE,
    CHANGE,
    DECIDE,
    FROZEN,
    LEFT,
    OUTSIDE,
)
from tocsin.protocols.counter_token.installing import Change, Installing
from tocsin.protocols.counter_token.messages import (
    Accept,
    Accepted,
    Decided,
    Join,
    Prepare,
    Promise,
    Proposal,
    Refuse,
)

ACCEPT_TRIES_MAX: Final = 3  # Accepts sent before a new ballot
DECIDE_TRIES_MAX: Final = 5  # times the decision is told unasked


class Membership(Installing):
    """Changes of view: the coordinator's part and the members'."""

    # Starting a change

    def _start_change(self, now: Micros, suspects: list[SiteId]) -> None:
        """Phase 1: a ballot above all that were seen."""
        self._freeze()
        number = max(self._ballots.attempt(self._ballots.promised), self._seen_number) + 1
        self._promise(self._ballots.ballot(number, self._site))
        invited = [site for site in self._joiners if site not in self._ring.place_of]
        change = Change(number, invited, suspects)
        self._change = change
        change.reports[self._site] = self._report()
        if self._ballots.voted is not None:
            change.best = self._own_promise(number)
        self._attempts += 1
        self._send_prepare(change)
        self._outbox.set_timer(CHANGE, 0, now + self._patience_us())
        self._maybe_propose(now, False)

    def _promise(self, ballot: int) -> None:
        self._ballots.promise(ballot)
        self._records.persist(self._promised())

    def _patience_us(self) -> int:
        """Doubling, and different at each site, so that two coordinators do not go on disturbing each other."""
        step = self._options.change_us
        return (step + step * self._site // 8) << min(self._attempts - 1 if self._attempts > 0 else 0, 4)

    def _send_prepare(self, change: Change) -> None:
        targets = [
            site
            for site in self._ring.members
            if site != self._site and site not in change.reports and site not in change.suspects
        ]
        targets.extend([site for site in change.invited if site not in change.reports])
        if targets:
            self._outbox.multicast(sorted(targets), Prepare(self._base.view, change.number, tuple(change.invited)))

    # The members' promises

    def _own_promise(self, number: int) -> Promise:
        ballots = self._ballots
        attempt = ballots.attempt(ballots.voted_in)
        coordinator = ballots.owner(ballots.voted_in)
        return Promise(self._base.view, number, self._report(), attempt, coordinator, ballots.voted)

    # The members' part

    def _on_prepare(self, now: Micros, source: SiteId, prepare: Prepare) -> None:
        mine = self._my_view()
        ballot = self._ballots.ballot(prepare.number, source)
        if self._status == LEFT or prepare.view < mine or (prepare.view == mine and self._status == OUTSIDE):
            if self._latest is not None and self._latest.view > prepare.view:
                self._outbox.send(source, Decided(self._latest))
        elif prepare.view > mine:
            if self._site in prepare.invited:
                self._fall_outside(now)
                self._send_visitor_report(source, prepare)
            else:
                self._outbox.send(source, Join(mine, -1, 0))  # it may have missed a decision
        elif source not in self._ring.place_of:
            self.stat_dropped += 1
        elif ballot < self._ballots.promised:
            self._refuse(source)
        else:
            self._freeze()
            if ballot > self._ballots.promised:
                self._promise(ballot)
                self._change = None
                self._attempts += 1
            else:
                self._tell_alone()  # asked again: the coordinator has found no quorum
            self._outbox.set_timer(CHANGE, 0, now + 2 * self._patience_us())
            self._outbox.send(source, self._own_promise(prepare.number))

    def _refuse(self, source: SiteId) -> None:
        """Somebody has asked in a larger ballot."""
        self._outbox.send(source, Refuse(self._base.view, self._ballots.attempt(self._ballots.promised)))

    def _send_visitor_report(self, source: SiteId, prepare: Prepare) -> None:
        """A site outside reports to the members that let it in; it has no vote."""
        self._outbox.send(source, Promise(prepare.view, prepare.number, self._report(), 0, 0, None))

    def _on_refuse(self, now: Micros, refuse: Refuse) -> None:
        change = self._change
        if change is None or refuse.view != self._base.view or refuse.number < change.number:
            return
        self._change = None
        self._seen_number = max(self._seen_number, refuse.number)
        self._outbox.set_timer(CHANGE, 0, now + self._patience_us())

    def _on_accept(self, now: Micros, source: SiteId, accept: Accept) -> None:
        if accept.view != self._ring.view or self._status not in (ACTIVE, FROZEN):
            return
        if source not in self._ring.place_of or not self._is_sound(accept.proposal):
            self.stat_dropped += 1
            return
        ballot = self._ballots.ballot(accept.number, source)
        if ballot < self._ballots.promised:
            self._refuse(source)
            return
        self._freeze()
        self._change = None
        self._accept(ballot, accept.proposal)
        self._outbox.set_timer(CHANGE, 0, now + 2 * self._patience_us())
        self._outbox.send(source, Accepted(accept.view, accept.number))

    def _accept(self, ballot: int, proposal: Proposal) -> None:
        self._ballots.vote(ballot, proposal)
        self._records.persist(self._agreed(proposal))

    def _is_sound(self, proposal: Proposal) -> bool:
        return proposal.view == self._base.view + 1 and is_sound_proposal(proposal, len(self._groups), self._sites)

    # The coordinator's part

    def _on_promise(self, now: Micros, source: SiteId, promise: Promise) -> None:
        change = self._change
        if change is None or promise.view != self._base.view or promise.number != change.number:
            return
        if change.proposal is not None or not is_sound_report(promise.report, len(self._groups), self._sites):
            return
        member = source in self._ring.place_of
        if member and promise.accepted is not None and self._is_sound(promise.accepted):
            best = change.best
            ballot = (promise.accepted_number, promise.accepted_site)
            if best is None or ballot > (best.accepted_number, best.accepted_site):
                change.best = promise
        if member or source in change.invited:
            change.reports[source] = promise.report
            self._maybe_propose(now, False)

    def _maybe_propose(self, now: Micros, is_late: bool) -> bool:
        """Phase 2, when everybody waited for has answered, or when it is late and enough have."""
        change = self._change
        if change is None or change.proposal is not None:
            return False
        missing = [site for site in self._ring.members if site not in change.reports]
        guests = [site for site in change.invited if site not in change.reports]
        present = [site for site in self._ring.members if site in change.reports]
        current = [site for site in present if not change.reports[site].lagging]
        all_here = not missing and not guests
        only_suspects = len(missing) > 0
        for site in missing:
            if site not in change.suspects:
                only_suspects = False
        if not (is_late or all_here or only_suspects):
            return False
        if not has_quorum(self._ring.members, self._groups, present, current, self._needs_majority):
            return False
        proposal = None if change.best is None else change.best.accepted
        if proposal is None:
            proposal = propose(self._base, self._groups, change.reports, change.invited)
        self._joiners = [site for site in self._joiners if site not in guests]
        change.proposal = proposal
        change.tries = 0
        self._accept(self._ballots.ballot(change.number, self._site), proposal)
        change.accepted = [self._site]
        self._send_accept(change)
        self._outbox.set_timer(CHANGE, 0, now + self._patience_us())
        self._maybe_decide(now)
        return True

    def _send_accept(self, change: Change) -> None:
        proposal = change.proposal
        assert proposal is not None
        targets = [site for site in self._others() if site in change.reports and site not in change.accepted]
        if targets:
            self._outbox.multicast(targets, Accept(self._base.view, change.number, proposal))

    def _on_accepted(self, now: Micros, source: SiteId, accepted: Accepted) -> None:
        change = self._change
        if change is None or change.proposal is None or accepted.view != self._base.view:
            return
        if accepted.number != change.number or source not in self._ring.place_of or source in change.accepted:
            return
        change.accepted.append(source)
        self._maybe_decide(now)

    def _maybe_decide(self, now: Micros) -> bool:
        change = self._change
        if change is None or change.proposal is None:
            return False
        if self._needs_majority:
            if 2 * len(change.accepted) <= self._ring.size:
                return False
        else:
            for site in change.proposal.members:
                if site in self._ring.place_of and site not in change.accepted:
                    return False
        proposal = change.proposal
        old_members = self._others()
        self._install(now, proposal)
        targets = set(old_members)
        targets.update([site for site in proposal.members if site != self._site])
        if targets:
            self._outbox.multicast(sorted(targets), Decided(proposal))
            self._decide_tries = 0
            self._outbox.set_timer(DECIDE, 0, now + self._options.change_us)
        return True

    def _on_decide_timer(self, now: Micros) -> None:
        """No token of the new view yet: perhaps its first owner has not heard the decision."""
        ring = self._ring
        if self._status != ACTIVE or ring.turn >= ring.size or self._decide_tries >= DECIDE_TRIES_MAX:
            return
        self._decide_tries += 1
        self._multicast(Decided(self._base))
        self._outbox.set_timer(DECIDE, 0, now + self._options.change_us)

    def _on_change_timer(self, now: Micros) -> None:
        """The change does not get on."""
        if self._status != FROZEN:
            return
        change = self._change
        if change is None:
            self._start_change(now, [])
            return
        if change.proposal is None:
            if self._maybe_propose(now, True):
                return
            self._tell_alone()
            self._attempts += 1
            self._forget_lagging(change)
            change.suspects = []  # every member counts now
            self._send_prepare(change)
            self._outbox.set_timer(CHANGE, 0, now + self._patience_us())
        elif change.tries < ACCEPT_TRIES_MAX:
            change.tries += 1
            self._send_accept(change)
            self._outbox.set_timer(CHANGE, 0, now + self._patience_us())
        else:
            self._start_change(now, [])

    def _forget_lagging(self, change: Change) -> None:
        """Who lagged may have caught up: ask again."""
        for site in sorted(change.reports):
            if change.reports[site].lagging:
                del change.reports[site]
        change.reports[self._site] = self._report()
