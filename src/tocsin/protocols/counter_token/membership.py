"""Views: how a list is changed (section 3.3 of the paper, and what it assumes away).

A change from view v to v + 1 is one instance of consensus (Paxos: promise, accept, decided) among the members of v. It is
started by the owner when somebody asks to join or it wants to leave, by a passer after L unanswered reissues, by anyone
who has not seen the token for too long, and by a member that comes back from a crash. Anybody may start one at any time;
ballots keep them apart.

A member that promises stops: it counts, passes and commits nothing more in v. Its report says what it has counted.
`consensus.py` makes the next view from the reports of a majority. Whoever learns the decision installs it; a member of v
that is not in v + 1 is outside, says so to its application, and asks to be let in again.
"""

from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.protocols.counter_token.consensus import (
    has_quorum,
    is_sound_proposal,
    is_sound_report,
    propose,
)
from tocsin.protocols.counter_token.foundation import (
    ACTIVE,
    CARRIED,
    CHANGE,
    DECIDE,
    FETCH,
    FROZEN,
    HOLD,
    HURRY,
    JOIN,
    LEFT,
    LOST,
    MESSAGE_OVERHEAD,
    OUTSIDE,
    REISSUE,
    REQUEST,
)
from tocsin.protocols.counter_token.messages import (
    Accept,
    Accepted,
    Agreed,
    Data,
    Decided,
    Gone,
    Installed,
    Invite,
    Item,
    Join,
    Prepare,
    Promise,
    Promised,
    Proposal,
    Refuse,
    Report,
)
from tocsin.protocols.counter_token.replay import Replay
from tocsin.protocols.counter_token.ring import Slot

ACCEPT_TRIES_MAX: Final = 3  # Accepts sent before a new ballot
DECIDE_TRIES_MAX: Final = 5  # times the decision is told unasked


class Change:
    """A change of view that this site coordinates."""

    def __init__(self, number: int, invited: list[SiteId], suspects: list[SiteId]) -> None:
        self.number = number
        self.invited = invited  # sorted
        self.suspects = suspects  # not waited for
        self.reports: dict[SiteId, Report] = {}
        self.best: Promise | None = None  # the promise with the highest accepted ballot
        self.proposal: Proposal | None = None  # set: phase 2
        self.accepted: list[SiteId] = []
        self.tries = 0


class Membership(Replay):
    """Changes of view, joining, leaving."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        super().__init__(setup, outbox)
        self._change: Change | None = None
        self._seen_number = 0  # highest ballot number heard of for the successor of `_base`
        self._attempts = 0  # changes tried since the last view
        self._joiners: list[SiteId] = []  # sorted; asked to be let in and can be reached
        self._join_attempts = 0
        self._heard = -1  # the view that invited this site
        self._decide_tries = 0

    # Starting a change

    def _wants_change(self) -> bool:
        if self._joiners:
            return True
        return self._leaving and not self._own

    def leave(self, now: Micros) -> None:
        if self._status == LEFT:
            return
        self._leaving = True
        if self._status == OUTSIDE:
            self._go()
        elif self._status == ACTIVE and (self._holding or self._ring.size == 1) and self._wants_change():
            self._start_change(now, [])

    def _start_change(self, now: Micros, suspects: list[SiteId]) -> None:
        """Phase 1: a ballot above all that were seen."""
        self._freeze()
        number = max(self._promised_number, self._seen_number) + 1
        self._promise(number, self._site)
        invited = [site for site in self._joiners if site not in self._ring.place_of]
        change = Change(number, invited, suspects)
        self._change = change
        change.reports[self._site] = self._report()
        if self._accepted is not None:
            change.best = self._own_promise(number)
        self._attempts += 1
        self._send_prepare(change)
        self._outbox.set_timer(CHANGE, 0, now + self._patience_us())
        self._maybe_propose(now, False)

    def _freeze(self) -> None:
        """Take no more part in the view."""
        if self._status == ACTIVE:
            self._status = FROZEN
            self._holding = False
            self._passed = None
            for timer in (HOLD, REISSUE, LOST, HURRY):
                self._outbox.cancel_timer(timer, 0)
            for origin in sorted(self._request_number):
                self._outbox.cancel_timer(REQUEST, origin)
            self._request_number.clear()

    def _promise(self, number: int, coordinator: SiteId) -> None:
        self._promised_number = number
        self._promised_site = coordinator
        self._persist(Promised(self._base.view, number, coordinator))

    def _patience_us(self) -> int:
        """Doubling, and different at each site, so that two coordinators do not go on disturbing each other."""
        step = self._options.change_us
        return (step + step * self._site // 8) << min(self._attempts - 1 if self._attempts > 0 else 0, 4)

    def _send_prepare(self, change: Change) -> None:
        targets = [site for site in self._ring.members if site != self._site and site not in change.reports]
        targets.extend([site for site in change.invited if site not in change.reports])
        if targets:
            self._outbox.multicast(sorted(targets), Prepare(self._base.view, change.number, tuple(change.invited)))

    # Reports

    def _report(self) -> Report:
        items: list[Item] = []
        for slot in self._ring.slots.values():
            if slot.destination:
                items.append(Item(slot.place, slot.group, slot.sender, slot.count, slot.following(), slot.counted))
        return Report(
            self._my_view(),
            self._ring.committed + 1,
            tuple(self._positions),
            tuple([tuple(front) for front in self._frontier]),
            tuple(items),
            self._leaving and not self._own,
            self._lagging,
        )

    def _own_promise(self, number: int) -> Promise:
        accepted = self._accepted
        if accepted is None:
            return Promise(self._base.view, number, self._report(), 0, 0, None)
        return Promise(
            self._base.view, number, self._report(), accepted.number, accepted.coordinator, accepted.proposal
        )

    # The members' part

    def _on_prepare(self, now: Micros, source: SiteId, prepare: Prepare) -> None:
        mine = self._my_view()
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
        elif (prepare.number, source) < (self._promised_number, self._promised_site):
            self._outbox.send(source, Refuse(prepare.view, self._promised_number))
        else:
            self._freeze()
            if (prepare.number, source) > (self._promised_number, self._promised_site):
                self._promise(prepare.number, source)
                self._change = None
                self._attempts += 1
            self._outbox.set_timer(CHANGE, 0, now + 2 * self._patience_us())
            self._outbox.send(source, self._own_promise(prepare.number))

    def _my_view(self) -> int:
        """The view this site was last a member of; -1 if none."""
        return self._base.view if self._was_member else -1

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
        if (accept.number, source) < (self._promised_number, self._promised_site):
            self._outbox.send(source, Refuse(accept.view, self._promised_number))
            return
        self._freeze()
        self._change = None
        self._accept(accept.number, source, accept.proposal)
        self._outbox.set_timer(CHANGE, 0, now + 2 * self._patience_us())
        self._outbox.send(source, Accepted(accept.view, accept.number))

    def _accept(self, number: int, coordinator: SiteId, proposal: Proposal) -> None:
        self._promised_number = number
        self._promised_site = coordinator
        self._accepted = Agreed(self._base.view, number, coordinator, proposal)
        self._persist(self._accepted)

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
        majority = self._options.quorum == "majority"
        if not has_quorum(self._ring.members, self._groups, present, current, majority):
            return False
        proposal = None if change.best is None else change.best.accepted
        if proposal is None:
            proposal = propose(self._base, self._groups, change.reports, change.invited)
        self._joiners = [site for site in self._joiners if site not in guests]
        change.proposal = proposal
        change.tries = 0
        self._accept(change.number, self._site, proposal)
        change.accepted = [self._site]
        self._send_accept(change)
        self._outbox.set_timer(CHANGE, 0, now + self._patience_us())
        self._maybe_decide(now)
        return True

    def _send_accept(self, change: Change) -> None:
        proposal = change.proposal
        assert proposal is not None
        targets = [site for site in self._others() if site not in change.accepted]
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
        if self._options.quorum == "majority":
            if 2 * len(change.accepted) <= self._ring.size:
                return False
        else:
            for site in change.proposal.members:
                if site in self._ring.place_of and site not in change.accepted:
                    return False
        proposal = change.proposal
        old_members = self._others()
        self._install(now, proposal)
        targets = {site for site in old_members}
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
            self._send_prepare(change)
            self._outbox.set_timer(CHANGE, 0, now + self._patience_us())
        elif change.tries < ACCEPT_TRIES_MAX:
            change.tries += 1
            self._send_accept(change)
            self._outbox.set_timer(CHANGE, 0, now + self._patience_us())
        else:
            self._start_change(now, [])

    def _tell_alone(self) -> None:
        """This site does not order any more: it speaks for itself only, until a view lists it again."""
        if not self._alone and self._was_member:
            self._alone = True
            self._show_view(self._base.view, [self._site], False)

    # Installing

    def _on_decided(self, now: Micros, proposal: Proposal) -> None:
        if not is_sound_proposal(proposal, len(self._groups), self._sites):
            self.stat_dropped += 1
            return
        if self._latest is None or proposal.view > self._latest.view:
            self._latest = proposal
        if self._status == LEFT or (self._was_member and proposal.view <= self._base.view):
            return
        if self._site in proposal.members:
            self._install(now, proposal)
        elif self._leaving and self._was_member and proposal.view == self._base.view + 1:
            self._depart(proposal)
        else:
            self._fall_outside(now)

    def _install(self, now: Micros, proposal: Proposal) -> None:
        """Become a member of the view: bring the old one to its end, then start where the view starts."""
        self._freeze()
        if self._site not in proposal.members:
            self._depart(proposal)
            return
        newcomer = not self._was_member
        takes_part = not newcomer and proposal.view == self._base.view + 1 and not self._lagging
        carried: list[Slot] = self._finish_view(proposal) if takes_part else []
        if not self._keeps_joiners(proposal):
            self._joiners = []
        self._reset(proposal)
        self._persist(Installed(proposal))
        self._note_view(proposal.view, list(proposal.members))
        if newcomer:
            for group in range(len(self._groups)):
                if self._site in self._groups[group]:
                    self._miss(group, proposal.positions[group])
        if takes_part:
            self._show_member()
        for slot in carried:
            if slot.destination:
                self._deliver_entry(slot.group, proposal.view, slot.place - CARRIED, self._take_messages(slot))
        self._positions = list(proposal.positions)
        self._frontier = [list(front) for front in proposal.frontier]
        self._sort_messages()
        self._lagging = self._is_behind()
        if self._lagging:
            self._start_replay(now, list(proposal.positions))
        elif not takes_part:
            self._on_caught_up(now)
        self._start_circulation(now)
        self._maybe_checkpoint()

    def _keeps_joiners(self, proposal: Proposal) -> bool:
        """Whoever asked to be let in has to wait while a member is missing; otherwise it had its chance."""
        for site in self._base.members:
            if site not in proposal.members:
                return True
        return False

    def _reset(self, proposal: Proposal) -> None:
        """Forget the old view."""
        self._latest = proposal
        self._ring = self._new_ring(proposal)
        self._base = proposal
        self._was_member = True
        self._accepted = None
        self._promised_number = 0
        self._promised_site = 0
        self._seen_number = 0
        self._change = None
        self._attempts = 0
        self._join_attempts = 0
        self._heard = -1
        self._joiners = [site for site in self._joiners if site not in proposal.members]
        self._pool = 0
        self._blocked_sites = []
        self._overloaded = False
        self._marks = []
        self._ready = []
        self._hurried = False
        self._asked_hurry = False
        self._status = ACTIVE
        for timer in (CHANGE, JOIN, DECIDE, FETCH):
            self._outbox.cancel_timer(timer, 0)

    def _show_member(self) -> None:
        self._alone = False
        self._member_shown = self._base.view
        self._show_view(self._base.view, list(self._base.members), True)

    def _on_caught_up(self, now: Micros) -> None:
        if self._status == OUTSIDE:
            self._ask_to_join(now)
            return
        self._lagging = False
        if self._member_shown != self._base.view:
            self._show_member()
        self._deliver_ready()

    def _finish_view(self, proposal: Proposal) -> list[Slot]:
        """Commit what is full in the old view; what the new one takes over."""
        carried: list[Slot] = []
        for place in sorted(self._ring.slots):
            slot = self._ring.slots[place]
            if place < proposal.full_limit:
                self._settle(slot, self._ring.view, place)
            elif place < proposal.keep_limit:
                carried.append(slot)
        return carried

    def _sort_messages(self) -> None:
        """What of the own and held messages is still to be ordered."""
        me = self._site
        for seqno in sorted(self._own):
            data = self._own[seqno]
            if seqno < self._frontier[data.group][me]:
                del self._own[seqno]
        waiting = set(self._unsent)
        self._unsent = [seqno for seqno in sorted(self._own) if seqno in waiting]
        self._unannounced = [seqno for seqno in sorted(self._own) if seqno not in waiting]
        self._outstanding = self._bytes_of(self._unannounced)
        self._unsent_bytes = self._bytes_of(self._unsent)
        self._resent_at.clear()
        self._answered.clear()
        self._incomplete = []
        self._request_number.clear()
        self._loose = 0
        self._held_bytes = 0
        for origin in range(self._sites):
            held = self._held[origin]
            for seqno in sorted(held):
                data = held[seqno]
                if seqno < self._frontier[data.group][origin] or origin not in self._ring.place_of:
                    del held[seqno]
                else:
                    self._loose += 1
                    self._held_bytes += len(data.payload) + MESSAGE_OVERHEAD
        for ready in self._ready:
            for data in ready.messages:
                self._held_bytes += len(data.payload) + MESSAGE_OVERHEAD

    def _bytes_of(self, numbers: list[int]) -> int:
        total = 0
        for seqno in numbers:
            data: Data = self._own[seqno]
            total += len(data.payload) + MESSAGE_OVERHEAD
        return total

    def _start_circulation(self, now: Micros) -> None:
        """The head of the list makes the first token."""
        ring = self._ring
        if ring.size > 1:
            self._outbox.set_timer(LOST, 0, now + self._lost_us())
        if ring.members[0] == self._site:
            ring.turn = ring.size
            self._send_waiting(now)
            if ring.turn == ring.size and not self._holding:
                self._begin_turn(now)
        else:
            self._send_waiting(now)

    def _depart(self, proposal: Proposal) -> None:
        """This site has left: the view without it is the last thing it sees."""
        self._finish_view(proposal)
        self._latest = proposal
        self._go()

    def _go(self) -> None:
        """Be gone."""
        self._freeze()
        self._status = LEFT
        self._change = None
        self._replaying = False
        view = self._latest.view if self._latest is not None else 0
        members = [] if self._latest is None else [site for site in self._latest.members if site != self._site]
        self._persist(Gone(view))
        for timer in (CHANGE, JOIN, DECIDE, FETCH):
            self._outbox.cancel_timer(timer, 0)
        self._show_view(view, members, False)

    # Outside

    def _fall_outside(self, now: Micros) -> None:
        """A newer view does without this site."""
        if self._status == OUTSIDE:
            return
        self._freeze()
        self._status = OUTSIDE
        self._change = None
        self._outbox.cancel_timer(CHANGE, 0)
        if self._leaving:
            self._go()
            return
        self._tell_alone()
        self._ask_to_join(now)

    def _ask_to_join(self, now: Micros) -> None:
        others = self._everybody()
        if others:
            self._outbox.multicast(others, Join(self._my_view(), self._heard, self._join_attempts))
        self._join_attempts += 1
        step = self._options.join_us
        self._outbox.set_timer(JOIN, 0, now + (step << min(self._join_attempts - 1, 3)))

    def _on_join(self, now: Micros, source: SiteId, join: Join) -> None:
        """Somebody outside asks, or a member that has missed the decision."""
        if not self._was_member or self._status == OUTSIDE or source == self._site:
            return
        view = self._ring.view
        if join.last_view < view and self._latest is not None and source in self._latest.members:
            self._outbox.send(source, Decided(self._latest))
            return
        if join.last_view > view:
            self._outbox.send(source, Join(self._my_view(), -1, 0))
            return
        if self._status != ACTIVE or source in self._ring.place_of:
            return
        if join.heard == view:
            if source not in self._joiners:
                self._joiners = sorted([*self._joiners, source])
            if self._holding or self._ring.size == 1:
                self._start_change(now, [])
        elif self._ring.owner() == self._site or self._ring.members[join.attempt % self._ring.size] == self._site:
            self._outbox.send(source, Invite(view, tuple(self._positions)))

    def _on_invite(self, now: Micros, source: SiteId, invite: Invite) -> None:
        if self._status != OUTSIDE or len(invite.positions) != len(self._groups):
            return
        if invite.view < self._heard:
            return
        self._heard = invite.view
        behind = 0
        for group in range(len(self._groups)):
            if self._site in self._groups[group]:
                behind = max(behind, invite.positions[group] - self._ends[group])
        if self._was_member and behind > self._options.join_lag:
            self._start_replay_from(now, source, list(invite.positions))
        else:
            self._ask_to_join(now)

    def _on_join_timer(self, now: Micros) -> None:
        if self._status == OUTSIDE:
            self._ask_to_join(now)

    def _on_other_view(self, now: Micros, source: SiteId, view: int) -> None:
        if self._status == LEFT:
            return
        if view > self._ring.view:
            if self._was_member or self._status == OUTSIDE:
                self._outbox.send(source, Join(self._my_view(), -1, 0))
        elif self._latest is not None and self._status == ACTIVE:
            self._outbox.send(source, Decided(self._latest))
