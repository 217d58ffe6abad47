"""What Spark calls: the data source `tocsin`. Registered by itself where the package is installed (`pyspark_tocsin`)."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, SupportsTriggerAvailableNow

from tocsin.spark.streams.columns import chosen_schema, spark_schema
from tocsin.spark.streams.filters import conditions_of
from tocsin.spark.streams.folders import Folders, FolderStream
from tocsin.spark.streams.options import ReadOptions, read_options
from tocsin.spark.streams.ranges import read_shares


class TocsinSource(DataSource):
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


def _chosen(options: ReadOptions, schema: Any) -> Any:
    names, kinds = zip(*((field.name, field.dataType.simpleString()) for field in schema), strict=True)
    return chosen_schema(options.rows, list(names), list(kinds))


class Task(InputPartition):
    """Shares of one task."""


class TableReader(DataSourceReader):
    """A table: what is there when the query is planned."""

    def __init__(self, options: ReadOptions, schema: Any) -> None:
        self.options = options
        self.reading = Folders(options).reading(schema)

    def partitions(self) -> Sequence[InputPartition]:
        folders = Folders(self.options)
        held = folders.held()
        start, end = folders.place(self.options.starting, held), folders.place(self.options.ending, held)
        end = {name: min(last, held[name][1]) for name, last in end.items()}
        return [Task(shares) for shares in folders.partitions(folders.shares(start, end, self.reading.conditions))]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return read_shares(self.reading, partition.value or [])


class FilteringReader(TableReader):
    def pushFilters(self, filters: list[Any]) -> Iterator[Any]:  # noqa: N802  (Spark's name)
        taken, left = conditions_of(filters, self.reading.schema)
        self.reading = self.reading._replace(conditions=tuple(taken))
        return iter(left)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream. On the driver it keeps an index of the folders, which only saves it reading; a task has none."""

    def __init__(self, options: ReadOptions, schema: Any) -> None:
        self.options = options
        self.schema = schema
        self.stream = FolderStream(options)
        self.reading = self.stream.folders.reading(schema)

    def initialOffset(self) -> dict[str, int]:  # noqa: N802  (Spark's name)
        return self.stream.initial()

    def getDefaultReadLimit(self) -> Any:  # noqa: N802  (Spark's name)
        limit = self.options.records_max
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802, ARG002  (Spark's name)
        return self.stream.admit(start)

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802  (Spark's name)
        return self.stream.latest()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  (Spark's name)
        self.stream.stop_here()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return [Task(shares) for shares in self.stream.plan(start, end)]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return read_shares(self.reading, partition.value)

    def commit(self, end: dict[str, int]) -> None:
        """Nothing is held for this stream."""

    def __getstate__(self) -> dict[str, Any]:
        """For tasks: only what they need."""
        return {"reading": self.reading}
