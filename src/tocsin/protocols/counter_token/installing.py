"""Installing a view, leaving, and being outside (section 3.3 of the paper: insertion and deletion of a node)."""

from tocsin.core.data import Data
from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.protocols.counter_token.consensus import is_sound_proposal
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
    Decided,
    Gone,
    Installed,
    Invite,
    Item,
    Join,
    Promise,
    Proposal,
    Report,
)
from tocsin.protocols.counter_token.replay import Replay
from tocsin.protocols.counter_token.ring import Slot


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


class Installing(Replay):
    """Becoming a member, and ceasing to be one."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        super().__init__(setup, outbox)
        self._change: Change | None = None
        self._seen_number = 0  # highest ballot number heard of for the successor of `_base`
        self._attempts = 0  # changes tried since the last view
        self._joiners: list[SiteId] = []  # sorted; asked to be let in and can be reached
        self._join_attempts = 0
        self._heard = -1  # the view that invited this site
        self._decide_tries = 0

    def _wants_change(self) -> bool:
        if self._joiners:
            return True
        return self._leaving and not self._own and self._may_leave()

    def _may_leave(self) -> bool:
        """Not while a member of a group is away that only this site could help to catch up."""
        for group in range(len(self._groups)):
            others = [site for site in self._ring.destinations[group] if site != self._site]
            away = [site for site in self._base.absent if site in self._groups[group]]
            if self._site in self._groups[group] and away and not others:
                return False
        return True

    def leave(self, now: Micros) -> None:
        if self._status == LEFT:
            return
        self._leaving = True
        if self._status == OUTSIDE:
            self._go()
        elif self._status == ACTIVE and (self._holding or self._ring.size == 1) and self._wants_change():
            self._start_change(now, [])

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

    def _my_view(self) -> int:
        """The view this site was last a member of; -1 if none."""
        return self._base.view if self._was_member else -1

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
        self._install(now, proposal)

    def _install(self, now: Micros, proposal: Proposal) -> None:
        """Become a member of the view: bring the old one to its end, then start where the view starts."""
        if self._site not in proposal.members:
            self._do_without(now, proposal)
            return
        self._freeze()
        newcomer = not self._was_member
        takes_part = not newcomer and proposal.view == self._base.view + 1 and not self._lagging
        carried: list[Slot] = self._finish_view(proposal) if takes_part else []
        if not self._keeps_joiners(proposal):
            self._joiners = []
        self._reset(proposal)
        self._records.persist(Installed(proposal))
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
        return len([site for site in self._base.members if site not in proposal.members]) > 0

    def _reset(self, proposal: Proposal) -> None:
        """Forget the old view."""
        self._latest = proposal
        self._ring = self._new_ring(proposal)
        self._base = proposal
        self._was_member = True
        self._ballots.start_over()
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

    def _do_without(self, now: Micros, proposal: Proposal) -> None:
        """A view without this site: it has left with its report, or it was missing and the limits say nothing to it."""
        self._latest = proposal
        reported = self._was_member and proposal.view == self._base.view + 1 and self._site not in proposal.absent
        if reported and not self._lagging and self._status != OUTSIDE:
            self._finish_view(proposal)
        self._fall_outside(now)

    def _go(self) -> None:
        """Be gone."""
        self._freeze()
        self._status = LEFT
        self._change = None
        self._replaying = False
        view = self._latest.view if self._latest is not None else 0
        members = [] if self._latest is None else [site for site in self._latest.members if site != self._site]
        self._records.persist(Gone(self._latest))
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
            self._outbox.send(source, Join(self._my_view(), invite.view, self._join_attempts))
            self._outbox.set_timer(JOIN, 0, now + 2 * self._options.join_us)

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
