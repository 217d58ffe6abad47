"""Traces whose rows are stored in any order are first written anew, each log's rows together and in order.

Spark does it by shuffling whole logs and sorting each partition by itself; there is no sort over everything. It
needs a folder that all workers share: on one machine a temporary one will do.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.properties.audit.columns import TraceMap
from tocsin.properties.audit.pieces import find_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = ("run", "site", "incarnation")  # what one log is
ROWS_A_PARTITION = 4_000_000  # a partition's sort stays in the memory of a task
ROW_GROUP_ROWS = 1_000_000  # as the format has it


def sort_with_spark(
    session: "SparkSession", files: list[str], rows: int, trace_map: TraceMap, scratch: str
) -> list[str]:
    """Write the files' rows, log by log and in order, below `scratch`; the names of the new files."""
    table = session.read.parquet(*files)
    log = [name for name in map(trace_map.theirs, LOG) if name in table.columns]
    partitions = max(1, -(-rows // ROWS_A_PARTITION))
    keys = [f"`{name}`" for name in log]
    ordered = table.repartition(partitions, *keys) if keys else table.repartition(1)
    ordered = ordered.sortWithinPartitions(*keys, f"`{trace_map.theirs('order')}`")
    target = f"{scratch.rstrip('/')}/sorted"
    ordered.write.mode("overwrite").option("parquet.block.row.count.limit", ROW_GROUP_ROWS).parquet(target)
    return find_files([target])


def sort_here(files: list[str], trace_map: TraceMap, scratch: Path) -> list[str]:
    """The same in this process, for traces that fit in its memory."""
    table = pa.concat_tables([pq.read_table(file) for file in files], promote_options="default")
    keys = [name for name in map(trace_map.theirs, (*LOG, "order")) if name in table.column_names]
    path = scratch / "sorted.parquet"
    pq.write_table(table.sort_by([(key, "ascending") for key in keys]), path, row_group_size=ROW_GROUP_ROWS)
    return [str(path)]
