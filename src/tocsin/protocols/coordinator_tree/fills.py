"""What is to be sent again, and to whom: the paper's `fill`, with a memory of what is already under way.

A number is sent once to all who are owed it, by multicast. What was sent in this period of the clock or the one before
is not sent again to the same host: the report that asks for it was made before it arrived. So a lost redelivery costs
a period or two, and reports that cross a redelivery cost nothing.
"""

from tocsin.core.machine import SiteId
from tocsin.core.rangeset import RangeSet


class Batch:
    """A number and the hosts that miss it."""

    def __init__(self, number: int, targets: list[SiteId]) -> None:
        self.number = number
        self.targets = targets  # sorted, not empty


class Fills:
    """The redeliveries of one stream."""

    def __init__(self) -> None:
        self._owed: dict[SiteId, RangeSet] = {}  # by host: numbers to send; never empty
        self._sent: dict[SiteId, RangeSet] = {}  # by host: sent in this period
        self._sent_before: dict[SiteId, RangeSet] = {}  # by host: sent in the period before

    def owe(self, site: SiteId, numbers: RangeSet) -> None:
        """From now on this host is owed these numbers, but for those under way to it; replaces what it was owed."""
        owed = numbers
        for sent in (self._sent, self._sent_before):
            if site in sent:
                owed = owed.difference(sent[site])
        if owed:
            self._owed[site] = owed
        else:
            self._owed.pop(site, None)

    def take(self, count: int) -> list[Batch]:
        """The lowest `count` numbers that are owed, each with all hosts that miss it; they count as sent."""
        taken: list[Batch] = []
        while self._owed and len(taken) < count:
            number = min([owed.first() for owed in self._owed.values()])
            targets: list[SiteId] = []
            for site in sorted(self._owed):
                owed = self._owed[site]
                if owed.remove(number):
                    targets.append(site)
                    if site not in self._sent:
                        self._sent[site] = RangeSet()
                    self._sent[site].add(number)
                    if not owed:
                        del self._owed[site]
            taken.append(Batch(number, targets))
        return taken

    def pending(self) -> bool:
        return len(self._owed) > 0

    def forget(self, site: SiteId) -> None:
        """The host is no longer served from here; what is under way to it stays so."""
        self._owed.pop(site, None)

    def age(self) -> None:
        """A period of the clock is over."""
        if self._sent or self._sent_before:
            self._sent_before = self._sent
            self._sent = {}
