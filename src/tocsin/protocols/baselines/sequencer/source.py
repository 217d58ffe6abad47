"""A site's own messages, from their broadcast until they are committed; sent to who orders, and again."""

from typing import Final

from tocsin.core.data import Sent
from tocsin.core.machine import GroupId, Outbox, SiteId
from tocsin.core.message import Record
from tocsin.core.own_messages import OwnNumbers
from tocsin.core.records import Records
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.messages import NO_GROUP, Item, Submit
from tocsin.protocols.baselines.sequencer.terms import NOBODY, Terms
from tocsin.protocols.baselines.sequencer.token_site import TokenSite

SUBMIT: Final = "SUBMIT"  # own messages are not committed

AGAIN_MAX: Final = 8  # own messages sent again at a time: the first ones, the rest waits for them anyway


class Source:
    """Own messages that are not committed; they are durable."""

    def __init__(
        self,
        site: SiteId,
        peers: list[SiteId],
        terms: Terms,
        log: Log,
        token: TokenSite,
        records: Records,
        outbox: Outbox,
    ) -> None:
        self._site = site
        self._peers = peers
        self._terms = terms
        self._log = log
        self._token = token
        self._records = records
        self._outbox = outbox
        self.numbers = OwnNumbers()
        self.pending: dict[int, Item] = {}  # by number, in increasing order; their term means nothing

    def add(self, group: GroupId, payload: bytes) -> Item:
        """A new message, durable from now on."""
        sent = Sent(group, self.numbers.following, payload)
        self.recall(sent)
        self._records.persist(sent)
        self.note_first()
        return self.pending[sent.seqno]

    def submit(self, item: Item) -> None:
        """Send it to the site that orders; to everybody, where that site changes or is unknown."""
        term, first, matched = self._terms.term, min(self.pending), self._log.matched
        message = Submit(term, item.group, self._site, item.seqno, first, matched, item.payload)
        if self._token.rotate or self._token.orderer == NOBODY:
            self._outbox.multicast(list(self._peers), message)
        else:
            self._outbox.send(self._token.orderer, message)

    def submit_again(self) -> bool:
        """Send the first ones that have no place here again; whether there are any."""
        again = self._without_place()
        for item in again[:AGAIN_MAX]:
            self.submit(item)
        return len(again) > 0

    def submit_here(self) -> None:
        """This site orders: what has no place waits for one here."""
        self.note_first()
        for item in self._without_place():
            self._log.submissions.add(self._log.order, item)

    def note_first(self) -> None:
        """What waits here knows which of this site's messages is the oldest."""
        if self.pending:
            self._log.submissions.note_first(self._site, min(self.pending))

    def _without_place(self) -> list[Item]:
        return [item for item in self.pending.values() if item.seqno >= self._log.order.next_seqnos[self._site]]

    def settle(self, item: Item) -> None:
        """An item is committed; if it is ours, it is done."""
        if item.group != NO_GROUP and item.origin == self._site:
            self.pending.pop(item.seqno, None)

    # After a restart

    def recall(self, sent: Sent) -> None:
        self.numbers.recall(sent.seqno)
        self.pending[sent.seqno] = Item(0, sent.group, self._site, sent.seqno, sent.payload)

    def drop_committed(self) -> None:
        """When all records are read: what is in the committed part of the log is done."""
        committed_seqno = self._log.committed_seqno(self._site)
        for seqno in [seqno for seqno in self.pending if seqno < committed_seqno]:
            del self.pending[seqno]

    def records(self) -> list[Record]:
        """What a checkpoint keeps."""
        return [Sent(item.group, item.seqno, item.payload) for item in self.pending.values()]
