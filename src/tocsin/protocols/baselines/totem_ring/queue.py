"""A site's own messages while they wait for the token."""

from tocsin.core.data import Sent
from tocsin.core.machine import GroupId, SiteId
from tocsin.core.message import Record
from tocsin.core.own_messages import OwnNumbers
from tocsin.protocols.baselines.totem_ring.messages import Item


class Queue:
    """Own messages without a place, and the numbers they have."""

    def __init__(self, site: SiteId, first_seqno: int) -> None:
        self._site = site
        self.numbers = OwnNumbers(first_seqno)
        self.waiting: list[Item] = []  # in the order of their numbers; each is durable

    def add(self, group: GroupId, payload: bytes) -> Sent:
        """Number a new message; the record that makes it durable."""
        sent = Sent(group, self.numbers.following, payload)
        self.recall(sent)
        return sent

    def recall(self, sent: Sent) -> None:
        self.numbers.recall(sent.seqno)
        self.waiting.append(Item(sent.group, self._site, sent.seqno, sent.payload))

    def recall_placed(self, item: Item) -> None:
        """After a restart: a message had found its place; if it is the first that waits, it waits no more."""
        if self.waiting and item.origin == self._site and item.seqno == self.waiting[0].seqno:
            self.waiting.pop(0)

    def take(self, count: int) -> list[Item]:
        """The first messages, which get their places now."""
        taken = self.waiting[:count]
        del self.waiting[:count]
        return taken

    def records(self) -> list[Record]:
        """What a checkpoint keeps."""
        return [Sent(item.group, item.seqno, item.payload) for item in self.waiting]
