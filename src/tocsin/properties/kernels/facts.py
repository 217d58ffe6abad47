"""What is known about a run besides its messages: who has a log, is it whole, who is up, which views there were."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tocsin.properties.bad_rows import HIGHEST, LOWEST, NOT_FIRST, bad_row, describe_hole
from tocsin.properties.gaps import Gap
from tocsin.properties.kernels.arrays import NONE, Codes, Flags
from tocsin.properties.kernels.encode import BROADCAST, DELIVER, ROLLBACK, LogPart, View, unsorted
from tocsin.properties.kernels.streams import Stream
from tocsin.properties.log_names import log_name
from tocsin.properties.obstacles import (
    LOST_VIEWS,
    NO_BROADCASTS,
    NO_CALM,
    NO_RECEIPTS,
    NO_VIEWS,
    TOO_EARLY,
    tell_shortening,
    tell_truncation,
)
from tocsin.properties.terms import Terms

# They depend on who is a member, and views say who is.
MEMBERSHIP_PROPERTIES = ("validity", "agreement", "uniform_agreement", "safe", "view_synchrony", "settled")
# What retention has dropped may explain away what they miss.
NEED_DROPPED_ROWS = ("integrity", "agreement", "uniform_agreement", "causal", "safe", "settled")
ALL = "all"  # the group of every site of the run, unless something says otherwise


class Spot(NamedTuple):
    """Where a row is: enough to find it again."""

    site: str
    order: int
    incarnation: str = ""


@dataclass(slots=True)
class SiteFacts:
    """One log, from all its parts, joined in order."""

    site: str
    incarnation: str = ""
    is_last: bool = True  # of the site's incarnations; the others are over: their disks are gone
    is_later: bool = False  # the site had an earlier incarnation
    first_us: int = NONE  # of its first row and of its last
    last_us: int = NONE
    rows: int = 0
    next_order: int = 0  # that the next row should have
    hole: str | None = None  # the first jump in its orders: then it is truncated
    is_shortened: bool = False  # retention has dropped its older rows
    up: bool = True
    left: bool = False  # the last crash, recover or leave is a leave
    moved_us: int | None = None  # when that was
    interruptions: list[int] = field(default_factory=list)  # orders of crash and leave rows
    views: list[View] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)  # what it was told that it will never get
    lost: list[tuple[Stream, int]] = field(default_factory=list)  # own broadcasts that were given up
    active: set[str] = field(default_factory=set)  # groups that it broadcast to or delivered in
    delivered: set[str] = field(default_factory=set)  # groups that it delivered in
    groups: set[str] = field(default_factory=set)  # the same, and those in which it rolled back
    reached: dict[Stream, int] = field(default_factory=dict)  # highest number delivered behind the last rollback
    has_broadcasts: bool = False
    has_deliveries: bool = False
    has_receipts: bool = False
    lost_views: bool = False  # there were view rows, and no column says what they mean

    @property
    def log(self) -> str:
        """The name of the log."""
        return log_name(self.site, self.incarnation) if self.incarnation else self.site

    def spot(self, order: int) -> Spot:
        return Spot(self.site, order, self.incarnation)

    def join(self, part: "PartFacts") -> None:
        """Add the next part of the log."""
        if part.retained_at is not None:
            if self.rows:
                raise bad_row(part.run, part.site, part.retained_at, NOT_FIRST)
            self.is_shortened = True
            self.next_order = part.retained_at
        if part.first_order < self.next_order:
            raise unsorted(part.run, part.site, part.first_order, self.next_order - 1)
        may_jump = self.is_shortened and self.rows == 1  # right behind the row that says what was dropped
        if self.hole is None and part.first_order != self.next_order and not may_jump:
            self.hole = describe_hole(self.next_order, part.first_order)
        if self.hole is None:
            self.hole = part.hole
        if self.rows == 0:
            self.first_us = part.first_us
        self.last_us = part.last_us
        self.rows += part.rows
        self.next_order = part.next_order
        if part.up is not None:
            self.up, self.left, self.moved_us = part.up, part.left, part.moved_us
        self.interruptions += part.interruptions
        self.views += part.views
        self.gaps += part.gaps
        self.lost += part.lost
        self.active |= part.active
        self.delivered |= part.delivered
        self.groups |= part.groups
        if part.has_rollbacks:
            self.reached.clear()
        for stream, seqno in part.reached.items():
            self.reached[stream] = max(seqno, self.reached.get(stream, seqno))
        self.has_broadcasts |= part.has_broadcasts
        self.has_deliveries |= part.has_deliveries
        self.has_receipts |= part.has_receipts
        self.lost_views |= part.lost_views


@dataclass(slots=True)
class PartFacts:
    """The same of one part."""

    run: str
    site: str
    incarnation: str
    log: str
    first_us: int
    last_us: int
    rows: int
    first_order: int
    next_order: int
    hole: str | None
    retained_at: int | None
    up: bool | None
    left: bool
    moved_us: int | None
    interruptions: list[int]
    views: list[View]
    gaps: list[Gap]
    lost: list[tuple[Stream, int]]
    active: set[str]
    delivered: set[str]
    groups: set[str]
    reached: dict[Stream, int]
    has_rollbacks: bool
    has_broadcasts: bool
    has_deliveries: bool
    has_receipts: bool
    lost_views: bool


def part_facts(part: LogPart) -> PartFacts:
    broadcasts = part.event == BROADCAST
    deliveries = part.event == DELIVER
    acted = broadcasts | deliveries
    used = _groups(part.streams, part.stream)
    rollbacks = np.flatnonzero(part.event == ROLLBACK)
    return PartFacts(
        run=part.run,
        site=part.site,
        incarnation=part.incarnation,
        log=part.log,
        first_us=part.first_us,
        last_us=part.last_us,
        rows=part.rows,
        first_order=part.first_order,
        next_order=part.next_order,
        hole=part.hole,
        retained_at=part.retained_at,
        up=part.up,
        left=part.left,
        moved_us=part.moved_us,
        interruptions=part.interruptions,
        views=part.views,
        gaps=part.gaps,
        lost=part.lost,
        active=used if acted.all() else _groups(part.streams, part.stream[acted]),
        delivered=used if deliveries.all() else _groups(part.streams, part.stream[deliveries]),
        groups=used,
        reached=_reached(part, deliveries, int(rollbacks[-1]) + 1 if len(rollbacks) else 0),
        has_rollbacks=len(rollbacks) > 0,
        has_broadcasts=bool(broadcasts.any()),
        has_deliveries=bool(deliveries.any()),
        has_receipts=len(part.receipt_stream) > 0,
        lost_views=part.lost_views,
    )


def _reached(part: LogPart, deliveries: Flags, start: int) -> dict[Stream, int]:
    """By stream: the highest number delivered from a row on."""
    highest = np.full(len(part.streams), LOWEST)
    rows = slice(start, None) if deliveries.all() else np.flatnonzero(deliveries[start:]) + start
    np.maximum.at(highest, part.stream[rows], part.seqno[rows])
    return {part.streams[stream]: int(highest[stream]) for stream in np.flatnonzero(highest > LOWEST).tolist()}


def _groups(streams: list[Stream], numbers: Codes) -> set[str]:
    used = np.flatnonzero(np.bincount(numbers, minlength=1)).tolist() if len(numbers) else []
    return {group for group in (streams[number][0] for number in used) if group is not None}


class RunFacts:
    """One run. Truncated logs are known by name only: nothing that they say counts."""

    def __init__(self, run: str, sites: Iterable[SiteFacts], terms: Terms) -> None:
        self.run = run
        self.given = {group: frozenset(names) for group, names in terms.groups.items()}
        self.one_clock = terms.one_clock
        self.patience = terms.patience
        self.calm = terms.calm_in(run)
        self.whole: list[SiteFacts] = []  # by site and incarnation, from the first to the last
        self.truncated: dict[str, str] = {}  # site: the hole in the log of its last incarnation
        self._hole: tuple[str, str, int] | None = None  # the first: its site, and how many logs have one
        for site in _in_order(sites):
            if site.hole is None:
                self.whole.append(site)
            else:
                first, hole, count = self._hole or (site.site, site.hole, 0)
                self._hole = (first, hole, count + 1)
                if site.is_last:
                    self.truncated[site.site] = site.hole
        self.shortened = [site.site for site in self.whole if site.is_shortened]
        self.logs = {site.log: number for number, site in enumerate(self.whole)}  # by name of the log
        self.index = {
            site.site: number for number, site in enumerate(self.whole) if site.is_last
        }  # by name of the site
        self.sites = frozenset(site.site for site in self.whole)
        self.has_broadcasts = any(site.has_broadcasts for site in self.whole)
        self.has_deliveries = any(site.has_deliveries for site in self.whole)
        self.has_receipts = any(site.has_receipts for site in self.whole)
        self.has_views = any(site.views for site in self.whole)
        self.lost_views = any(site.lost_views for site in self.whole)
        self.groups = sorted(set[str]().union(*(site.groups for site in self.whole)))

    def truncation(self) -> str | None:
        """The obstacle that truncated logs are, in words."""
        return None if self._hole is None else tell_truncation(self.run, *self._hole)

    def has_truncated(self) -> bool:
        return self._hole is not None

    # Patience

    def end_us(self, site: str) -> int:
        """When the log of a site was taken; by its last row, if nothing says it (by the run's, if it has none)."""
        if self.patience is not None and self.patience.end_us is not None:
            return self.patience.end_us
        if site in self.index:
            return self.whole[self.index[site]].last_us
        return max((each.last_us for each in self.whole), default=0)

    def old_us(self, site: str) -> int:
        """What happened later may not be owed to a site yet: it is still running."""
        if self.patience is None or (site in self.index and self.whole[self.index[site]].left):
            return HIGHEST
        return self.end_us(site) - self.patience.us

    # Calm

    def calm_us(self) -> int:
        """The time to settle counts from here: faults were over, and nobody came or went."""
        assert self.calm is not None
        return max([self.calm.since_us, *(site.moved_us for site in self.whole if site.moved_us is not None)])

    def connected(self) -> dict[str, int]:
        """The logs of those who are up and connected, by site: of them something is asked."""
        assert self.calm is not None
        return {
            site: log
            for site, log in self.index.items()
            if self.whole[log].up and not self.whole[log].left and site not in self.calm.down
        }

    def is_early(self) -> bool:
        """Whether a log ends before the group had its time to settle."""
        if self.calm is None:
            return False
        calm_us, due_us = self.calm_us(), self.calm.due_us
        sites = self.connected()
        if sites and due_us is not None and due_us < calm_us:
            return True
        return self.patience is not None and any(self.end_us(site) < calm_us + self.calm.bound_us for site in sites)

    # What the run lacks

    def is_unknowable(self, name: str) -> bool:
        """Whether even what looks like a violation may be none."""
        return self.lost_views and name in MEMBERSHIP_PROPERTIES

    def obstacle(self, name: str) -> str | None:
        """What the run lacks for a verdict on a property (docs/guarantees.md, section 8)."""
        if self.is_unknowable(name):
            return LOST_VIEWS.format(run=self.run)
        if self.has_truncated():
            return self.truncation()
        if name == "settled" and self.calm is None:
            return NO_CALM.format(run=self.run)
        if name == "settled" and self.calm is not None and self.is_early():
            return TOO_EARLY.format(run=self.run, bound_us=self.calm.bound_us, from_us=self.calm_us())
        if self.shortened and name in NEED_DROPPED_ROWS:
            return tell_shortening(self.run, self.shortened[0], len(self.shortened))
        if not self.has_deliveries:
            return None
        if name in ("integrity", "validity", "causal") and not self.has_broadcasts:
            return NO_BROADCASTS.format(run=self.run)
        if name == "safe" and not self.has_receipts:
            return NO_RECEIPTS.format(run=self.run)
        if name == "view_synchrony" and not self.has_views:
            return NO_VIEWS.format(run=self.run)
        return None


def join_facts(run: str, parts: Iterable[PartFacts], terms: Terms) -> RunFacts:
    """The facts of a run, from those of the parts of its logs; the parts of a log come in order."""
    sites: dict[str, SiteFacts] = {}
    for part in parts:
        sites.setdefault(part.log, SiteFacts(part.site, part.incarnation)).join(part)
    return RunFacts(run, sites.values(), terms)


def _in_order(sites: Iterable[SiteFacts]) -> list[SiteFacts]:
    """By site and, of one site, from its first incarnation to its last. All but the last are over."""
    every = sorted(sites, key=lambda each: (each.site, each.first_us, each.incarnation))
    for site, following in pairwise(every):
        if site.site == following.site:
            site.is_last = site.up = site.left = False
            following.is_later = True
    return every
