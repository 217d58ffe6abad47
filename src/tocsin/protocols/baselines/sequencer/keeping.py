"""What a site keeps on stable storage and what it forgets; and where it goes on when others have forgotten more.

| an item is …                                  | then                                                                |
|-----------------------------------------------|---------------------------------------------------------------------|
| committed, and known to be at every site      | forgotten at the end of the step                                    |
| committed, and `retain` items old             | forgotten; a site that lacks it is told with `Skip` what it comes to |
| lacking here, and forgotten by who is asked   | here with another's word that it is settled, or missed for good     |
"""

from tocsin.core.data import Renewed, Sent
from tocsin.core.message import Record
from tocsin.core.records import Records
from tocsin.protocols.baselines.sequencer.application import Application
from tocsin.protocols.baselines.sequencer.commits import Commits
from tocsin.protocols.baselines.sequencer.delivery import Delivery
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.messages import Learned, Skip, Summary, Termed
from tocsin.protocols.baselines.sequencer.newcomer import Newcomer
from tocsin.protocols.baselines.sequencer.source import Source
from tocsin.protocols.baselines.sequencer.terms import Terms
from tocsin.protocols.baselines.sequencer.token_site import TokenSite


class Keeping:
    """Recalls, forgets, and folds records; it owns no more than the count of them."""

    def __init__(
        self,
        terms: Terms,
        log: Log,
        token: TokenSite,
        source: Source,
        commits: Commits,
        delivery: Delivery,
        application: Application,
        records: Records,
    ) -> None:
        self._terms = terms
        self._log = log
        self._token = token
        self._source = source
        self._commits = commits
        self._delivery = delivery
        self._application = application
        self._records = records
        self._newcomer: Newcomer | None = None

    def welcome(self, newcomer: Newcomer) -> None:
        """The part that begins anew; it needs the election, which needs more than this."""
        self._newcomer = newcomer

    # After a restart

    def recall(self, records: list[Record]) -> None:
        for record in records:
            self._recall(record)
        self._records.recall(records)
        self._application.count_settled(self._delivery.revocable())
        self._source.drop_committed()

    def _recall(self, record: Record) -> None:
        if isinstance(record, Summary):
            self._terms.resume(record.term, record.voted)
            self._source.numbers.resume(record.next_seqno)
            seqnos, counts = list(record.next_seqnos), list(record.counts)
            self._log.resume(record.base, record.base_term, seqnos, counts, record.committed)
        elif isinstance(record, Sent):
            self._source.recall(record)
        elif isinstance(record, Termed):
            self._terms.resume(record.term, record.voted)
        elif isinstance(record, Learned):
            assert self._newcomer is not None
            self._newcomer.recall(record)
        elif isinstance(record, Renewed):
            assert self._newcomer is not None
            self._newcomer.renewal.recall()
        else:
            self._delivery.recall(record)

    # The end of a step

    def end_step(self) -> None:
        """Forget what nobody needs, and fold the records, once they are many."""
        self._log.note_stable(min(self._token.have))
        self._log.forget()
        if self._records.are_many(2 * (len(self._log.order.items) + len(self._source.pending))):
            self._fold()

    def _fold(self) -> None:
        log = self._log
        order = log.order
        records: list[Record] = [
            Summary(
                self._terms.term,
                self._terms.voted,
                self._source.numbers.following,
                order.base,
                order.base_term,
                tuple(order.base_seqnos),
                tuple(order.base_counts),
                log.committed,
            )
        ]
        if self._newcomer is not None:
            records.extend(self._newcomer.records())
        records.extend(self._source.records())
        records.extend(self._delivery.records())
        self._records.fold(records)
        self._application.trim()

    # When others have forgotten what is lacking here

    def skip(self, skip: Skip) -> None:
        """Go on at a position below which everything is settled: with what is here if it is that, else without."""
        log = self._log
        if log.end() >= skip.base and log.order.term_at(skip.base - 1) == skip.base_term:
            log.match_below(skip.base)
            self._commits.commit(skip.base)
            return
        self._delivery.skip(list(skip.next_seqnos))
        log.resume(skip.base, skip.base_term, list(skip.next_seqnos), list(skip.counts), skip.base)
        log.submissions.drop_ordered(log.order)
        self._source.drop_committed()
        self._application.miss(list(skip.counts))
        self._fold()
