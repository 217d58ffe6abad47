"""One file of a trace, Parquet or Arrow: how many rows it has, whose clock, and its rows.

A row group is what is read at once; Arrow files (a journal's) call it a record batch. Columns of words come as numbers
and a dictionary. Whatever is wrong with a file is told in one line, with its name.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from types import TracebackType
from typing import Any, Final, Protocol, Self

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from tocsin.core.errors import InputError
from tocsin.core.files import is_utf_8
from tocsin.traces.calm import Calm, calm_of
from tocsin.traces.columns import accept_columns, first_line
from tocsin.traces.schema import CLOCK_KEY, ONE_CLOCK, STRINGS

ARROW_SUFFIX: Final = ".arrow"
SUFFIXES: Final = (".parquet", ARROW_SUFFIX)  # of the files in a folder that are part of a trace


class TraceFile(Protocol):
    """An open file."""

    schema: Any
    rows: int
    one_clock: bool  # the file says that all its sites' times are of one clock
    calm: Calm | None  # the file says since when faults were over
    row_groups: int

    def row_group_rows(self, number: int) -> int: ...

    def read_row_group(self, number: int, columns: list[str]) -> Any:
        """Some columns of a row group, as a table."""

    def batches(self, columns: list[str], rows: int) -> Iterator[Any]:
        """Some columns of the whole file, in record batches of at most so many rows."""

    def only_value(self, number: int, column: str) -> str | None:
        """The one value that a column has in a row group, if that is known without reading it."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_trace(path: str, words: Collection[str] = STRINGS) -> TraceFile:
    """A file by its path or address (s3://…, hdfs://…). `words`: columns that may come as numbers and a dictionary.
    Where Parquet pages have checksums, they are looked at."""
    if path.endswith(ARROW_SUFFIX):
        return _ArrowFile(path, words)
    return _ParquetFile(path, words)


class _File(ABC):
    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _ParquetFile(_File):
    def __init__(self, path: str, words: Collection[str]) -> None:
        self._path = path
        self._words = words
        try:
            system, inside = _place(path)
            metadata = pq.read_metadata(inside, filesystem=system)
            self.schema = metadata.schema.to_arrow_schema()
            self._file = pq.ParquetFile(
                inside,
                filesystem=system,
                metadata=metadata,
                read_dictionary=[field.name for field in self.schema if field.name in words and _is_text(field.type)],
                page_checksum_verification=True,
            )
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path}: expected a Parquet file: {first_line(error)}") from None
        self.rows = metadata.num_rows
        self.one_clock = (metadata.metadata or {}).get(CLOCK_KEY) == ONE_CLOCK
        self.calm = calm_of(metadata.metadata, path)
        self.row_groups = metadata.num_row_groups

    def row_group_rows(self, number: int) -> int:
        return int(self._file.metadata.row_group(number).num_rows)

    def read_row_group(self, number: int, columns: list[str]) -> Any:
        try:
            table = self._file.read_row_group(number, columns=columns, use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self._path}: cannot be read: {first_line(error)}") from None
        return accept_columns(table, self._words, self._path)

    def batches(self, columns: list[str], rows: int) -> Iterator[Any]:
        first = 0  # number in the file of the batch's first row
        batches = self._file.iter_batches(rows, columns=columns, use_threads=False)
        while True:
            try:
                batch = next(batches, None)
                if batch is not None:
                    batch.validate(full=True)  # bytes that changed on disk may still decode, to nonsense
            except (pa.ArrowException, OSError) as error:
                raise InputError(f"{self._path}: cannot be read after row {first}: {first_line(error)}") from None
            if batch is None:
                return
            yield accept_columns(batch, self._words, self._path)
            first += batch.num_rows

    def only_value(self, number: int, column: str) -> str | None:
        group = self._file.metadata.row_group(number)
        for index in range(group.num_columns):
            about = group.column(index)
            if about.path_in_schema != column:
                continue
            found = about.statistics
            if found is None or not found.has_min_max or not found.has_null_count or found.null_count:
                return None
            try:
                return found.min if isinstance(found.min, str) and found.min == found.max else None
            except UnicodeDecodeError:
                return None  # reading the column will tell
        return None

    def close(self) -> None:
        self._file.close()


class _ArrowFile(_File):
    """An Arrow file never changes once it has its name: it is mapped where it lies, and what nobody asks for (payloads)
    is not read. One that is removed meanwhile, as retention does, can be read to its end."""

    def __init__(self, path: str, words: Collection[str]) -> None:
        self._path = path
        self._words = words
        try:
            system, inside = _place(path)
            self._source = pa.memory_map(os.fsencode(path)) if system is None else system.open_input_file(inside)
            self._reader = pa.ipc.open_file(self._source)
            self._lengths = [self._reader.get_batch(each).num_rows for each in range(self._reader.num_record_batches)]
        except FileNotFoundError:
            raise missing(path) from None
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path}: expected an Arrow file: {first_line(error)}") from None
        self.schema = self._reader.schema.remove_metadata()
        self.rows = sum(self._lengths)
        self.one_clock = (self._reader.schema.metadata or {}).get(CLOCK_KEY) == ONE_CLOCK
        self.calm = calm_of(self._reader.schema.metadata, path)
        self.row_groups = len(self._lengths)

    def row_group_rows(self, number: int) -> int:
        return int(self._lengths[number])

    def read_row_group(self, number: int, columns: list[str]) -> Any:
        return pa.Table.from_batches([self._batch(number, columns)])

    def batches(self, columns: list[str], rows: int) -> Iterator[Any]:
        for number in range(self.row_groups):
            batch = self._batch(number, columns)
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)

    def only_value(self, number: int, column: str) -> str | None:
        return None

    def _batch(self, number: int, columns: list[str]) -> Any:
        try:
            batch = self._reader.get_batch(number).select(columns)
            batch.validate(full=True)  # before anything relies on what it says
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{self._path}: cannot be read: {first_line(error)}") from None
        batch = accept_columns(batch, self._words, self._path)
        arrays = [
            column.dictionary_encode() if field.name in self._words and _is_text(field.type) else column
            for field, column in zip(batch.schema, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, names=columns)

    def close(self) -> None:
        self._source.close()


def missing(path: object) -> InputError:
    """A file that is not there, or no more."""
    retained = "; if a member's retention has dropped it meanwhile, ask again"
    told = "cannot be read: no such file or folder"
    return InputError(f"{path}: {told}{retained if str(path).endswith(ARROW_SUFFIX) else ''}")


def _place(path: str) -> tuple[Any, Any]:
    """The file system of an address, and the path in it; None for a path on this machine, which is an open file where
    its name is not UTF-8: pyarrow takes such a name in bytes only."""
    if "://" not in path:
        named = os.fsencode(path)
        return None, path if path.isascii() or is_utf_8(named) else pa.OSFile(named)
    system, inside = pa.fs.FileSystem.from_uri(path)
    return system, inside


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
