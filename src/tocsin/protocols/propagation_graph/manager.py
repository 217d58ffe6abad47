"""The manager of section 5.1 and its backups: which graph comes next is decided by ballot, by a majority of all sites.

| paper                             | here                                                                       |
|-----------------------------------|----------------------------------------------------------------------------|
| the manager computes a new graph  | `_draft`, successor.py                                                     |
| a backup manager (5.2.1)          | whoever asks in vain proposes itself: `Prepare`, with a ballot of its own  |
| polling the roots after a failure | the newest decision brings all that some root may not have opened          |

A decision is a whole configuration: who has the newest one needs no other. The manager that made it tells everybody
until all have heard; others who are behind ask (`Hello`), and whoever sees that somebody is behind tells (`Decided`).
All that several askers want when a graph is drafted goes into that one.

The manager is who made the newest decision, at first the one that the option `manager` names. It needs no first phase:
the smallest ballot, FAST, is its own. A method that may decide returns the decision, or None.
"""

from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.core.message import Record
from tocsin.core.records import Records
from tocsin.protocols.propagation_graph.ballots import BALLOT_MAX, GraphBallots
from tocsin.protocols.propagation_graph.edges import BACKOFF_MAX
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.messages import (
    Accept,
    Accepted,
    Change,
    Decided,
    Decision,
    Heard,
    Hello,
    Older,
    Prepare,
    Report,
)
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.soundness import is_sound_change, is_sound_configuration
from tocsin.protocols.propagation_graph.successor import incarnation_of, older, successor, with_pending
from tocsin.protocols.propagation_graph.telling import MANAGE, Telling

PUSH: Final = "PUSH"  # a ballot is under way, or a change has to wait

FAST: Final = 1  # the ballot of the manager, which needs no promises; every other is larger
PLANS_MAX: Final = 16  # graphs that one site may have to open one after another; what would be one more for it waits
CHANGES_MAX: Final = 1_024  # changes of others that a manager remembers
ANEW_ASKED_MAX: Final = 3  # times that a site which begins anew asks before somebody else is manager
IN_VAIN_MAX: Final = 4  # time-outs before a manager tries a larger ballot


class Manager:
    """What a site has promised and voted, and what it does as manager."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        graphs: Graphs,
        records: Records,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._others = [site for site in range(setup.sites) if site != setup.site]
        self._resend_us: int = options.resend_us
        self._graphs = graphs
        self._outbox = outbox
        self._ballots = GraphBallots(setup, records)  # about the graph after the newest
        self._changes: dict[tuple[SiteId, int], Change] = {}  # asked for, by asker and its number; none is in a graph
        self._anew: dict[SiteId, int] = {}  # incarnations of sites that have begun anew; they are in no graph
        self._anew_asked: dict[SiteId, int] = {}  # by such a site: how often it asked
        self._ballot = 0  # under way; 0: none
        self._largest = 0  # of the ballots heard of
        self._value: Decision | None = None  # what is proposed in it, once enough have promised
        self._reports: dict[SiteId, Report] = {}
        self._accepts: set[SiteId] = set()
        self._in_vain = 0  # time-outs of the ballot
        self._overruled = 0  # times that another manager had a larger ballot
        self._patient_until: Micros = 0  # another manager is at work
        self._opened: dict[SiteId, int] = {}  # the last graph that each site said it has opened
        self._telling = Telling(options.resend_us, graphs, outbox)
        self._pushing = False  # PUSH is set

    def is_settled(self) -> bool:
        return self._telling.is_settled() and self._ballot == 0 and not self._changes and not self._anew

    # What is wanted

    def note_change(self, now: Micros, asker: SiteId, change: Change) -> Decision | None:
        """Remember a change, and propose a graph with it."""
        newest = self._graphs.newest
        if change.number < dict(newest.applied).get(asker, 0):
            if asker != self._site:
                self._outbox.send(asker, Decided(newest))
            return None
        if len(self._changes) >= CHANGES_MAX or not is_sound_change(change, newest, self._sites):
            return None
        self._changes[(asker, change.number)] = change
        return self._maybe_start(now)

    def note_anew(self, now: Micros, site: SiteId, incarnation: int) -> Decision | None:
        """A site has begun anew: what its earlier incarnation wanted is gone. The manager proposes a graph in which it
        begins; somebody else, one after another, if it asks in vain."""
        newest = self._graphs.newest
        if incarnation <= incarnation_of(newest, site):
            return None
        for asker, number in sorted(self._changes):
            if asker == site:
                del self._changes[(asker, number)]
        self._opened.pop(site, 0)
        asked = self._anew_asked.get(site, 0) + 1
        self._anew_asked[site] = asked
        if newest.by != self._site and asked <= ANEW_ASKED_MAX + 2 * self._site:
            return None
        self._anew[site] = incarnation
        return self._maybe_start(now)

    def _draft(self) -> Decision | None:
        """The next graph with all changes that may come now; None if there is none."""
        last = self._graphs.newest
        pending = [graph for graph in (*last.pending, older(last)) if self._waits_for(graph)]
        draft: Decision | None = None
        groups = list(last.groups)
        applied = dict(last.applied)
        if self._anew:
            draft = with_pending(self._successor(groups, applied), pending)
        for asker, number in sorted(self._changes):
            if number == applied.get(asker, 0):
                tried = list(groups)
                change = self._changes[(asker, number)]
                while len(tried) <= change.group:
                    tried.append(())
                tried[change.group] = change.members
                counted = dict(applied)
                counted[asker] = number + 1
                found = self._successor(tried, counted)
                if not self._is_too_much(found, pending):
                    draft = with_pending(found, pending)
                    groups = tried
                    applied = counted
        return draft

    def _successor(self, groups: list[tuple[int, ...]], applied: dict[SiteId, int]) -> Decision:
        last = self._graphs.newest
        return successor(last, groups, applied, self._site, self._sites, self._graphs.balance, self._anew)

    def _waits_for(self, graph: Older) -> list[SiteId]:
        """The sites that a graph concerns and that may not have opened it."""
        waiting: list[SiteId] = []
        for site in graph.concerned:
            opened = self._graphs.present.number if site == self._site else self._opened.get(site, -1)
            if opened < graph.number:
                waiting.append(site)
        return waiting

    def _is_too_much(self, draft: Decision, pending: list[Older]) -> bool:
        """Whether a site that the draft concerns would have too many graphs to open."""
        if len(pending) < PLANS_MAX:
            return False
        for graph in pending:
            for site in self._waits_for(graph):
                if site in draft.concerned:
                    return True
        return False

    # A ballot: first phase

    def _maybe_start(self, now: Micros) -> Decision | None:
        """If a graph is wanted and no ballot under way, begin one."""
        if self._ballot != 0 or (not self._changes and not self._anew):
            return None
        if now < self._patient_until or not self._ballots.may_vote():
            self._arm_push(now)
            return None
        cast = self._ballots.cast
        self._in_vain = 0
        self._accepts = set()
        if self._graphs.newest.by == self._site and cast.promised <= FAST and self._largest <= FAST:
            value = cast.voted if cast.voted is not None else self._draft()
            if value is not None:
                self._ballot = FAST
                return self._propose(now, value)
            self._arm_push(now)
            return None
        if cast.voted is None and self._draft() is None:
            self._arm_push(now)
            return None
        return self._prepare(now)

    def _prepare(self, now: Micros) -> Decision | None:
        cast = self._ballots.cast
        number = self._graphs.newest.number + 1
        attempt = cast.attempt(max(cast.promised, self._largest)) + 1
        self._ballot = cast.ballot(attempt, self._site)
        self._value = None
        self._accepts = set()
        self._ballots.promise(number, self._ballot)
        self._reports = {self._site: self._report()}
        if self._others:
            self._outbox.multicast(self._others, Prepare(number, self._ballot, ()))
        self._arm_push(now)
        return self._maybe_propose(now)

    def _report(self) -> Report:
        cast = self._ballots.cast
        voted = () if cast.voted is None else (cast.voted,)
        return Report(self._graphs.newest.number + 1, cast.promised, cast.voted_in, voted, (), ())

    def on_prepare(self, now: Micros, source: SiteId, prepare: Prepare) -> None:
        newest = self._graphs.newest.number
        promised = self._ballots.cast.promised
        if prepare.number > newest + 1:
            self._outbox.send(source, Hello(newest))
        elif prepare.number <= newest:
            self._outbox.send(source, Decided(self._graphs.newest))
        elif FAST < prepare.ballot < BALLOT_MAX and self._ballots.may_vote():
            if prepare.ballot > promised:
                self._give_way(now)
                self._ballots.promise(prepare.number, prepare.ballot)
            self._outbox.send(source, self._report())

    def _give_way(self, now: Micros) -> None:
        """Another manager is at work: let it, the longer the more often they were in each other's way."""
        if self._ballot != 0:
            self._ballot = 0
            self._overruled += 1
        patience = 4 * self._resend_us << min(self._overruled, BACKOFF_MAX)
        self._patient_until = now + patience + self._site * self._resend_us
        if self._changes or self._anew:
            self._arm_push(now)

    def on_report(self, now: Micros, source: SiteId, report: Report) -> Decision | None:
        if report.number != self._graphs.newest.number + 1 or len(report.voted) > 1 or report.ballot >= BALLOT_MAX:
            return None
        self._largest = max(self._largest, report.ballot)
        if self._ballot == 0 or report.ballot != self._ballot or self._value is not None:
            return None
        if report.voted and not self._is_sound(report.voted[0]):
            return None
        self._reports[source] = report
        return self._maybe_propose(now)

    def _maybe_propose(self, now: Micros) -> Decision | None:
        """With the promises of a majority: what was voted for, if anything was, or what is wanted."""
        if 2 * len(self._reports) <= self._sites:
            return None
        ballot = 0
        value: Decision | None = None
        for site in sorted(self._reports):
            report = self._reports[site]
            if report.voted and report.voted_ballot > ballot:
                ballot = report.voted_ballot
                value = report.voted[0]
        if value is None:
            value = self._draft()
        if value is None:
            self._ballot = 0
            return None
        return self._propose(now, value)

    # Second phase

    def _propose(self, now: Micros, value: Decision) -> Decision | None:
        self._value = value
        if self._ballots.cast.voted_in != self._ballot:
            self._ballots.vote(self._ballot, value)
        self._accepts = {self._site}
        if self._others:
            self._outbox.multicast(self._others, Accept(self._ballot, value))
        self._arm_push(now)
        return self._maybe_decide()

    def _is_sound(self, decision: Decision) -> bool:
        return decision.number == self._graphs.newest.number + 1 and is_sound_configuration(decision, self._sites)

    def on_accept(self, now: Micros, source: SiteId, accept: Accept) -> None:
        newest = self._graphs.newest.number
        cast = self._ballots.cast
        if accept.decision.number > newest + 1:
            self._outbox.send(source, Hello(newest))
        elif accept.decision.number <= newest:
            self._outbox.send(source, Decided(self._graphs.newest))
        elif not self._may_vote_for(source, accept):
            return
        elif cast.promised <= accept.ballot < BALLOT_MAX:
            if accept.ballot != cast.voted_in:
                self._give_way(now)
                self._ballots.vote(accept.ballot, accept.decision)
            self._outbox.send(source, Accepted(accept.decision.number, accept.ballot))
        else:
            self._outbox.send(source, self._report())  # there is a larger ballot

    def _may_vote_for(self, source: SiteId, accept: Accept) -> bool:
        if not self._is_sound(accept.decision) or not self._ballots.may_vote():
            return False
        return accept.ballot != FAST or source == self._graphs.newest.by

    def on_accepted(self, source: SiteId, accepted: Accepted) -> Decision | None:
        if self._ballot == 0 or accepted.ballot != self._ballot or self._value is None:
            return None
        if accepted.number != self._value.number:
            return None
        self._accepts.add(source)
        return self._maybe_decide()

    def _maybe_decide(self) -> Decision | None:
        return self._value if 2 * len(self._accepts) > self._sites else None

    # The outcome

    def on_newest(self, now: Micros, decision: Decision) -> Decision | None:
        """Another graph is the newest. Who brought it about tells everybody; what is still wanted comes into the next.
        It may be another's that this site has found voted for, and who made it may not know of it."""
        has_decided = self._value is not None and self._value == decision and self._ballot != 0
        self.recall_newest(decision)
        self._telling.start(now, self._others if has_decided or decision.by == self._site else [])
        return self._maybe_start(now)

    def recall_newest(self, decision: Decision) -> None:
        self._ballots.start_graph(decision.number + 1)
        self._ballot = 0
        self._largest = 0
        self._overruled = 0
        self._patient_until = 0
        self._value = None
        applied = dict(decision.applied)
        for asker, number in sorted(self._changes):
            if number < applied.get(asker, 0):
                del self._changes[(asker, number)]
        for site in sorted(self._anew_asked):
            if self._anew.get(site, 0) <= incarnation_of(decision, site):
                self._anew.pop(site, 0)
                del self._anew_asked[site]

    def instance(self) -> int:
        """The number of the graph that this site votes about."""
        return self._graphs.newest.number + 1

    def resume(self, now: Micros) -> None:
        """After a restart: hear what is new, or tell it again: who told it may have been this site."""
        newest = self._graphs.newest
        if newest.number > 0:
            self._telling.start(now, self._others)
        elif self._others:
            self._outbox.multicast(self._others, Hello(newest.number))

    def on_heard(self, now: Micros, source: SiteId, heard: Heard) -> Decision | None:
        newest = self._graphs.newest.number
        if heard.number > newest:
            self._outbox.send(source, Hello(newest))
        if heard.number >= newest:
            self._telling.on_heard(source)
        if heard.opened <= heard.number and heard.opened > self._opened.get(source, -1):
            self._opened[source] = heard.opened
            return self._maybe_start(now)
        return None

    def on_timer(self, now: Micros, timer: str) -> Decision | None:
        if timer == MANAGE:
            self._telling.on_timer(now)
            return None
        self._pushing = False
        if self._ballot == 0:
            return self._maybe_start(now)
        self._in_vain += 1
        if self._in_vain >= IN_VAIN_MAX and max(self._largest, self._ballots.cast.promised) > self._ballot:
            self._in_vain = 0
            return self._prepare(now)
        self._push()
        self._arm_push(now)
        return None

    def _push(self) -> None:
        """Ask again whoever has not answered in the present phase."""
        if self._value is None:
            silent = [site for site in self._others if site not in self._reports]
            if silent:
                self._outbox.multicast(silent, Prepare(self._graphs.newest.number + 1, self._ballot, ()))
        else:
            silent = [site for site in self._others if site not in self._accepts]
            if silent:
                self._outbox.multicast(silent, Accept(self._ballot, self._value))

    def _arm_push(self, now: Micros) -> None:
        if not self._pushing:
            self._pushing = True
            delay = 2 * self._resend_us << min(self._in_vain, BACKOFF_MAX)
            self._outbox.set_timer(PUSH, 0, max(self._patient_until, now + delay))

    # Checkpoints

    def recall(self, record: Record) -> None:
        self._ballots.recall(record)

    def fold(self) -> list[Record]:
        return self._ballots.fold()
