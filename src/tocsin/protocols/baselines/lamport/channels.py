"""Channels: from each site to each other, messages accepted in the order of their places, early ones held meanwhile."""

from collections.abc import Iterable

from tocsin.core.machine import SiteId
from tocsin.core.own_messages import Outstanding
from tocsin.protocols.baselines.lamport.messages import Data


class Channel:
    """What this site knows of one other site: what has come from it, and what it has promised."""

    def __init__(self) -> None:
        self.received = 0  # places below this are accepted, on stable storage
        self.heard = -1  # every message of that site with a stamp at or below this is accepted
        self.claim_stamp = -1  # the newest promise that is not yet covered …
        self.claim_sent = 0  # … because it needs this many accepted
        self.early: dict[int, Data] = {}  # by place, all at or above `received`; lost in a crash, sent again

    def renew(self) -> None:
        """That site has begun anew, and counts from 0 again; what was heard of it stays promised."""
        self.received = 0
        self.claim_stamp = -1
        self.claim_sent = 0
        self.early.clear()

    def hold(self, place: int, data: Data, window: int) -> bool:
        """Keep a message that is new; False for one accepted before or out of all bounds."""
        if place < self.received or place >= self.received + window:
            return False
        self.early[place] = data
        return True

    def take(self) -> Data | None:
        """Accept the next message in order, if it is here."""
        data = self.early.pop(self.received, None)
        if data is not None:
            self.received += 1
            self.heard = max(self.heard, data.stamp)
            self.settle()
        return data

    def promise(self, stamp: int, sent: int) -> None:
        """That site will stamp higher than this, and has sent so many messages here before it said so."""
        if sent > self.received and stamp > self.claim_stamp:
            self.claim_stamp = stamp
            self.claim_sent = sent
        elif sent <= self.received and stamp > self.heard:
            self.heard = stamp

    def settle(self) -> None:
        """Believe the newest promise once everything sent before it is here."""
        if self.claim_stamp >= 0 and self.claim_sent <= self.received:
            self.heard = max(self.heard, self.claim_stamp)
            self.claim_stamp = -1


# For a site that begins anew


def next_place(own: Iterable[Outstanding[Data]], groups: list[list[SiteId]], site: SiteId, following: int) -> int:
    """Of the first message that goes to this site from now on, or goes there again."""
    for outstanding in own:
        if site in outstanding.waiting:
            data = outstanding.data
            return data.places[groups[data.group].index(site)]
    return following


def over_for(
    own: Iterable[Outstanding[Data]], groups: list[list[SiteId]], site: SiteId, sent: list[int], first: int
) -> tuple[tuple[int, int, int, int], ...]:
    """For `Account.over`: own messages, so many to each group and the first with this number, that this site has
    acknowledged: all before those that are sent to it again."""
    over = list(sent)
    for outstanding in own:
        if site in outstanding.waiting:
            over[outstanding.data.group] -= 1
    told = [group for group in range(len(over)) if site in groups[group] and over[group] > 0]
    return tuple([(group, first, 0, over[group]) for group in told])
