"""Prove from Python what was delivered: `tocsin.check` in this process, `tocsin.audit` on Spark. Both decide alike."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tocsin.properties import Report
from tocsin.properties import check as check_rows
from tocsin.traces.rows import Row

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]
Groups = Mapping[str, Sequence[str]]


def check(source: "Paths | pyarrow.Table", groups: Groups | None = None) -> Report:
    """Which guarantees held in a trace: files, folders of files, or a table such as `tocsin.simulate(…).trace`.

    `groups`: the members of each group, where no view in the trace says it.
    """
    import pyarrow as pa

    from tocsin.traces.reader import has_one_clock, read_rows
    from tocsin.traces.schema import CLOCK_KEY, ONE_CLOCK

    if isinstance(source, pa.Table):
        one_clock = (source.schema.metadata or {}).get(CLOCK_KEY) == ONE_CLOCK
        return check_rows(_table_rows(source), groups, one_clock=one_clock)
    files = [Path(path) for path in _paths(source)]
    return check_rows(read_rows(files), groups, one_clock=has_one_clock(files))


def audit(paths: Paths, spark: "SparkSession | None" = None, groups: Groups | None = None) -> Report:
    """Which guarantees held in a trace of any size, on Spark.

    `spark`: a session to use, classic or Connect; without one, a local session is started and stopped. The rows of a
    trace that is not sorted are sorted first, by a local session only: elsewhere sort them by run, site and order.
    """
    from tocsin.spark.audit.audit import audit as audit_outlines
    from tocsin.spark.audit.audit import outline
    from tocsin.spark.audit.columns import TraceMap
    from tocsin.spark.audit.executor import SparkExecutor
    from tocsin.spark.audit.sorting import sort_with_spark
    from tocsin.spark.session import given_or_local, is_local_session

    with (
        given_or_local(spark, "tocsin audit") as session,
        tempfile.TemporaryDirectory(prefix="tocsin-audit-") as folder,
    ):

        def sort(files: list[str], rows: int, trace_map: TraceMap) -> list[str]:
            return sort_with_spark(session, files, rows, trace_map, folder)

        executor = SparkExecutor(session)
        outlines = outline(_paths(paths), executor)
        can_sort = sort if is_local_session(session) else None
        return audit_outlines(outlines, executor, groups=groups, sort=can_sort).report


def _paths(paths: Paths) -> list[str]:
    return [fspath(paths)] if isinstance(paths, str | PathLike) else [fspath(path) for path in paths]


def _table_rows(table: Any) -> Iterator[Row]:
    from tocsin.traces.schema import COLUMNS, check_schema

    check_schema(table.schema, "table")
    for batch in table.to_batches():
        for row in batch.to_pylist():
            members = row.get("members")
            values = {name: row.get(name) for name in COLUMNS}
            yield Row(**{**values, "members": None if members is None else tuple(members)})
