"""What a site does with its own broadcasts: it asks for proposals, and tells the largest."""

from typing import Final as Constant

from tocsin.core.machine import GroupId, Micros, Outbox, Setup, SiteId
from tocsin.core.own_messages import OwnNumbers
from tocsin.core.records import Records
from tocsin.core.renewal import over_of
from tocsin.protocols.baselines.two_phase.member import PRIORITY_MAX, Member
from tocsin.protocols.baselines.two_phase.messages import Data, Final, Propose, Sent
from tocsin.protocols.baselines.two_phase.outgoing import RESEND, Outgoing, Outgoings

BACKOFF_MAX: Constant = 4  # resending slows down to one in 2^4 time-outs: a crowded medium must be able to recover


class Source:
    """Numbers and places of own broadcasts, and what the members are known to have of them."""

    def __init__(
        self,
        setup: Setup,
        resend_us: int,
        outgoings: Outgoings,
        member: Member,
        records: Records,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._groups = setup.groups
        self._first_seqno = setup.first_seqno
        self._resend_us = resend_us
        self._outgoings = outgoings
        self._member = member
        self._records = records
        self._outbox = outbox
        self.numbers = OwnNumbers(setup.first_seqno)
        self.places: list[int] = [0] * len(setup.groups)  # by group: own broadcasts to it
        self._member_done: dict[tuple[GroupId, SiteId], int] = {}  # own messages: places agreed at that member

    def add(self, group: GroupId, payload: bytes) -> int:
        """A new broadcast, durable from now on; its number."""
        sent = Sent(group, self.numbers.following, self.places[group], payload)
        self.recall(sent)
        self._records.persist(sent)
        return sent.seqno

    def recall(self, sent: Sent) -> None:
        self.numbers.recall(sent.seqno)
        self.places[sent.group] = max(self.places[sent.group], sent.place + 1)
        self._outgoings.add(Outgoing(sent.group, sent.seqno, sent.place, sent.payload))

    def next_places(self) -> list[int]:
        """By group: of the first message to it whose priority is not final."""
        places = list(self.places)
        for outgoing in self._outgoings.waiting.values():
            places[outgoing.group] = min(places[outgoing.group], outgoing.place)
        return places

    def over_for(self, site: SiteId) -> tuple[tuple[int, int, int, int], ...]:
        """Own messages to groups of this site whose priority is final."""
        found: list[tuple[int, int, int, int]] = []
        for group in range(len(self._groups)):
            if site in self._groups[group]:
                under_way = [
                    (outgoing.place, outgoing.seqno)
                    for outgoing in self._outgoings.waiting.values()
                    if outgoing.group == group
                ]
                found.extend(over_of(group, self._first_seqno, self.places[group], under_way))
        return tuple(found)

    def renew(self, site: SiteId) -> None:
        """A member has begun anew: it has agreed to nothing, and proposed nothing."""
        for group in range(len(self._groups)):
            self._member_done.pop((group, site), None)
        for outgoing in self._outgoings.waiting.values():
            outgoing.proposals.pop(site, None)

    # Phase one

    def maybe_start(self, now: Micros) -> bool:
        """Start what waits, oldest first."""
        started = False
        following = self._outgoings.next_to_start()
        while following is not None:
            self._start(now, following)
            started = True
            following = self._outgoings.next_to_start()
        return started

    def _start(self, now: Micros, outgoing: Outgoing) -> None:
        outgoing.started = True
        stable = self._stable(outgoing.group)
        floor = self._member.clock
        is_member = self._site in self._groups[outgoing.group]
        own = floor + 1 if is_member else 0
        data = Data(outgoing.group, self._site, outgoing.seqno, outgoing.place, floor, own, stable, outgoing.payload)
        if is_member:
            entry = self._member.queue.entries.get((self._site, outgoing.seqno))
            if entry is None:
                self._member.propose(data)
            else:
                data = entry.data  # proposed in an earlier life
            outgoing.proposals[self._site] = data.own
        outgoing.data = data
        others = self._member.others(outgoing.group)
        if others:
            self._outbox.multicast(others, data)
            self._outbox.set_timer(RESEND, outgoing.seqno, now + self._resend_us)
        self._maybe_decide(outgoing)

    def _stable(self, group: GroupId) -> int:
        """Places of ours in this group below this are agreed at every member."""
        least = self.next_places()[group]  # of what is not over here, everybody must still know the outcome
        for site in self._member.others(group):
            least = min(least, self._member_done.get((group, site), 0))
        stream = self._member.stream(self._site, group)
        if self._site in self._groups[group]:
            least = min(least, stream.done())
        stream.forget(least)
        return least

    def send_again(self, now: Micros, seqno: int) -> None:
        """To those who have not proposed."""
        outgoing = self._outgoings.waiting.get(seqno)
        if outgoing is not None and outgoing.data is not None:
            for site in self._member.others(outgoing.group):
                if site not in outgoing.proposals:
                    self._outbox.send(site, outgoing.data)
            outgoing.tries = min(outgoing.tries + 1, BACKOFF_MAX)
            self._outbox.set_timer(RESEND, seqno, now + (self._resend_us << outgoing.tries))

    # Phase two

    def on_propose(self, source: SiteId, propose: Propose) -> None:
        outgoing = self._outgoings.waiting.get(propose.seqno)
        if outgoing is None or not outgoing.started or source not in self._groups[outgoing.group]:
            return  # late: it is final
        if propose.priority > PRIORITY_MAX:
            return
        outgoing.proposals[source] = propose.priority
        done = min(propose.done, outgoing.place)
        known = self._member_done.get((outgoing.group, source), 0)
        self._member_done[(outgoing.group, source)] = max(done, known)
        self._maybe_decide(outgoing)

    def _maybe_decide(self, outgoing: Outgoing) -> bool:
        """Once every member has proposed, the largest proposal is the priority."""
        if len(outgoing.proposals) < len(self._groups[outgoing.group]):
            return False
        priority = max(outgoing.proposals.values())
        others = self._member.others(outgoing.group)
        self._member.settle(outgoing.group, self._site, outgoing.seqno, outgoing.place, priority)
        if others:
            self._outbox.multicast(others, Final(self._site, outgoing.seqno, priority))
        return True
