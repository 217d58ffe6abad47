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

Between the phases the survivors get what they lack from one another. Only then votes are asked for, so that once a
graph may be decided every survivor has all that counts: one that fails now takes nothing with it that another needs.
Who is left out votes, too: it has stopped, and goes the way of those who are away.

A method that may decide returns the graph that is decided, or None.
"""

from typing import Final

from tocsin.core.machine import GroupId, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Message
from tocsin.protocols.propagation_graph.ballots import BALLOT_MAX, GraphBallots
from tocsin.protocols.propagation_graph.decided import DecidedGraphs
from tocsin.protocols.propagation_graph.detector import Detector
from tocsin.protocols.propagation_graph.fetching import Fetching
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.messages import (
    Accept,
    Accepted,
    Decided,
    Decision,
    Install,
    Prepare,
    Ready,
    Report,
)
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.places import SourcePlaces
from tocsin.protocols.propagation_graph.proposal import Proposal
from tocsin.protocols.propagation_graph.soundness import is_sound_next
from tocsin.protocols.propagation_graph.standing import Standing
from tocsin.protocols.propagation_graph.wishes import Wishes

GRACE: Final = "GRACE"  # enough waiting for reports
GRACES_MAX: Final = 7  # more of them than the first: 8 times the shortest in range is the longest round trip in range
PUSH: Final = "PUSH"  # a manager asks again whoever has not answered


class Deciding:
    """The manager's part and everybody's votes."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        graphs: Graphs,
        places: SourcePlaces,
        detector: Detector,
        wishes: Wishes,
        decided: DecidedGraphs,
        standing: Standing,
        ballots: GraphBallots,
        fetching: Fetching,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._others = [site for site in range(setup.sites) if site != setup.site]
        self._resend_us: int = options.resend_us
        self._grace_us: int = options.grace_us
        self._graphs = graphs
        self._places = places
        self._detector = detector
        self._wishes = wishes
        self._decided = decided
        self._standing = standing
        self._ballots = ballots
        self._fetching = fetching
        self._outbox = outbox
        self._proposal = Proposal(setup.sites)  # as manager
        self._graces = 0  # that this ballot has waited for more reports
        self._graces_wanted = 0  # … and may wait, after sites were left out that answer
        self.next: Decision | None = None  # as survivor: to be the next graph; what is missing is fetched for it
        self._next_from: SiteId = 0  # the manager that says so

    def on_message(self, now: Micros, source: SiteId, message: Message) -> Decision | None:
        found: Decision | None = None
        if isinstance(message, Prepare):
            self.on_prepare(now, source, message)
        elif isinstance(message, Report):
            found = self.on_report(now, source, message)
        elif isinstance(message, Install):
            found = self.on_install(now, source, message)
        elif isinstance(message, Ready):
            found = self.on_ready(source, message)
        elif isinstance(message, Accept):
            self.on_accept(source, message)
        elif isinstance(message, Accepted):
            found = self.on_accepted(source, message)
        return found

    # The manager: first phase

    def prepare(self, now: Micros) -> Decision | None:
        """Be the manager; but not after a lost disk, about a graph that this site may have voted about."""
        if not self._ballots.may_vote():
            return None
        present = self._standing.base()
        ballot = self._ballots.next_of_own()
        self._proposal.start(ballot, present, self._wishes.changes, self._wishes.revivals, self._wishes.anew)
        joined = self._proposal.joined
        self._graces = 0
        self._promise(present.number + 1, ballot)
        self._proposal.add_report(self._site, self._report(ballot, joined))
        self._outbox.multicast(self._others, Prepare(present.number + 1, ballot, joined))
        self._outbox.set_timer(GRACE, 0, now + self._grace_us)
        self._outbox.set_timer(PUSH, 0, now + self._resend_us)
        return self._maybe_propose(now, False)

    def on_push_timer(self, now: Micros) -> None:
        """Ask again whoever has not answered in the present phase."""
        proposal = self._proposal
        if proposal.ballot == 0 or self._decided.learned is not None:
            return
        present = self._standing.base()
        decision = proposal.decision
        if decision is None:
            suspects = self._detector.suspects
            silent = [site for site in self._others if not proposal.has_report(site) and site not in suspects]
            if silent:
                self._outbox.multicast(silent, Prepare(present.number + 1, proposal.ballot, proposal.joined))
        elif self._ballots.cast.voted_in != proposal.ballot:
            behind = [site for site in proposal.not_ready(present, decision) if site != self._site]
            if behind:
                self._outbox.multicast(behind, Install(proposal.ballot, decision))
        else:
            asked = [site for site in self._others if not proposal.has_accept(site)]
            if asked:
                self._outbox.multicast(asked, Accept(proposal.ballot, decision))
        self._outbox.set_timer(PUSH, 0, now + self._resend_us)

    def _promise(self, number: int, ballot: int) -> None:
        """Stop, and have nothing to do with smaller ballots."""
        self.next = None
        self._graphs.present.stop()
        self._ballots.promise(number, ballot)

    def _report(self, ballot: int, joined: tuple[int, ...]) -> Report:
        stage = self._graphs.present
        cast = self._ballots.cast
        voted = () if cast.voted is None else (cast.voted,)
        if self._standing.is_waiting():
            return Report(self._standing.base().number + 1, ballot, cast.voted_in, voted, (), (), True)
        ranks = [stage.rank(group) for group in range(len(stage.graph.decision.groups))]
        places = self._places.of_groups(joined)
        is_new = not self._ballots.may_vote()
        return Report(stage.number + 1, ballot, cast.voted_in, voted, tuple(ranks), tuple(places), False, is_new)

    def on_prepare(self, now: Micros, source: SiteId, prepare: Prepare) -> None:
        present = self._standing.base().number
        if prepare.number > present + 1:
            self._standing.say(source)
        elif prepare.number <= present or self._decided.find(prepare.number) is not None:
            self._decided.send(source, prepare.number)
        elif prepare.ballot > self._ballots.cast.promised and prepare.ballot < BALLOT_MAX:
            self._proposal.stop()
            self._promise(prepare.number, prepare.ballot)
            self._outbox.send(source, self._report(prepare.ballot, prepare.joined))
            self._wishes.on_manager(now)
        elif prepare.ballot == self._ballots.cast.promised and self._proposal.ballot == 0:
            self._outbox.send(source, self._report(prepare.ballot, prepare.joined))  # the first answer was lost
            self._wishes.on_manager(now)  # or it waits for others

    def on_report(self, now: Micros, source: SiteId, report: Report) -> Decision | None:
        proposal = self._proposal
        if proposal.ballot == 0 or report.ballot != proposal.ballot or not self._is_about_next(report.number):
            return None
        if len(report.voted) > 1 or (report.voted and not self._is_sound_next(report.voted[0])):
            return None
        proposal.add_report(source, report)
        return self._maybe_propose(now, False)

    def on_grace_timer(self, now: Micros) -> Decision | None:
        """Enough waiting; but where those left out come straight back, the network is slower than that: wait longer, or
        one graph would follow another."""
        proposal = self._proposal
        is_early = proposal.ballot != 0 and proposal.decision is None and self._decided.learned is None
        present = self._standing.base()
        if is_early and not self._have_all_reported(present):
            if self._graces < self._graces_wanted:
                self._graces += 1
                self._outbox.multicast(self._others, Prepare(present.number + 1, proposal.ballot, proposal.joined))
                self._outbox.set_timer(GRACE, 0, now + self._grace_us)
                return None
            self._graces_wanted = min(2 * self._graces_wanted + 1, GRACES_MAX)
        return self._maybe_propose(now, True)

    def _maybe_propose(self, now: Micros, enough: bool) -> Decision | None:
        """With the reports of all that should be alive, or of a majority after some time, go on."""
        proposal = self._proposal
        if proposal.decision is not None or proposal.ballot == 0 or self._decided.learned is not None:
            return None
        present = self._standing.base()
        if not proposal.may_decide() or not (enough or self._have_all_reported(present)):
            return None
        self._outbox.cancel_timer(GRACE, 0)
        if not enough and self._graces == 0:
            self._graces_wanted = max(0, self._graces_wanted - 1)
        decision = proposal.propose(present)
        self._outbox.multicast(self._others, Install(proposal.ballot, decision))
        self.next = decision
        self._next_from = self._site
        return self.gather(now)

    def _have_all_reported(self, present: Decision) -> bool:
        """All that should be alive."""
        for site in range(self._sites):
            alive = site not in self._detector.suspects and (site not in present.away or site in self._wishes.returning)
            if alive and not self._proposal.has_report(site):
                return False
        return True

    # Between the phases

    def on_install(self, now: Micros, source: SiteId, install: Install) -> Decision | None:
        is_late = self._decided.learned is not None or self._proposal.ballot != 0
        if is_late or install.ballot != self._ballots.cast.promised:
            return None
        if self.next is None and self._is_sound_next(install.decision):
            self.next = install.decision
            self._next_from = source
            return self.gather(now)
        if self.next == install.decision and not self._missing(install.decision):
            return self._say_ready(now)  # the first answer was lost
        return None

    def gather(self, now: Micros) -> Decision | None:
        """Get what is missing for the graph that is to come, then say so."""
        decision = self.next
        if decision is None or self._decided.learned is not None:
            return None
        missing = self._missing(decision)
        if missing:
            self._fetching.fetch(now, decision, missing)
            return None
        self._fetching.stop()
        return self._say_ready(now)

    def _missing(self, decision: Decision) -> list[tuple[GroupId, int]]:
        """What counts and is not here; who is away in that graph gets it later."""
        if self._site in decision.away:
            return []
        return self._fetching.missing(decision)

    def _say_ready(self, now: Micros) -> Decision | None:
        number = self._standing.base().number + 1
        if self._next_from == self._site:
            return self.on_ready(self._site, Ready(number, self._proposal.ballot))
        self._outbox.send(self._next_from, Ready(number, self._ballots.cast.promised))
        return None

    def on_ready(self, source: SiteId, ready: Ready) -> Decision | None:
        proposal = self._proposal
        decision = proposal.decision
        if decision is None or ready.ballot != proposal.ballot or not self._is_about_next(ready.number):
            return None
        proposal.add_ready(source)
        if self._ballots.cast.voted_in == proposal.ballot or proposal.not_ready(self._standing.base(), decision):
            return None  # the second phase has begun, or somebody lacks something
        self._ballots.vote(proposal.ballot, decision)
        proposal.add_accept(self._site)
        self._outbox.multicast(self._others, Accept(proposal.ballot, decision))
        return self._maybe_decide()

    # Second phase

    def _is_about_next(self, number: int) -> bool:
        return number == self._standing.base().number + 1

    def _is_sound_next(self, decision: Decision) -> bool:
        return is_sound_next(decision, self._standing.base(), self._sites)

    def on_accept(self, source: SiteId, accept: Accept) -> None:
        is_asked = self._decided.learned is None and self._is_sound_next(accept.decision)
        if not is_asked or not self._ballots.may_vote():
            return
        if self._ballots.cast.promised <= accept.ballot < BALLOT_MAX:
            if accept.ballot != self._ballots.cast.voted_in:
                if accept.ballot > self._ballots.cast.promised:
                    self._promise(accept.decision.number, accept.ballot)
                self._ballots.vote(accept.ballot, accept.decision)
            self._outbox.send(source, Accepted(accept.decision.number, accept.ballot))

    def on_accepted(self, source: SiteId, accepted: Accepted) -> Decision | None:
        proposal = self._proposal
        if proposal.decision is None or accepted.ballot != proposal.ballot or not self._is_about_next(accepted.number):
            return None
        proposal.add_accept(source)
        return self._maybe_decide()

    def _maybe_decide(self) -> Decision | None:
        decision = self._proposal.decision
        if decision is None or self._decided.learned is not None or not self._proposal.has_majority():
            return None
        self._outbox.multicast(self._others, Decided(decision))
        return decision

    # The outcome

    def on_learned(self) -> None:
        """The next graph is decided: reports are not waited for any more."""
        self._outbox.cancel_timer(GRACE, 0)

    def cancel_timers(self) -> None:
        """The next graph opens: nobody is asked any more."""
        self._outbox.cancel_timer(PUSH, 0)

    def start_graph(self) -> None:
        """Another graph is the present one; nothing is decided about the one after it."""
        self.next = None
        self._ballots.start_graph(self._standing.base().number + 1)
        self._proposal.start_graph()
