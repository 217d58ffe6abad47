"""The query of a watch: rows of all members come in batches, a report goes out after each.

`foreachBatch` and not a stateful operator: the state is one object for a run (all its sites are compared), it is kept
in one file that is replaced whole, and a trigger takes a quarter of the time that Spark's state store needs
(docs/spark-streams.md). Tasks encode the rows where they lie; what goes through the driver are a few arrays, without
payloads and names, and what they leave there is bounded.
"""

import json
import pickle
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tocsin.core.machine import FIRST_INCARNATION
from tocsin.live.storage.identity import is_running
from tocsin.properties.audit.tasks import spot_of, trace_row
from tocsin.properties.kernels.facts import Spot
from tocsin.properties.report import Report
from tocsin.properties.terms import Terms
from tocsin.properties.watch.run_watch import HELD_ROWS_MAX
from tocsin.spark.streams.columns import TRACE_ROWS
from tocsin.spark.streams.members import Members, Share, folders_of
from tocsin.spark.streams.options import PARTS
from tocsin.spark.streams.ranges import Reading, read_shares
from tocsin.spark.watch.state_file import StateFile
from tocsin.traces.rows import Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH_ROWS: Final = 600_000  # of a trigger; benchmarks/streams
POLL_SECONDS: Final = 0.1


class Told(NamedTuple):
    """A report, and when it was made."""

    at_us: int
    lag_s: float
    report: Report

    def line(self) -> dict[str, Any]:
        """As `--json` prints it."""
        verdicts = {name: verdict.to_json_object() for name, verdict in self.report.properties.items()}
        return {"at_us": self.at_us, "rows": self.report.rows, "lag_s": self.lag_s, "properties": verdicts}


class Watching:
    """One query. `terms` says by what is judged, each time anew: what is young is not owed yet."""

    def __init__(
        self,
        session: "SparkSession",
        paths: list[str],
        terms: Callable[[], Terms],
        tell: Callable[[Told], None],
        checkpoint: Path,
        held_max: int = HELD_ROWS_MAX,
    ) -> None:
        self._session = session
        self._paths = paths
        self._terms = terms
        self._tell = tell
        self._checkpoint = checkpoint
        self._file = StateFile(checkpoint)
        self._watch, self._batch = self._file.load(held_max)
        self._folders = folders_of(paths, None)
        self._members = Members(self._folders, with_aside=True)
        self._lock = threading.Lock()
        self._told_at = 0.0
        self.last: Told | None = None
        self.caught_up_since: float | None = None  # everything there was has been read

    def start(self, every_seconds: float | None) -> Any:
        """The running query; without a time between triggers it reads what is there now, and ends."""
        stream = self._session.readStream.format("tocsin").option("rows", PARTS)
        stream = stream.option("paths", json.dumps(self._paths)).option("maxRecordsPerBatch", str(BATCH_ROWS))
        writing = stream.load().writeStream.foreachBatch(self._take)
        writing = writing.option("checkpointLocation", str(self._checkpoint / "query"))
        if every_seconds is None:
            return writing.trigger(availableNow=True).start()
        return writing.trigger(processingTime=f"{every_seconds:g} seconds").start()

    def _take(self, rows: "DataFrame", batch: int) -> None:
        with self._lock:
            if batch <= self._batch:
                return  # it is in the state already
            terms = self._terms()
            parts = [pickle.loads(part.as_py()) for part in rows.toArrow().column("part")]
            self._watch.add_parts(parts, terms)
            self._watch.close(terms)
            told = self._report(terms, final=False)
            self._batch = batch
            self._file.save(self._watch, batch)
            self._tell_it(told)

    def tick(self, every_seconds: float) -> None:
        """Say how things stand if no batch has come for a while: what is overdue becomes late without any rows."""
        with self._lock:
            if time.monotonic() - self._told_at >= every_seconds:
                self._tell_it(self._report(self._terms(), final=False))

    def finish(self, tell: bool = True) -> Told:
        """The verdicts at the end."""
        with self._lock:
            told = self._report(self._terms(), final=True)
            if tell:
                self._tell_it(told)
            return told

    def is_over(self, seconds: float) -> bool:
        """Whether no member has run, and nothing was left to read, for so long."""
        since = self.caught_up_since
        if since is None or time.monotonic() - since < seconds:
            return False
        return not any(is_running(folder) for folder in self._folders)

    def _tell_it(self, told: Told) -> None:
        self._told_at = time.monotonic()
        self.last = told
        self._tell(told)

    def _report(self, terms: Terms, final: bool) -> Told:
        now_us = time.time_ns() // 1000
        lag_us = self._lag_us(now_us)
        if lag_us == 0:
            self.caught_up_since = self.caught_up_since or time.monotonic()
        else:
            self.caught_up_since = None
            if not final and terms.patience is not None:
                terms = replace(
                    terms, patience=terms.patience._replace(end_us=None)
                )  # logs end where they were read to
        report = self._watch.report(terms, self._fetch, final=final, caught_up=lag_us == 0)
        return Told(now_us, round(lag_us / 1e6, 3), report)

    def _lag_us(self, now_us: int) -> int:
        """How old the oldest rows are that were not read yet, at least."""
        self._members.look()
        lag_us = 0
        for key, (_, end) in self._members.logs().items():
            run, site, number = key.rsplit("/", 2)
            incarnation = number if int(number) > FIRST_INCARNATION else ""  # as rows have it
            logs = self._watch.runs[run].logs.values() if run in self._watch.runs else ()
            own = [log for log in logs if (log.site, log.incarnation) == (site, incarnation)]
            if not own or own[0].next_order < end:
                lag_us = max(lag_us, now_us - own[0].last_us if own else 1, 1)
        return lag_us

    def _fetch(self, run: str, spots: list[Spot]) -> dict[Spot, Row]:
        """Rows of witnesses, where they lie."""
        reading = Reading((), TRACE_ROWS, (), False)
        wanted = set(spots)
        found: dict[Spot, Row] = {}
        for key in self._members.segments:
            of_run, site, _ = key.rsplit("/", 2)
            for order in sorted({spot.order for spot in spots if of_run == run and spot.site == site}):
                shares: list[Share] = self._members.log_shares(key, order, order + 1)[0]
                for batch in read_shares(reading, shares):
                    for values in batch.to_pylist():
                        row = trace_row(values)
                        if spot_of(row) in wanted:
                            found[spot_of(row)] = row
        return found
