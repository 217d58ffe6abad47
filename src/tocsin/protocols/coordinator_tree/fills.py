"""What is to be sent again, and to whom: the paper's `fill`, at the pace that receivers and the medium take.

A number is sent once to all who are owed it, by multicast. What is under way to a host is not sent again to it before
its reports show that it was lost: it has something that was sent later; or it has got nothing at all for a while.

How much may be under way to a host follows from its reports (`Pace`): twice as much after a report that has everything
that was under way at the report before; as much as has arrived between two reports where more than a third got lost, or
where what was sent before the last report is still queued somewhere. So a slow receiver is sent what it takes, and a
slow medium holds no more than it carries between two reports. All hosts get more at the same time, at the beginning of
a period: so they go on together, by the same multicasts.

Who asks for messages by a `Request` sets the pace itself: it asks for as many as it takes.
"""

from typing import Final

from tocsin.core.machine import SiteId
from tocsin.core.rangeset import RangeSet

WINDOW_MIN: Final = 8  # numbers under way to one host at the least: a lost one does not stop the others
WINDOW_MAX: Final = 4096  # and at the most: 5 MB of 1,400 bytes
STALLED_PERIODS: Final = 3  # without anything new: what is under way is lost. A report is at most two periods old
STALLED_PERIODS_MAX: Final = 12  # the same for a host that stays silent


class Batch:
    """A number and the hosts that miss it."""

    def __init__(self, number: int, targets: list[SiteId]) -> None:
        self.number = number
        self.targets = targets  # sorted, not empty


class Pace:
    """How much one host is sent before it reports."""

    def __init__(self, window: int) -> None:
        self.window = window  # numbers that may be under way
        self.sent: list[int] = []  # under way, in the order of sending
        self._budget = window  # numbers that may still be sent before the next period
        self._older = 0  # of them, those that were under way at the last report
        self._stalled = 0  # periods without anything new
        self._stalled_max = STALLED_PERIODS

    def has_room(self) -> bool:
        return self._budget > 0

    def may_ride(self) -> bool:
        """Whether what another host is sent anyway may be for this one, too: its report may only be a little late."""
        return len(self.sent) < 2 * self.window

    def send(self, number: int) -> None:
        self.sent.append(number)
        self._budget -= 1

    def under_way(self) -> RangeSet:
        numbers = RangeSet()
        for number in self.sent:
            numbers.add(number)
        return numbers

    def report(self, have: RangeSet) -> None:
        """The host has these numbers; what was overtaken is lost."""
        rest: list[int] = []
        lost = 0
        confirmed = 0
        older = 0
        last = -1
        for place in range(len(self.sent)):
            if have.contains(self.sent[place]):
                last = place
        for place in range(len(self.sent)):
            if have.contains(self.sent[place]):
                confirmed += 1
            elif place < last:
                lost += 1
            else:
                rest.append(self.sent[place])
                older += 1 if place < self._older else 0
        if confirmed > 0:
            self._stalled = 0
            self._stalled_max = STALLED_PERIODS
            if 2 * lost > confirmed or older > 0:
                self.window = max(WINDOW_MIN, confirmed)
            else:
                self.window = min(WINDOW_MAX, 2 * self.window)
        self.sent = rest
        self._older = len(rest)

    def age(self) -> None:
        """A period of the clock is over: all hosts are sent more at once, so that one multicast serves them."""
        if self.sent:
            self._look_for_life()
        self._budget = self.window - len(self.sent)

    def _look_for_life(self) -> None:
        self._stalled += 1
        if self._stalled >= self._stalled_max:
            self.sent.clear()
            self._older = 0
            self._stalled = 0
            self._stalled_max = min(2 * self._stalled_max, STALLED_PERIODS_MAX)
            self.window = WINDOW_MIN


class Fills:
    """The redeliveries of one stream."""

    def __init__(self) -> None:
        self._owed: dict[SiteId, RangeSet] = {}  # by host: numbers to send; never empty
        self._asked: dict[SiteId, RangeSet] = {}  # the same, by `Request`
        self._paces: dict[SiteId, Pace] = {}  # by host that was owed something
        self._window = WINDOW_MIN  # to begin with

    def begin_with(self, window: int) -> None:
        """So much may be under way to a host of which nothing is known yet."""
        self._window = max(WINDOW_MIN, window)

    def owe(self, site: SiteId, numbers: RangeSet) -> None:
        """From now on this host is owed these numbers, but for those under way to it; replaces what it was owed."""
        pace = self._paces.get(site)
        if pace is not None and pace.sent:
            numbers = numbers.difference(pace.under_way())
        if numbers:
            self._owed[site] = numbers
        else:
            self._owed.pop(site, None)

    def ask(self, site: SiteId, numbers: RangeSet) -> None:
        """This host asks for these numbers, once."""
        if site in self._asked:
            self._asked[site].update(numbers)
        elif numbers:
            self._asked[site] = numbers

    def report(self, site: SiteId, have: RangeSet) -> None:
        pace = self._paces.get(site)
        if pace is not None and pace.sent:
            pace.report(have)

    def take(self, count: int) -> list[Batch]:
        """The lowest `count` numbers that may be sent now, each with all hosts that miss it and have room for it."""
        taken: list[Batch] = []
        while len(taken) < count:
            number = self._lowest()
            if number < 0:
                break
            targets: list[SiteId] = []
            for site in sorted(set(self._owed) | set(self._asked)):
                if self._take_one(site, number):
                    targets.append(site)
            taken.append(Batch(number, targets))
        return taken

    def _lowest(self) -> int:
        lowest = -1
        for asked in self._asked.values():
            if lowest < 0 or asked.first() < lowest:
                lowest = asked.first()
        for site in self._owed:
            if self._pace(site).has_room() and (lowest < 0 or self._owed[site].first() < lowest):
                lowest = self._owed[site].first()
        return lowest

    def _take_one(self, site: SiteId, number: int) -> bool:
        """Whether this host gets the number now."""
        found = False
        asked = self._asked.get(site)
        if asked is not None and asked.remove(number):
            found = True
            if not asked:
                del self._asked[site]
        owed = self._owed.get(site)
        if owed is not None and owed.contains(number) and (found or self._pace(site).may_ride()):
            found = True
            owed.remove(number)
            self._pace(site).send(number)
            if not owed:
                del self._owed[site]
        return found

    def _pace(self, site: SiteId) -> Pace:
        pace = self._paces.get(site)
        if pace is None:
            pace = Pace(self._window)
            self._paces[site] = pace
        return pace

    def pending(self) -> bool:
        """Whether anything may be sent now."""
        return bool(self._asked) or any(self._pace(site).has_room() for site in self._owed)

    def forget(self, site: SiteId) -> None:
        """The host is no longer served from here; what is under way to it stays so."""
        self._owed.pop(site, None)

    def forget_all(self, site: SiteId) -> None:
        """The host has begun anew: nothing that was sent to it is there."""
        self._owed.pop(site, None)
        self._asked.pop(site, None)
        self._paces.pop(site, None)

    def age(self) -> None:
        """A period of the clock is over."""
        for pace in self._paces.values():
            pace.age()
