"""Writes a trace as one Parquet file: each site's rows together, in order, in row groups of bounded size. `TraceWriter`
takes the simulator's events one by one; `write_batches` takes what live members noted.

Nobody ever sees a part of a trace: it is put together in a hidden file beside its place, and renamed when it is whole.
After Ctrl-C the rows so far make a valid, shorter trace; after kill -9 there is none, and the next writer removes what
is left of it.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.core.errors import EnvironmentMissing, InputError
from tocsin.traces.calm import Calm
from tocsin.traces.schema import CLOCK_KEY, JOURNAL, ONE_CLOCK, PAYLOAD, SCHEMA, SIMULATED, SITE_CLOCKS, STRINGS
from tocsin.traces.spool import Spool
from tocsin.traces.whole_file import WholeFile, remove_leftovers

SPILL_ROWS: Final = 100_000  # rows held as Python objects, about 400 bytes each; benchmarks/traces.py
ROW_GROUP_ROWS: Final = 262_144  # the format allows a million; a quarter keeps reader and writer small
COMPRESSION: Final = "zstd"
_NOTED: Final = JOURNAL.remove(JOURNAL.get_field_index(PAYLOAD))


class TraceWriter:
    """The trace of one run. `append` is called for every event, so it does next to nothing.

    As a context: leaving it normally or by Ctrl-C writes the file; leaving it by an error writes none.
    """

    def __init__(self, path: Path, run: str, sites: Sequence[str], one_clock: bool = True) -> None:
        self.path = path
        self._run = run
        self._names = list(sites)  # of logs: one a site, and one more for each later disk of a site
        self._incarnations: list[str | None] = [None] * len(self._names)  # of logs
        self._places = list(range(len(self._names)))  # by site: its present log
        self._clock = ONE_CLOCK if one_clock else SITE_CLOCKS
        self.calm: Calm | None = None  # since when faults were over; known in the end, if at all
        self._closed = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_leftovers(path)
            self._spool = Spool(path.parent, len(sites))
        except OSError as error:
            raise InputError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None

    def append(
        self,
        site: int,
        time_us: int,
        event: str,
        group: str | None = None,
        origin: str | None = None,
        seqno: int | None = None,
        kind: str | None = None,
        peer: str | None = None,
        size: int | None = None,
        position: int | None = None,
        view: int | None = None,
        members: Sequence[str] | None = None,
    ) -> None:
        """Note the next event of a site (by its place in `sites`); its `order` is counted here."""
        rows = self._spool.pending
        place = self._places[site]
        rows.append((place, time_us, event, group, origin, seqno, kind, peer, size, position, view, members))
        if len(rows) >= SPILL_ROWS:
            self._put_aside()

    def begin_incarnation(self, site: int) -> None:
        """The site has another disk from here on: a new log of it."""
        before = self._incarnations[self._places[site]]
        if before is None:
            self._incarnations[site] = before = "1"
        self._places[site] = len(self._names)
        self._names.append(self._names[site])
        self._incarnations.append(str(int(before) + 1))
        self._spool.rows_by_site = np.append(self._spool.rows_by_site, 0)

    def close(self) -> int:
        """Write the file; the number of its rows."""
        if self._closed:
            return int(self._spool.rows_by_site.sum())
        self._closed = True
        try:
            self._put_aside()
            with WholeFile(self.path) as file:
                self._write(file)
        except OSError as error:
            raise self._no_room(error) from None
        finally:
            self._spool.close()
        return int(self._spool.rows_by_site.sum())

    def discard(self) -> None:
        """Write nothing."""
        self._closed = True
        self._spool.close()

    def _put_aside(self) -> None:
        try:
            self._spool.put_aside()
        except OSError as error:
            raise self._no_room(error) from None

    def _no_room(self, error: OSError) -> EnvironmentMissing:
        reason = (error.strerror or str(error)).lower()
        return EnvironmentMissing(
            f"{self.path}: cannot be written: {reason}; rows wait beside it until the end: make room"
        )

    def __enter__(self) -> "TraceWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None or issubclass(kind, KeyboardInterrupt):
            self.close()
        else:
            self.discard()

    def _write(self, file: IO[bytes]) -> None:
        with _parquet(file, self._schema(), self._clock) as writer:
            if self.calm is not None:
                writer.add_key_value_metadata(self.calm.metadata())
            for first, end in self._site_ranges():
                for table in self._tables(first, end):
                    writer.write_table(table, row_group_size=ROW_GROUP_ROWS)

    def _site_ranges(self) -> Iterator[tuple[int, int]]:
        """Neighbouring sites that make up a row group together, or one site that is larger."""
        counts = self._spool.rows_by_site
        first, total = 0, 0
        for site, count in enumerate(counts.tolist()):
            if total > 0 and total + count > ROW_GROUP_ROWS:
                yield first, site
                first, total = site, 0
            total += count
        if total > 0:
            yield first, len(counts)

    def _tables(self, first_site: int, end_site: int) -> Iterator[Any]:
        """The rows of a range of sites, as tables of at most a row group, in order."""
        order = 0
        pending: list[Any] = []
        pending_rows = 0
        for batch in self._spool.read(first_site, end_site):
            pending.append(batch)
            pending_rows += batch.num_rows
            while pending_rows > ROW_GROUP_ROWS:  # only a range of one site is as large as this
                table = pa.Table.from_batches(pending)
                yield self._table(table.slice(0, ROW_GROUP_ROWS), order)
                order += ROW_GROUP_ROWS
                pending = table.slice(ROW_GROUP_ROWS).to_batches()
                pending_rows -= ROW_GROUP_ROWS
        yield self._table(pa.Table.from_batches(pending), order)

    def _table(self, spooled: Any, first_order: int) -> Any:
        """With run, site and order, sorted by site; `first_order` is not 0 only if all are of one site."""
        sites = spooled.column(0).to_numpy()
        spooled = spooled.take(pa.array(np.argsort(sites, kind="stable")))
        sites = np.sort(sites)
        starts = np.flatnonzero(np.diff(sites, prepend=-1))
        counts = np.diff(starts, append=len(sites))
        order = np.arange(len(sites), dtype=np.int64) - np.repeat(starts, counts) + first_order
        places = pa.array(sites)
        names = pa.array(self._names, pa.string())
        columns = [pa.repeat(self._run, len(sites)), names.take(places), pa.array(order), *spooled.columns[1:]]
        schema = self._schema()
        if len(schema) > len(SIMULATED):
            columns.append(pa.array(self._incarnations, pa.string()).take(places))
        return pa.Table.from_arrays(columns, schema=schema)

    def _schema(self) -> Any:
        """With incarnations only where a site had another disk."""
        plain = len(self._names) == len(self._places)
        return SIMULATED if plain else SIMULATED.append(SCHEMA.field("incarnation"))


def write_batches(path: Path, batches: Iterable[Any], calm: Calm | None = None) -> int:
    """Write rows that live members noted, without their payloads, each by its own clock; the number of rows. They come
    as record batches, each site's together and in order. `calm`: since when faults were over, if that is known. No
    folder is made: a mistyped path must not make one."""
    if not path.absolute().parent.is_dir():
        raise InputError(f"{path}: cannot be written: no such folder; make it first: mkdir -p {path.parent}")
    rows = 0
    try:
        remove_leftovers(path)
        with WholeFile(path) as file, _parquet(file, _NOTED, SITE_CLOCKS) as writer:
            for table in _in_row_groups(batches):
                writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
                rows += table.num_rows
            if calm is not None:
                writer.add_key_value_metadata(calm.metadata())
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    return rows


def _in_row_groups(batches: Iterable[Any]) -> Iterator[Any]:
    """Tables of about a row group each."""
    pending: list[Any] = []
    rows = 0
    for batch in batches:
        pending.append(batch.select(_NOTED.names))
        rows += batch.num_rows
        if rows >= ROW_GROUP_ROWS:
            yield pa.Table.from_batches(pending).replace_schema_metadata(None)
            pending, rows = [], 0
    if pending:
        yield pa.Table.from_batches(pending).replace_schema_metadata(None)


def _parquet(file: IO[bytes], schema: Any, clock: bytes) -> Any:
    """A writer of Parquet as all traces have it."""
    writer = pq.ParquetWriter(
        file,
        schema,
        compression=COMPRESSION,
        use_dictionary=[name for name in STRINGS if name in schema.names],
        write_page_checksum=True,
        store_schema=False,
    )
    writer.add_key_value_metadata({CLOCK_KEY: clock})
    return writer
