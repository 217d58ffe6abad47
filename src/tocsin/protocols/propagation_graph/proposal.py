"""What a manager has heard in its ballot: reports, who is ready, who has voted."""

from tocsin.core.machine import SiteId
from tocsin.protocols.propagation_graph.messages import Decision, Report
from tocsin.protocols.propagation_graph.successor import incarnation_of
from tocsin.protocols.propagation_graph.votes import Changes, Revivals, counted_groups, may_decide, next_decision


class Proposal:
    """Prepare (reports come), install (who has all that counts is ready), accept (votes come)."""

    def __init__(self, sites: int) -> None:
        self._sites = sites
        self.ballot = 0  # under way; 0: none
        self.joined: tuple[int, ...] = ()  # groups in which somebody may be new or back
        self.decision: Decision | None = None  # what is proposed, once enough have reported
        self._changes: Changes = {}  # that the next graph is to bring
        self._revivals: Revivals = {}  # dead groups of which somebody is back
        self._anew: dict[SiteId, int] = {}  # incarnations of sites that have begun anew
        self._begun: list[SiteId] = []  # those that the present graph knows with an earlier one
        self._reports: dict[SiteId, Report] = {}
        self._ready: set[SiteId] = set()
        self._accepts: set[SiteId] = set()

    def start(
        self, ballot: int, present: Decision, changes: Changes, revivals: Revivals, anew: dict[SiteId, int]
    ) -> None:
        self.ballot = ballot
        self.decision = None
        self._reports = {}
        self._accepts = set()
        self._changes = dict(changes)
        self._revivals = dict(revivals)
        self._anew = dict(anew)
        self._begun = [site for site in sorted(anew) if anew[site] > incarnation_of(present, site)]
        self.joined = tuple(counted_groups(present, self._changes))

    def stop(self) -> None:
        """Another manager has a higher ballot."""
        self.ballot = 0

    def start_graph(self) -> None:
        self.ballot = 0
        self.decision = None

    # Reports

    def add_report(self, site: SiteId, report: Report) -> None:
        if site not in self._begun:
            self._reports[site] = report

    def has_report(self, site: SiteId) -> bool:
        return site in self._reports

    def may_decide(self) -> bool:
        return may_decide(self._sites, [site for site in sorted(self._reports) if not self._reports[site].is_new])

    def propose(self, present: Decision) -> Decision:
        decision = next_decision(present, self._sites, self._reports, self._changes, self._revivals, self._anew)
        self.decision = decision
        self._ready = set()
        return decision

    # Who is ready

    def _survivors(self, present: Decision, decision: Decision) -> list[SiteId]:
        """Those that report and go from the present graph to the next."""
        return [site for site in sorted(self._reports) if site not in present.away and site not in decision.away]

    def add_ready(self, site: SiteId) -> None:
        self._ready.add(site)

    def not_ready(self, present: Decision, decision: Decision) -> list[SiteId]:
        """Survivors that lack something of the present graph that counts."""
        return [site for site in self._survivors(present, decision) if site not in self._ready]

    # Votes

    def add_accept(self, site: SiteId) -> None:
        self._accepts.add(site)

    def has_accept(self, site: SiteId) -> bool:
        return site in self._accepts

    def has_majority(self) -> bool:
        return 2 * len(self._accepts) > self._sites
