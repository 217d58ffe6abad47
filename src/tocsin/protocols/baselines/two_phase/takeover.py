"""When an outcome does not come: ask for it, and in the end do the source's work."""

from typing import Final as Constant

from tocsin.core.machine import Micros, Outbox, SiteId
from tocsin.protocols.baselines.two_phase.member import PRIORITY_MAX, Member
from tocsin.protocols.baselines.two_phase.messages import Ask, Final, Propose
from tocsin.protocols.baselines.two_phase.options import TwoPhaseOptions
from tocsin.protocols.baselines.two_phase.queue import Entry

ASK: Constant = "ASK"  # some outcome is missing

ASKS_MAX: Constant = 8  # messages asked for at a time, the first of the queue: the rest waits for them anyway


class Takeover:
    """Looks at the queue from time to time, while something in it is not final."""

    def __init__(
        self, site: SiteId, groups: list[list[SiteId]], options: TwoPhaseOptions, member: Member, outbox: Outbox
    ) -> None:
        self._site = site
        self._groups = groups
        self._resend_us: int = options.resend_us
        self._takeover: bool = options.takeover
        self._takeover_after: int = options.takeover_after
        self._member = member
        self._outbox = outbox
        self._asking = False  # the ASK timer is set

    def maybe_ask(self, now: Micros) -> bool:
        """While an outcome is missing, look again in a while."""
        if self._asking or not self._member.queue.first_undeliverable(1):
            return False
        self._asking = True
        self._outbox.set_timer(ASK, 0, now + self._resend_us)
        return True

    def ask(self) -> None:
        """The timer has come."""
        self._asking = False
        for entry in self._member.queue.first_undeliverable(ASKS_MAX):
            self._ask_or_take_over(entry)

    def _ask_or_take_over(self, entry: Entry) -> None:
        """Ask the origin for the outcome; after some questions in vain, do its work. Members come one after another."""
        data = entry.data
        if data.origin == self._site or entry.deliverable:
            return  # RESEND sees to it; or decided a moment ago
        if not entry.waited:
            entry.waited = True  # it may have come a moment ago
            return
        entry.asked += 1
        self._outbox.send(data.origin, Ask(data.origin, data.seqno))
        turn = self._takeover_after + self._groups[data.group].index(self._site)
        if not self._takeover or entry.asked <= turn:
            return
        if not entry.taken_over:
            entry.taken_over = True
            entry.proposals[self._site] = entry.priority
            if data.own > 0:
                entry.proposals[data.origin] = data.own
        if not self._maybe_decide(entry):
            for site in self._member.others(data.group):
                if site not in entry.proposals:
                    self._outbox.send(site, data)

    def on_propose(self, source: SiteId, propose: Propose) -> None:
        """An answer to this site, which does another's work."""
        entry = self._member.queue.entries.get((propose.origin, propose.seqno))
        if entry is None or not entry.taken_over or propose.priority > PRIORITY_MAX:
            return
        if source in self._groups[entry.data.group]:
            entry.proposals[source] = propose.priority
            self._maybe_decide(entry)

    def _maybe_decide(self, entry: Entry) -> bool:
        data = entry.data
        if len(entry.proposals) < len(self._groups[data.group]):
            return False
        priority = max(entry.proposals.values())
        targets = sorted(set(self._member.others(data.group)) | {data.origin})
        self._member.settle(data.group, data.origin, data.seqno, data.place, priority)
        self._outbox.multicast(targets, Final(data.origin, data.seqno, priority))
        return True
