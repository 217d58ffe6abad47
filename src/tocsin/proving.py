"""Prove from Python what was delivered: `tocsin.check` in this process, `tocsin.audit` on Spark. Both decide alike."""

import contextlib
import tempfile
from collections.abc import Collection, Iterable
from datetime import datetime
from os import PathLike, fspath
from typing import TYPE_CHECKING

from tocsin.judging import judged_by
from tocsin.live.storage.data_folders import opened
from tocsin.properties import Report, check_by
from tocsin.properties.terms import Groups

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import SparkSession

Paths = str | PathLike[str] | Iterable[str | PathLike[str]]


def check(
    source: "Paths | pyarrow.Table",
    groups: Groups | None = None,
    *,
    calm_since: int | datetime | None = None,
    down: Collection[str] = (),
    patience: float | None = None,
) -> Report:
    """Which guarantees held: in traces, journals and data folders of live groups (running or stopped), or in a table
    such as `tocsin.simulate(…).trace`.

    `groups`: the members of each group, where no view in the trace says it; members of live groups say it themselves.
    `calm_since`: when faults were over, in microseconds as `time_us` or as a time, if the trace does not say it;
    `down`: sites that are down or cut off for good. Without the first `settled` is not checkable. `patience`: of
    running members, what is younger than so many seconds is not owed yet (5 in data folders, if nothing is said).
    """
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return check_by(source, judged_by((), groups, calm_since, down, patience))
    paths = _paths(source)
    terms = judged_by(paths, groups, calm_since, down, patience)
    with opened(paths) as files:
        return check_by(files, terms)


def audit(
    paths: Paths,
    spark: "SparkSession | None" = None,
    groups: Groups | None = None,
    *,
    calm_since: int | datetime | None = None,
    down: Collection[str] = (),
    patience: float | None = None,
) -> Report:
    """Which guarantees held in traces of any size, journals and data folders of live groups, on Spark; the arguments of
    `check`, and

    `spark`: a session to use, classic or Connect; without one, a local session is started and stopped. The rows of a
    trace that is not sorted are sorted first, by a local session only: elsewhere sort them by run, site and order.
    """
    from tocsin.properties.audit.audit import audit as audit_outlines
    from tocsin.properties.audit.audit import outline
    from tocsin.properties.audit.columns import TraceMap
    from tocsin.spark.audit.executor import SparkExecutor
    from tocsin.spark.audit.sorting import sort_with_spark
    from tocsin.spark.session import given_or_local, is_local_session

    with (
        given_or_local(spark, "tocsin audit") as session,
        tempfile.TemporaryDirectory(prefix="tocsin-audit-") as folder,
        contextlib.ExitStack() as stack,
    ):
        terms = judged_by(_paths(paths), groups, calm_since, down, patience)
        files = stack.enter_context(opened(_paths(paths)))

        def sort(files: list[str], rows: int, trace_map: TraceMap) -> list[str]:
            return sort_with_spark(session, files, rows, trace_map, folder)

        executor = SparkExecutor(session)
        outlines = outline(files, executor)
        can_sort = sort if is_local_session(session) else None
        return audit_outlines(outlines, executor, terms, sort=can_sort).report


def _paths(paths: Paths) -> list[str]:
    return [fspath(paths)] if isinstance(paths, str | PathLike) else [fspath(path) for path in paths]
