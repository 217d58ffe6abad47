"""What Spark calls: the data source `tocsin`. It is registered by itself where the package is installed
(`pyspark_tocsin`)."""

import sys
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, SupportsTriggerAvailableNow

from tocsin.core.errors import InputError
from tocsin.spark.streams.columns import chosen_schema, spark_schema
from tocsin.spark.streams.doors import DoorReading, DoorStream
from tocsin.spark.streams.filters import conditions_of
from tocsin.spark.streams.folders import Folders, FolderStream
from tocsin.spark.streams.options import ReadOptions, WriteOptions, read_options, write_options
from tocsin.spark.streams.ranges import read_shares
from tocsin.spark.streams.sink import Epoch, check_columns, publish


class TocsinSource(DataSource):  # type: ignore[misc]
    """A group: its journals where they lie, or through its doors."""

    @classmethod
    def name(cls) -> str:
        return "tocsin"

    def schema(self) -> str:
        return spark_schema(read_options(self.options).rows)

    def reader(self, schema: Any) -> DataSourceReader:
        options = read_options(self.options)
        chosen = _chosen(options, schema)
        # Spark refuses a reader that takes filters where the session does not push them down.
        pushes = any("data_source_pushdown_filters" in word for word in sys.argv)
        return FilteringReader(options, chosen) if pushes else TableReader(options, chosen)

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802  (Spark's name)
        options = read_options(self.options)
        return StreamReader(options, _chosen(options, schema))

    def writer(self, schema: Any, overwrite: bool) -> DataSourceArrowWriter:
        return TableWriter(_written(self.options, schema, overwrite))

    def streamWriter(self, schema: Any, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802  (Spark's name)
        return StreamWriter(_written(self.options, schema, overwrite))


def _fields(schema: Any) -> tuple[list[str], list[str]]:
    return [field.name for field in schema], [field.dataType.simpleString() for field in schema]


def _chosen(options: ReadOptions, schema: Any) -> Any:
    return chosen_schema(options.rows, *_fields(schema))


def _written(options: Any, schema: Any, overwrite: bool) -> WriteOptions:
    if overwrite:
        raise InputError("mode: a group's order is only added to: expected append, found overwrite")
    found = write_options(options)
    check_columns(*_fields(schema), found)
    return found


class Task(InputPartition):  # type: ignore[misc]
    """What one task reads."""


class TableReader(DataSourceReader):  # type: ignore[misc]
    """A table: what is there when the query is planned."""

    def __init__(self, options: ReadOptions, schema: Any) -> None:
        self.options = options
        self.schema = schema
        self.reading: Any = DoorReading(options, schema) if options.doors else Folders(options).reading(schema)

    def partitions(self) -> Sequence[InputPartition]:
        conditions = self.reading.conditions
        source: Any = DoorStream(self.options) if self.options.doors else Folders(self.options)
        held = source.held()
        start, end = source.place(self.options.starting, held), source.place(self.options.ending, held)
        end = {name: min(last, held[name][1]) for name, last in end.items()}
        if self.options.doors:
            found = source.plan(start, end, conditions)
            source.close()
        else:
            found = source.partitions(source.shares(start, end, conditions))
        return [Task(each) for each in found]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return _rows(self.reading, partition.value or [])


class FilteringReader(TableReader):
    def pushFilters(self, filters: list[Any]) -> Iterator[Any]:  # noqa: N802  (Spark's name)
        taken, left = conditions_of(filters, self.schema)
        self.reading = self.reading._replace(conditions=tuple(taken))
        return iter(left)


def _rows(reading: Any, given: Any) -> Iterator[Any]:
    return reading.rows(given) if isinstance(reading, DoorReading) else read_shares(reading, given)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):  # type: ignore[misc]
    """A stream. On the driver it keeps an index of the folders, which only saves it reading; a task has none."""

    def __init__(self, options: ReadOptions, schema: Any) -> None:
        self.options = options
        if options.doors:
            self.stream: Any = DoorStream(options)
            self.reading: Any = DoorReading(options, schema)
        else:
            self.stream = FolderStream(options)
            self.reading = self.stream.folders.reading(schema)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  (Spark's name)
        found: dict[str, int] = self.stream.initial()
        return found

    def getDefaultReadLimit(self) -> Any:  # noqa: N802  (Spark's name)
        limit = self.options.records_max
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802  (Spark's name)
        found: dict[str, int] = self.stream.admit(start)
        return found

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802  (Spark's name)
        found: dict[str, int] = self.stream.latest()
        return found

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  (Spark's name)
        self.stream.stop_here()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [Task(given) for given in self.stream.plan(start, end)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return _rows(self.reading, partition.value)

    def commit(self, end: dict[str, int]) -> None:
        """It comes one batch late, and the last one of a query may not come at all: good for moving a cursor."""
        if self.options.doors:
            self.stream.release(end)

    def stop(self) -> None:
        if self.options.doors:
            self.stream.close()

    def __getstate__(self) -> dict[str, Any]:
        """For tasks: only what they need."""
        return {"reading": self.reading}


class TableWriter(DataSourceArrowWriter):  # type: ignore[misc]
    """One write. Its tasks may be tried again; a write that is asked for again is another one."""

    def __init__(self, options: WriteOptions) -> None:
        self.options = options
        self.query = str(uuid.uuid4())

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        task = TaskContext.get()
        assert task is not None
        publish(self.options, Epoch(self.query, 0, task.partitionId()), iterator)
        return WriterCommitMessage()


class StreamWriter(DataSourceStreamArrowWriter):  # type: ignore[misc]
    """A stream's sink. Everything is in the group before an epoch is committed: commit and abort have nothing to do."""

    def __init__(self, options: WriteOptions) -> None:
        self.options = options

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        task = TaskContext.get()
        assert task is not None
        query = task.getLocalProperty("sql.streaming.queryId")
        epoch = task.getLocalProperty("streaming.sql.batchId")
        if query is None or epoch is None:
            raise InputError("the task does not say which query and epoch its rows are of: expected a micro-batch")
        publish(self.options, Epoch(query, int(epoch), task.partitionId()), iterator)
        return WriterCommitMessage()
