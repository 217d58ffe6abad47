"""The one call that checks a trace in this process, wherever its rows are.

Few rows go to the plain definitions, which begin at once; more go to the array kernels, piece by piece. Both give the
same answer (tests/agree).
"""

import pathlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from os import PathLike
from typing import TYPE_CHECKING, Any, Final

from tocsin.core.errors import InputError
from tocsin.properties.plain.check import check_rows
from tocsin.properties.report import Report, chosen_properties
from tocsin.traces.rows import Row

if TYPE_CHECKING:
    import pyarrow

    from tocsin.properties.audit.executor import Watch

Path = str | PathLike[str]

PLAIN_ROWS_MAX: Final = 2_000  # up to about here plain Python is quicker than making arrays
NO_COLUMN: Final = "{path}: expected the columns of a trace (docs/formats.md), found no column `{name}`"


def check(
    source: "Path | Iterable[Path] | Iterable[Row] | pyarrow.Table",
    groups: Mapping[str, Sequence[str]] | None = None,
    *,
    one_clock: bool | None = None,
    properties: Iterable[str] | None = None,
    watch: "Watch | None" = None,
) -> Report:
    """Check the properties (all, or those named) of a trace: files or folders by their paths, a table, or rows.

    The rows of each (run, site) come in their `order`. `groups`: the members of groups, where no view says it.
    `one_clock`: whether times of different sites can be compared, as in the simulator; unless it is given, files and
    tables say it themselves, and rows do not have one. `watch` hears how many tasks are done, of those known so far.
    """
    names = chosen_properties(properties)
    if isinstance(source, str | PathLike):
        source = [source]
    if hasattr(source, "column_names"):
        return _check_table(source, groups, one_clock, names)
    items: Iterator[Any] = iter(source)
    first = list(islice(items, PLAIN_ROWS_MAX + 1))
    if first and isinstance(first[0], str | PathLike):
        return _check_files([str(path) for path in first], groups, one_clock, names, watch)
    if len(first) <= PLAIN_ROWS_MAX:
        return check_rows(first, groups, one_clock=bool(one_clock), properties=names)
    from tocsin.traces.tables import trace_table

    return _check_table(trace_table(chain(first, items), bool(one_clock)), groups, bool(one_clock), names)


def _check_files(
    paths: list[str],
    groups: Mapping[str, Sequence[str]] | None,
    one_clock: bool | None,
    names: list[str],
    watch: "Watch | None",
) -> Report:
    try:
        small = _check_few_rows(paths, groups, one_clock, names)
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
    return audit(outlines, executor, groups=groups).report.only(names)


def _check_few_rows(
    paths: list[str], groups: Mapping[str, Sequence[str]] | None, one_clock: bool | None, names: list[str]
) -> Report | None:
    """The verdicts by the plain definitions, if there are few rows, in files of this machine."""
    if any("://" in path for path in paths):
        return None
    from tocsin.traces.files import open_trace
    from tocsin.traces.reader import read_rows, trace_files

    files = trace_files(map(pathlib.Path, paths))
    count = 0
    same_clock = True
    for path in files:
        with open_trace(str(path)) as file:
            count += file.rows
            same_clock &= file.one_clock
        if count > PLAIN_ROWS_MAX:
            return None
    one_clock = same_clock if one_clock is None else one_clock
    return check_rows(read_rows(files), groups, one_clock=one_clock, properties=names)


def _check_table(
    table: Any, groups: Mapping[str, Sequence[str]] | None, one_clock: bool | None, names: list[str]
) -> Report:
    from tocsin.properties.audit.tables import audit_table

    return audit_table(table, groups or {}, one_clock, names)
