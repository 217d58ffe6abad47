"""The one call that checks a trace in this process, wherever its rows are.

Few rows go to the plain definitions, which begin at once; more go to the array kernels, piece by piece. Both give the
same answer (tests/agree).
"""

import pathlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, islice
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tocsin.core.errors import InputError
from tocsin.properties.plain.check import judge_rows
from tocsin.properties.report import Report, chosen_properties
from tocsin.properties.terms import Groups, Patience, Terms
from tocsin.traces.calm import Calm, joined
from tocsin.traces.rows import DROP, RECEIVE, SEND, Row

if TYPE_CHECKING:
    import pyarrow

    from tocsin.properties.audit.executor import Watch

Path = str | PathLike[str]

PLAIN_ROWS_MAX: Final = 2_000  # in files: up to about here plain Python is quicker than making arrays
# In memory, measured on 144 runs of all protocols: plain Python takes as long as there are rows that are no send,
# receive or drop; making arrays takes as long for these as for any other, and importing Arrow 0.2 s once in a process.
NOTED_ROWS_MAX: Final = 5_000
NOTED_AND_PACKET_ROWS_MAX: Final = 100_000
_PACKETS: Final = (SEND, RECEIVE, DROP)
NO_COLUMN: Final = "{path}: expected the columns of a trace (docs/formats.md), found no column `{name}`"


def check(
    source: "Path | Iterable[Path] | Iterable[Row] | pyarrow.Table",
    groups: Groups | None = None,
    *,
    one_clock: bool | None = None,
    properties: Iterable[str] | None = None,
    calm: Calm | None = None,
    patience: Patience | None = None,
) -> Report:
    """Check the properties (all, or those named) of a trace: files or folders by their paths, a table, or rows.

    The rows of each log come in their `order`. `groups`: the members of groups, where no view says it. `one_clock`:
    whether times of different sites can be compared, as in the simulator; `calm`: since when faults were over; unless
    they are given, files and tables say both themselves, and rows say neither. `patience`: what is not owed yet, where
    members are running.
    """
    return check_by(source, Terms(groups or {}, bool(one_clock), patience, calm), one_clock, properties)


def check_by(
    source: "Path | Iterable[Path] | Iterable[Row] | pyarrow.Table",
    terms: Terms,
    one_clock: bool | None = None,
    properties: Iterable[str] | None = None,
    watch: "Watch | None" = None,
) -> Report:
    """The same, by these terms. `watch` hears how many tasks are done, of those known so far."""
    names = chosen_properties(properties)
    if isinstance(source, str | PathLike):
        source = [source]
    if hasattr(source, "column_names"):
        return _check_table(source, terms, one_clock, names)
    items: Iterator[Any] = iter(source)
    first = next(items, None)
    if isinstance(first, str | PathLike):
        return _check_files([str(path) for path in chain([first], items)], terms, one_clock, names, watch)
    rows = _begin(items if first is None else chain([first], items))
    if rows.are_all:
        return judge_rows(rows.taken, terms, names)
    from tocsin.traces.tables import trace_table

    return _check_table(trace_table(chain(rows.taken, items), bool(one_clock)), terms, terms.one_clock, names)


class _Begun(NamedTuple):
    taken: list[Row]
    are_all: bool


def _begin(rows: Iterator[Row]) -> _Begun:
    """The rows, as long as they are few enough for the plain definitions."""
    taken = list(islice(rows, NOTED_ROWS_MAX))
    noted = sum(row.event not in _PACKETS for row in taken) if len(taken) == NOTED_ROWS_MAX else 0
    for row in rows:
        taken.append(row)
        noted += row.event not in _PACKETS
        if noted > NOTED_ROWS_MAX or len(taken) > NOTED_AND_PACKET_ROWS_MAX:
            return _Begun(taken, are_all=False)
    return _Begun(taken, are_all=True)


def _check_files(
    paths: list[str], terms: Terms, one_clock: bool | None, names: list[str], watch: "Watch | None"
) -> Report:
    try:
        small = _check_few_rows(paths, terms, one_clock, names)
    except InputError:
        small = None  # the audit says what is wrong; it also takes the files of a log in any order
    if small is not None:
        return small
    from tocsin.properties.audit.audit import audit, outline
    from tocsin.properties.audit.executor import LocalExecutor
    from tocsin.traces.schema import REQUIRED

    executor = LocalExecutor(watch)
    outlines = outline(paths, executor)
    for each in outlines:
        for name in REQUIRED:
            if name not in each.columns:
                raise InputError(NO_COLUMN.format(path=each.path, name=name))
    if one_clock is not None:
        outlines = [each._replace(one_clock=one_clock) for each in outlines]
    return audit(outlines, executor, terms).report.only(names)


def _check_few_rows(paths: list[str], terms: Terms, one_clock: bool | None, names: list[str]) -> Report | None:
    """The verdicts by the plain definitions, if there are few rows, in files of this machine that say the same of all
    their runs."""
    if any("://" in path for path in paths):
        return None
    from tocsin.traces.files import open_trace
    from tocsin.traces.reader import read_rows, trace_files

    files = trace_files(map(pathlib.Path, paths))
    count = 0
    same_clock = True
    said: set[Calm | None] = set()
    for path in files:
        with open_trace(str(path)) as file:
            count += file.rows
            same_clock &= file.one_clock
            said.add(file.calm)
        if count > PLAIN_ROWS_MAX or (len(said) > 1 and terms.calm is None):
            return None
    known = replace(
        terms,
        one_clock=same_clock if one_clock is None else one_clock,
        calm=joined(said) if terms.calm is None else terms.calm,
    )
    return judge_rows(read_rows(files), known, names)


def _check_table(table: Any, terms: Terms, one_clock: bool | None, names: list[str]) -> Report:
    """The audit of a table, which is heavy to import."""
    from tocsin.properties.audit.tables import judge_table

    return judge_table(table, terms, one_clock, names)
