"""What is known about a run besides its messages: who has a log, is it whole, who is up, which views there were."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tocsin.properties.bad_rows import NOT_FIRST, bad_row, describe_hole
from tocsin.properties.kernels.arrays import Codes
from tocsin.properties.kernels.encode import BROADCAST, DELIVER, LogPart, Stream, View, unsorted
from tocsin.properties.obstacles import (
    LOST_VIEWS,
    NO_BROADCASTS,
    NO_RECEIPTS,
    NO_VIEWS,
    tell_shortening,
    tell_truncation,
)

# They depend on who is a member, and views say who is.
MEMBERSHIP_PROPERTIES = ("validity", "agreement", "uniform_agreement", "safe", "view_synchrony")
# What retention has dropped may explain away what they miss.
NEED_DROPPED_ROWS = ("integrity", "agreement", "uniform_agreement", "causal", "safe")
ALL = "all"  # the group of every site of the run, unless something says otherwise


@dataclass(slots=True)
class SiteFacts:
    """One site's log, from all its parts, joined in order."""

    site: str
    rows: int = 0
    next_order: int = 0  # that the next row should have
    hole: str | None = None  # the first jump in its orders: then it is truncated
    is_shortened: bool = False  # retention has dropped its older rows
    up: bool = True
    left: bool = False  # the last crash, recover or leave is a leave
    interruptions: list[int] = field(default_factory=list)  # orders of crash and leave rows
    views: list[View] = field(default_factory=list)
    active: set[str] = field(default_factory=set)  # groups that it broadcast to or delivered in
    groups: set[str] = field(default_factory=set)  # the same, and those in which it rolled back
    has_broadcasts: bool = False
    has_deliveries: bool = False
    has_receipts: bool = False
    lost_views: bool = False  # there were view rows, and no column says what they mean

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
        self.rows += part.rows
        self.next_order = part.next_order
        if part.up is not None:
            self.up, self.left = part.up, part.left
        self.interruptions += part.interruptions
        self.views += part.views
        self.active |= part.active
        self.groups |= part.groups
        self.has_broadcasts |= part.has_broadcasts
        self.has_deliveries |= part.has_deliveries
        self.has_receipts |= part.has_receipts
        self.lost_views |= part.lost_views


@dataclass(slots=True)
class PartFacts:
    """The same of one part."""

    run: str
    site: str
    rows: int
    first_order: int
    next_order: int
    hole: str | None
    retained_at: int | None
    up: bool | None
    left: bool
    interruptions: list[int]
    views: list[View]
    active: set[str]
    groups: set[str]
    has_broadcasts: bool
    has_deliveries: bool
    has_receipts: bool
    lost_views: bool


def part_facts(part: LogPart) -> PartFacts:
    broadcasts = part.event == BROADCAST
    deliveries = part.event == DELIVER
    acted = broadcasts | deliveries
    used = _groups(part.streams, part.stream)
    return PartFacts(
        run=part.run,
        site=part.site,
        rows=part.rows,
        first_order=part.first_order,
        next_order=part.next_order,
        hole=part.hole,
        retained_at=part.retained_at,
        up=part.up,
        left=part.left,
        interruptions=part.interruptions,
        views=part.views,
        active=used if acted.all() else _groups(part.streams, part.stream[acted]),
        groups=used,
        has_broadcasts=bool(broadcasts.any()),
        has_deliveries=bool(deliveries.any()),
        has_receipts=len(part.receipt_stream) > 0,
        lost_views=part.lost_views,
    )


def _groups(streams: list[Stream], numbers: Codes) -> set[str]:
    used = np.flatnonzero(np.bincount(numbers, minlength=1)).tolist() if len(numbers) else []
    return {group for group in (streams[number][0] for number in used) if group is not None}


class RunFacts:
    """One run. Truncated logs are known by name only: nothing that they say counts."""

    def __init__(
        self, run: str, sites: Iterable[SiteFacts], groups: Mapping[str, Sequence[str]], one_clock: bool
    ) -> None:
        self.run = run
        self.given = {group: frozenset(names) for group, names in groups.items()}
        self.one_clock = one_clock
        self.whole: list[SiteFacts] = []  # by name
        self.truncated: dict[str, str] = {}  # site: its hole
        for site in sorted(sites, key=lambda each: each.site):
            if site.hole is None:
                self.whole.append(site)
            else:
                self.truncated[site.site] = site.hole
        self.shortened = [site.site for site in self.whole if site.is_shortened]
        self.index = {site.site: number for number, site in enumerate(self.whole)}
        self.has_broadcasts = any(site.has_broadcasts for site in self.whole)
        self.has_deliveries = any(site.has_deliveries for site in self.whole)
        self.has_receipts = any(site.has_receipts for site in self.whole)
        self.has_views = any(site.views for site in self.whole)
        self.lost_views = any(site.lost_views for site in self.whole)
        self.groups = sorted(set[str]().union(*(site.groups for site in self.whole)))

    def truncation(self) -> str | None:
        """The obstacle that truncated logs are, in words."""
        if not self.truncated:
            return None
        site, hole = next(iter(self.truncated.items()))
        return tell_truncation(self.run, site, hole, len(self.truncated))

    def is_unknowable(self, name: str) -> bool:
        """Whether even what looks like a violation may be none."""
        return self.lost_views and name in MEMBERSHIP_PROPERTIES

    def obstacle(self, name: str) -> str | None:
        """What the run lacks for a verdict on a property (docs/guarantees.md, section 7)."""
        if self.is_unknowable(name):
            return LOST_VIEWS.format(run=self.run)
        if self.truncated:
            return self.truncation()
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


def join_facts(run: str, parts: Iterable[PartFacts], groups: Mapping[str, Sequence[str]], one_clock: bool) -> RunFacts:
    """The facts of a run, from those of the parts of its logs; the parts of a log come in order."""
    sites: dict[str, SiteFacts] = {}
    for part in parts:
        sites.setdefault(part.site, SiteFacts(part.site)).join(part)
    return RunFacts(run, sites.values(), groups, one_clock)
