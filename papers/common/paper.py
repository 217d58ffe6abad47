"""What the page of a paper is made of: claims with verdicts, charts, tables."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from papers.common.table import Point, Table

AGREES, DIFFERS, NOT_REPRODUCED, NOT_DECIDED = "agrees", "differs", "not reproduced", "not decided"
TOO_WIDE = "the 95 % intervals are wider than what is asked about; more replications would tell"


class Claim(NamedTuple):
    """One sentence, table or figure of a paper, and what became of it."""

    where: str  # in the paper
    says: str
    measured: str  # with interval and replications
    verdict: str
    because: str = ""  # why it differs, with the experiment that shows it; or why it is not decided


class Line(NamedTuple):
    """One line of a chart: measured points with intervals, or a formula."""

    name: str
    points: Sequence[tuple[float, Point]]
    formula: bool = False


class Mark(NamedTuple):
    """A statement of the paper at a place of a chart."""

    text: str
    x: float
    y: float


class Chart(NamedTuple):
    name: str  # of the file
    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    marks: Sequence[Mark] = ()
    x_log: bool = False
    y_log: bool = False
    note: str = ""


class Listing(NamedTuple):
    """A table for people."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


class Section(NamedTuple):
    title: str
    text: str
    claims: Sequence[Claim]
    charts: Sequence[Chart] = ()
    listings: Sequence[Listing] = ()


class Paper(NamedTuple):
    name: str  # of its folder
    title: str  # authors, year, title
    grids: Sequence[str]  # its grid files, whose tables `sections` read by these names
    sections: Sequence[Callable[[Mapping[str, Table]], Section]]  # each reads the tables that it needs


def verdict(holds: bool | None, because: str = "") -> str:
    """A claim that does not hold differs if we know why, and is not reproduced otherwise. None: not decided."""
    if holds is None:
        return NOT_DECIDED
    if holds:
        return AGREES
    return DIFFERS if because else NOT_REPRODUCED


def exact(value: float) -> Point:
    """A point of a formula."""
    return Point(value, 0.0, 0)
