"""What a site has promised and voted about the graph after the present one, durable before it is said."""

from typing import Final

from tocsin.core.ballots import Ballots
from tocsin.core.machine import GroupId, Setup, SiteId
from tocsin.core.message import Record
from tocsin.core.records import Records
from tocsin.protocols.propagation_graph.messages import Decision
from tocsin.protocols.propagation_graph.records import Abstains, Promised, Voted

BALLOT_MAX: Final = 1 << 40  # no honest ballot comes here


class GraphBallots:
    """A ballot belongs to one manager; all of them are about one graph."""

    def __init__(self, setup: Setup, records: Records) -> None:
        self._site: SiteId = setup.site
        self._records = records
        self.number = 0  # of the graph that they are about
        self.cast: Ballots[Decision] = Ballots(setup.sites)
        self._abstains_below = 0  # this site has begun anew, and may have voted about these and forgotten it
        self.lost: tuple[GroupId, ...] = ()  # groups of which nobody knows anything since then

    def next_of_own(self) -> int:
        """A ballot of this site's, above all that it has heard of."""
        return self.cast.ballot(self.cast.attempt(self.cast.promised) + 1, self._site)

    def promise(self, number: int, ballot: int) -> None:
        """Not to vote below this ballot for the graph with this number."""
        self.cast.promise(ballot)
        self._records.persist(Promised(number, ballot))

    def vote(self, ballot: int, decision: Decision) -> None:
        self.cast.vote(ballot, decision)
        self._records.persist(Voted(ballot, decision))

    def start_graph(self, number: int) -> None:
        """They are about the graph with this number now. Who catches up has been further already."""
        if number > self.number:
            self.number = number
            self.cast.start_over()

    # After a lost disk

    def may_vote(self) -> bool:
        return self.number >= self._abstains_below

    def abstain(self, record: Abstains) -> None:
        self._abstains_below = record.number
        self.lost = record.lost

    def keep_lost(self, decision: Decision) -> None:
        """Groups that are not dead in the graph are as good as new."""
        dead = [group for group, _ in decision.dead]
        self.lost = tuple([group for group in self.lost if group in dead])

    # Checkpoints

    def recall_promise(self, record: Promised) -> None:
        self.start_graph(record.number)
        if record.number == self.number:
            self.cast.promise(record.ballot)

    def recall_vote(self, record: Voted) -> None:
        self.start_graph(record.decision.number)
        if record.decision.number == self.number:
            self.cast.vote(record.ballot, record.decision)

    def recall(self, record: Record) -> None:
        if isinstance(record, Promised):
            self.recall_promise(record)
        elif isinstance(record, Voted):
            self.recall_vote(record)
        elif isinstance(record, Abstains):
            self.abstain(record)

    def fold(self) -> list[Record]:
        records: list[Record] = []
        if self.lost or not self.may_vote():
            records.append(Abstains(self._abstains_below, self.lost))
        if self.cast.promised:
            records.append(Promised(self.number, self.cast.promised))
        if self.cast.voted is not None:
            records.append(Voted(self.cast.voted_in, self.cast.voted))
        return records
