"""`tocsin audit PATH…`: which guarantees a trace or a live group kept, of any size, on Spark, and the smallest evidence
where it did not.
"""

import argparse
import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tocsin.cli.progress import Bar
from tocsin.cli.verdicts import Expected, add_arguments, print_report, terms_of, write_witnesses
from tocsin.core.errors import EnvironmentMissing, InputError
from tocsin.live.storage.data_folders import is_data_folder, opened
from tocsin.properties.audit.audit import AuditResult, audit, outline
from tocsin.properties.audit.columns import TraceMap, read_trace_map
from tocsin.properties.audit.executor import Executor, LocalExecutor
from tocsin.properties.audit.pieces import find_files
from tocsin.spark.audit.executor import SparkExecutor
from tocsin.spark.audit.page import write_page
from tocsin.spark.audit.settings import SCRATCH, limits_from_settings
from tocsin.spark.audit.sorting import sort_with_spark
from tocsin.spark.audit.surveying import survey_result
from tocsin.spark.session import SessionOptions, parse_settings, start_session
from tocsin.spark.watching import watched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUTLINED_HERE_MAX = 256  # files whose footers are read before Spark starts, a millisecond each

EXAMPLES = """\
examples:
  tocsin audit out                                       every property, by all traces below out
  tocsin audit data                                      what the members of a live group noted, running or not
  tocsin audit out --expect agreed                       exit 1 unless that level holds
  tocsin audit out --report out.html                     a page with plots and the witnesses drawn
  tocsin audit theirs --map theirs.toml                  the log of another system (docs/audit.md)
  tocsin audit s3://bucket/traces --master spark://host:7077 \\
    --spark spark.executor.memory=8g
  tocsin audit out --master sc://host                    through Spark Connect

The same answer as `tocsin check`, for traces of any size. docs/guarantees.md says what each property means.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="traces, journals, data folders of live groups; addresses too"
    )
    add_arguments(parser)
    parser.add_argument("--map", type=Path, metavar="FILE", help="which columns and events of theirs are which of ours")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write a page with plots and witnesses (HTML)")
    parser.add_argument(
        "--master", metavar="URL", help="a Spark master, or sc://… for Spark Connect (default: this machine)"
    )
    parser.add_argument("--spark", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark's")


def run(arguments: argparse.Namespace) -> int:
    expected = Expected(arguments)  # what is bad is refused before the work, not after it
    if arguments.report is not None and not arguments.report.absolute().parent.is_dir():
        raise InputError(f"{arguments.report}: cannot be written: no such folder")
    result = _Call(arguments).run()
    if arguments.witnesses is not None:
        write_witnesses(result.report, arguments.witnesses)
    if arguments.json:
        print(json.dumps(result.report.to_json_object()))
    else:
        print_report(result.report, arguments.expect)
    return expected.judge("audit", result.report)


class _Call:
    """One call of the command, its words understood."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self._paths: list[str] = arguments.paths
        self._page: Path | None = arguments.report
        self._expected: str | None = arguments.expect
        self._terms = terms_of(arguments)
        self._trace_map = TraceMap() if arguments.map is None else read_trace_map(arguments.map)
        self._options = SessionOptions(arguments.master, parse_settings(arguments.spark), "tocsin audit")
        self._limits = limits_from_settings(self._options.settings)

    def run(self) -> AuditResult:
        """The audit, and the page about it if one was asked for."""
        with opened(self._paths, self._shared()) as files:
            return self._audit(files)

    def _audit(self, files: list[str]) -> AuditResult:
        outlines = None
        if self._options.is_local and len(find_files(files)) <= OUTLINED_HERE_MAX:
            outlines = outline(files, LocalExecutor(), self._trace_map)
        with Bar("auditing", 1.0) as bar:
            bar.show(0.0, "starting Spark")
            session = start_session(self._options)
            try:
                with watched(session, lambda done, known: bar.show(done / max(1, known), f"{done} of {known} tasks")):
                    executor: Executor = SparkExecutor(session)
                    if outlines is None:
                        outlines = outline(files, executor, self._trace_map)
                    with self._scratch() as scratch:
                        result = audit(
                            outlines,
                            executor,
                            self._terms,
                            trace_map=self._trace_map,
                            limits=self._limits,
                            sort=lambda files, rows, trace_map: _sort(session, files, rows, trace_map, scratch),
                        )
                        if self._page is not None:
                            surveyed = survey_result(executor, result, self._limits)
                            write_page(self._page, self._paths, result.report, surveyed, self._expected)
                        return result
            finally:
                if not self._options.is_local:  # a local one ends with this process, a second sooner
                    session.stop()

    def _shared(self) -> Path | None:
        """Where the newest rows of live members go for workers elsewhere; None if there are no such rows or workers."""
        if self._options.is_local or not any(map(is_data_folder, self._paths)):
            return None
        given = Path(self._options.settings.get(SCRATCH, ""))
        if SCRATCH not in self._options.settings or not given.is_dir():
            raise EnvironmentMissing(
                "the newest rows of a data folder are written for the workers: name a folder of this machine that all "
                f"share, --spark {SCRATCH}=…"
            )
        return given

    @contextlib.contextmanager
    def _scratch(self) -> Iterator[str | None]:
        """A folder for a sorted copy of the trace, if this call knows one that all workers share."""
        given = self._options.settings.get(SCRATCH)
        if given is not None:
            yield given
        elif self._options.is_local:
            from pyspark import SparkFiles

            yield tempfile.mkdtemp(dir=SparkFiles.getRootDirectory())  # ends with Spark, however that ends
        else:
            yield None


def _sort(session: "SparkSession", files: list[str], rows: int, trace_map: TraceMap, scratch: str | None) -> list[str]:
    if scratch is None:
        raise EnvironmentMissing(
            f"the trace is not sorted: name a folder that all workers share, --spark {SCRATCH}=…, "
            "or sort it by run, site and order"
        )
    return sort_with_spark(session, files, rows, trace_map, scratch)
