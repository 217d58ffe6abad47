"""What the application here gets: items of its groups, and how many of them it keeps for ever."""

from tocsin.core.machine import ANY_ORIGIN, DeliveryLog, Outbox, SiteId
from tocsin.protocols.baselines.sequencer.messages import NO_GROUP, Item


class Application:
    """Every site has every item; groups only decide who delivers it."""

    def __init__(self, site: SiteId, groups: list[list[SiteId]], log: DeliveryLog, outbox: Outbox) -> None:
        self._site = site
        self._groups = groups
        self._log = log
        self._outbox = outbox
        self._settled: list[int] = [0] * len(groups)  # by group: deliveries here that stay for ever

    def deliver(self, item: Item) -> None:
        if self._is_for_us(item):
            self._outbox.deliver(item.group, item.origin, item.seqno, item.payload)

    def take_back(self, item: Item) -> None:
        """The newest delivery of its group, which is this one, is undone."""
        if self._is_for_us(item):
            self._outbox.rollback(item.group, item.origin, item.seqno)

    def settle(self, item: Item) -> None:
        """An item is committed."""
        if self._is_for_us(item):
            self._settled[item.group] += 1

    def count_settled(self, revocable: list[Item]) -> None:
        """After a start: all that was delivered stays, but what may be taken back."""
        self._settled = [self._log.end(group) for group in range(len(self._groups))]
        for item in revocable:
            if self._is_for_us(item):
                self._settled[item.group] -= 1

    def miss(self, counts: list[int]) -> None:
        """So many messages of each group are settled; those that are not here will never be."""
        for group in range(len(self._groups)):
            lacking = counts[group] - self._settled[group]
            if lacking > 0 and self._site in self._groups[group]:
                self._outbox.missed(group, ANY_ORIGIN, self._settled[group], lacking)
                self._settled[group] = counts[group]

    def trim(self) -> None:
        """The log is needed only for what may be taken back."""
        for group in range(len(self._groups)):
            self._outbox.trim(group, self._settled[group])

    def _is_for_us(self, item: Item) -> bool:
        return item.group != NO_GROUP and self._site in self._groups[item.group]
