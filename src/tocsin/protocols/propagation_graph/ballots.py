"""What a site has promised and voted about the graph after the present one."""

from typing import Final

from tocsin.core.machine import Setup, SiteId
from tocsin.core.message import Record
from tocsin.protocols.propagation_graph.checkpoint import Checkpoints
from tocsin.protocols.propagation_graph.messages import Decision
from tocsin.protocols.propagation_graph.records import Promised, Voted

BALLOT_MAX: Final = 1 << 40  # no honest ballot comes here


class Ballots:
    """A ballot belongs to one manager: its number modulo the number of sites. Both are durable before they are said."""

    def __init__(self, setup: Setup, checkpoints: Checkpoints) -> None:
        self._site: SiteId = setup.site
        self._sites = setup.sites
        self._checkpoints = checkpoints
        self.promised = 0  # no vote below this ballot; 0: nothing is promised
        self.voted_ballot = 0  # of the last vote; at most `promised`
        self.voted: Decision | None = None

    def next_of_own(self) -> int:
        """A ballot of this site's, above all that it has heard of."""
        return (self.promised // self._sites + 1) * self._sites + self._site

    def promise(self, number: int, ballot: int) -> None:
        """Not to vote below this ballot for the graph with this number."""
        self.promised = ballot
        self._checkpoints.persist(Promised(number, ballot))

    def vote(self, ballot: int, decision: Decision) -> None:
        self.voted_ballot = ballot
        self.voted = decision
        self._checkpoints.persist(Voted(ballot, decision))

    def start_graph(self) -> None:
        """Ballots are about one graph."""
        self.promised = 0
        self.voted_ballot = 0
        self.voted = None

    # Checkpoints

    def recall_promise(self, record: Promised) -> None:
        self.promised = record.ballot

    def recall_vote(self, record: Voted) -> None:
        self.voted_ballot = record.ballot
        self.voted = record.decision

    def fold(self, number: int) -> list[Record]:
        """`number`: of the graph that they are about."""
        records: list[Record] = []
        if self.promised:
            records.append(Promised(number, self.promised))
        if self.voted is not None:
            records.append(Voted(self.voted_ballot, self.voted))
        return records
