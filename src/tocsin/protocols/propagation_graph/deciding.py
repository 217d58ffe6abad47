"""Deciding on the next graph: two phases per graph number, by a majority of all sites.

| paper (section 5.2.1)                                     | here                         |
|-----------------------------------------------------------|------------------------------|
| the manager closes; survivors stop and report what they have | `Prepare`, `Report`       |
| it determines what every site is missing                  | votes.py                     |
| survivors install what they miss                          | `Install`, `Ready`; fetching.py |
| a new manager completes what the old one has begun        | what was voted for is kept   |

A ballot belongs to one manager. Who has answered a ballot takes nothing more in the present graph and votes in no
smaller one. A graph for which a majority has voted is decided; any later manager hears of it from one of them, and
proposes it again. So there is one graph for each number, whatever fails and whoever is suspected.

Between the phases the survivors get what they lack from one another. Only then they vote, so that once a graph may be
decided every site in it has all that counts: a survivor that fails now takes nothing with it that another needs.
"""

from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.protocols.propagation_graph.messages import Change, Decision
from tocsin.protocols.propagation_graph.record_messages import Promised, Voted
from tocsin.protocols.propagation_graph.recovery_messages import (
    Accept,
    Accepted,
    Decided,
    Hello,
    Install,
    Prepare,
    Ready,
    Report,
)
from tocsin.protocols.propagation_graph.votes import counted_groups, may_decide, next_decision
from tocsin.protocols.propagation_graph.watching import Watching

GRACE: Final = "GRACE"  # enough waiting for reports
PUSH: Final = "PUSH"  # a manager asks again whoever has not answered

BALLOT_MAX: Final = 1 << 40  # no honest ballot comes here


class Deciding(Watching):
    """The manager's part and everybody's votes."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        super().__init__(setup, outbox)
        self._promised = 0  # no vote below this ballot
        self._voted_ballot = 0
        self._voted: Decision | None = None
        # As manager
        self._ballot = 0  # under way; 0: none
        self._reports: dict[SiteId, Report] = {}
        self._proposed: Decision | None = None
        self._proposed_changes: dict[tuple[SiteId, int], Change] = {}
        self._joined: tuple[int, ...] = ()  # groups in which somebody may be new or back
        self._ready: set[SiteId] = set()
        self._accepts: set[SiteId] = set()
        # As survivor
        self._next: Decision | None = None  # to be the next graph: what is missing of the present one is fetched
        self._next_from: SiteId = 0  # the manager that says so

    # The manager: first phase

    def _prepare(self, now: Micros) -> None:
        number = self._stage.number + 1
        attempt = self._promised // self._sites + 1
        self._ballot = attempt * self._sites + self._site
        self._reports = {}
        self._proposed = None
        self._proposed_changes = dict(self._changes)
        self._accepts = set()
        self._joined = tuple(counted_groups(self._stage.graph.decision, self._proposed_changes))
        self._promise(number, self._ballot)
        self._reports[self._site] = self._report(self._ballot, self._joined)
        self._outbox.multicast(self._others(), Prepare(number, self._ballot, self._joined))
        self._outbox.set_timer(GRACE, 0, now + self._grace_us)
        self._outbox.set_timer(PUSH, 0, now + self._resend_us)
        self._maybe_propose(now, False)

    def _on_push(self, now: Micros) -> None:
        """Ask again whoever has not answered in the present phase."""
        decision = self._proposed
        if self._ballot == 0 or self._learned is not None:
            return
        present = self._stage.graph.decision
        if decision is None:
            silent = [site for site in self._others() if site not in self._reports and site not in self._suspects]
            if silent:
                self._outbox.multicast(silent, Prepare(present.number + 1, self._ballot, self._joined))
        elif self._voted_ballot != self._ballot:
            behind = [site for site in self._survivors(decision) if site not in self._ready and site != self._site]
            if behind:
                self._outbox.multicast(behind, Install(self._ballot, decision))
        else:
            asked = [site for site in self._others() if site not in self._accepts and site not in decision.away]
            if asked:
                self._outbox.multicast(asked, Accept(self._ballot, decision))
        self._outbox.set_timer(PUSH, 0, now + self._resend_us)

    def _survivors(self, decision: Decision) -> list[SiteId]:
        """Those that report and go from the present graph to the next."""
        away = self._stage.graph.decision.away
        return [site for site in sorted(self._reports) if site not in away and site not in decision.away]

    def _promise(self, number: int, ballot: int) -> None:
        self._promised = ballot
        self._next = None
        self._stopped = True
        self._persist(Promised(number, ballot))

    def _report(self, ballot: int, joined: tuple[int, ...]) -> Report:
        stage = self._stage
        ranks = [stage.ranks.get(group, 0) for group in range(len(stage.graph.decision.groups))]
        places: list[tuple[int, int, int]] = []
        for group, source in sorted(self._places):
            if group in joined:
                places.append((group, source, self._places[(group, source)]))
        voted: tuple[Decision, ...] = () if self._voted is None else (self._voted,)
        return Report(stage.number + 1, ballot, self._voted_ballot, voted, tuple(ranks), tuple(places))

    def _on_prepare(self, now: Micros, source: SiteId, prepare: Prepare) -> None:
        if prepare.number > self._stage.number + 1:
            self._outbox.send(source, Hello(self._stage.number))
        elif prepare.number <= self._stage.number or self._learned is not None:
            self._send_decision(source, prepare.number)
        elif prepare.ballot > self._promised and prepare.ballot < BALLOT_MAX:
            self._ballot = 0
            self._promise(prepare.number, prepare.ballot)
            self._outbox.send(source, self._report(prepare.ballot, prepare.joined))
            self._wish_tries = 0
            self._set_wish(now, self._turn() + 1)
        elif prepare.ballot == self._promised and self._ballot == 0:
            self._outbox.send(source, self._report(prepare.ballot, prepare.joined))  # the first answer was lost

    def _send_decision(self, target: SiteId, number: int) -> None:
        decision = self._decisions.get(number)
        if decision is not None:
            self._outbox.send(target, Decided(decision))

    def _on_report(self, now: Micros, source: SiteId, report: Report) -> None:
        if self._ballot == 0 or report.ballot != self._ballot or report.number != self._stage.number + 1:
            return
        if len(report.voted) <= 1 and (not report.voted or self._is_sound_next(report.voted[0])):
            self._reports[source] = report
            self._maybe_propose(now, False)

    def _maybe_propose(self, now: Micros, enough: bool) -> bool:
        """With the reports of all that should be alive, or of a majority after some time, go on."""
        if self._proposed is not None or self._ballot == 0 or self._learned is not None:
            return False
        present = self._stage.graph.decision
        if not may_decide(present, self._sites, sorted(self._reports)):
            return False
        if not enough:
            for site in range(self._sites):
                alive = site not in self._suspects and (site not in present.away or site in self._returning)
                if alive and site not in self._reports:
                    return False
        self._outbox.cancel_timer(GRACE, 0)
        decision = next_decision(present, self._sites, self._reports, self._proposed_changes)
        self._proposed = decision
        self._ready = set()
        self._outbox.multicast(self._others(), Install(self._ballot, decision))
        self._next = decision
        self._next_from = self._site
        self._gather(now)
        return True

    # Between the phases

    def _on_install(self, now: Micros, source: SiteId, install: Install) -> None:
        current = self._learned is None and install.ballot == self._promised and self._ballot == 0
        if current and self._is_sound_next(install.decision) and self._next is None:
            self._next = install.decision
            self._next_from = source
            self._gather(now)
        elif current and self._next == install.decision and self._has_all(install.decision):
            self._say_ready(now)  # the first answer was lost

    def _has_all(self, decision: Decision) -> bool:
        """Whether nothing that counts is missing here; see recovering.py."""
        return True

    def _gather(self, now: Micros) -> None:
        """Get what is missing, then say so; see recovering.py and fetching.py."""

    def _say_ready(self, now: Micros) -> None:
        number = self._stage.number + 1
        if self._next_from == self._site:
            self._on_ready(now, self._site, Ready(number, self._ballot))
        else:
            self._outbox.send(self._next_from, Ready(number, self._promised))

    def _on_ready(self, now: Micros, source: SiteId, ready: Ready) -> None:
        decision = self._proposed
        if decision is None or ready.ballot != self._ballot or ready.number != self._stage.number + 1:
            return
        self._ready.add(source)
        if self._voted_ballot == self._ballot:
            return  # the second phase has begun
        for site in self._survivors(decision):
            if site not in self._ready:
                return
        self._vote(self._ballot, decision)
        self._accepts.add(self._site)
        self._outbox.multicast(self._others(), Accept(self._ballot, decision))
        self._maybe_decide(now)

    # Second phase

    def _vote(self, ballot: int, decision: Decision) -> None:
        self._voted_ballot = ballot
        self._voted = decision
        self._persist(Voted(ballot, decision))

    def _is_sound_next(self, decision: Decision) -> bool:
        if decision.number != self._stage.number + 1 or not self._are_sound_members(decision.away):
            return False
        for group, source, _ in decision.places:
            if group >= len(decision.groups) or source >= self._sites:
                return False
        return self._is_sound_decision(decision)

    def _on_accept(self, now: Micros, source: SiteId, accept: Accept) -> None:
        if self._learned is not None or not self._is_sound_next(accept.decision):
            return
        if self._site in accept.decision.away:
            return  # those who vote have all that counts
        if self._promised <= accept.ballot < BALLOT_MAX:
            if accept.ballot != self._voted_ballot:
                if accept.ballot > self._promised:
                    self._promise(accept.decision.number, accept.ballot)
                self._vote(accept.ballot, accept.decision)
            self._outbox.send(source, Accepted(accept.decision.number, accept.ballot))

    def _on_accepted(self, now: Micros, source: SiteId, accepted: Accepted) -> None:
        if self._proposed is not None and accepted.ballot == self._ballot:
            if accepted.number == self._stage.number + 1:
                self._accepts.add(source)
                self._maybe_decide(now)

    def _maybe_decide(self, now: Micros) -> bool:
        decision = self._proposed
        if decision is None or self._learned is not None or 2 * len(self._accepts) <= self._sites:
            return False
        self._outbox.multicast(self._others(), Decided(decision))
        self._learn(now, decision)
        return True

    def _on_decided(self, now: Micros, decision: Decision) -> None:
        present = self._learned if self._learned is not None else self._stage.graph.decision
        if decision.number == self._stage.number + 1 and self._learned is None:
            if self._is_sound_next(decision):
                self._learn(now, decision)
        elif decision.number > present.number and self._is_sound_decision(decision):
            self._decisions[decision.number] = decision

    def _learn(self, now: Micros, decision: Decision) -> None:
        """The next graph is decided; see recovering.py."""
