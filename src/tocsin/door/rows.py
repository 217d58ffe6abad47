"""Streamed rows: what a reader gets. They hold only what is the same at every member, so that a batch that is read
again, also at another door, is the same batch."""

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tocsin.traces.rows import DELIVER
from tocsin.traces.schema import STREAMED


def streamed(batch: Any) -> Any:
    """The deliveries of a batch of a journal, as streamed rows of all groups."""
    delivered = pc.equal(batch.column("event"), DELIVER)
    if not pc.all(delivered).as_py():
        batch = batch.filter(delivered)
    columns = [
        batch.column(field.name) if field.name in batch.schema.names else pa.nulls(batch.num_rows, field.type)
        for field in STREAMED
    ]
    return pa.RecordBatch.from_arrays(columns, schema=STREAMED)


def by_group(rows: Any) -> dict[str, Any]:
    """Streamed rows of several groups, each group's on their own."""
    groups = pc.unique(rows.column("group")).to_pylist()
    if len(groups) <= 1:
        return dict.fromkeys(groups, rows)
    return {group: rows.filter(pc.equal(rows.column("group"), group)) for group in groups}


def first_position(rows: Any) -> int:
    return int(rows.column("position")[0].as_py())


def last_position(rows: Any) -> int:
    return int(rows.column("position")[rows.num_rows - 1].as_py())


def without_gaps(rows: Any) -> list[Any]:
    """Rows of one group, cut where positions are missing."""
    if rows.num_rows == 0 or last_position(rows) - first_position(rows) + 1 == rows.num_rows:
        return [rows] if rows.num_rows else []
    positions = rows.column("position").to_numpy(zero_copy_only=False)
    cuts = [0, *(np.flatnonzero(np.diff(positions) != 1) + 1).tolist(), rows.num_rows]
    return [rows.slice(first, end - first) for first, end in pairwise(cuts)]


def pieces(rows: Any, rows_max: int, bytes_max: int) -> list[Any]:
    """Rows cut so that none is larger than these, unless one row is."""
    count = rows.num_rows
    if count == 0:
        return []
    if count <= rows_max and (rows.nbytes <= bytes_max or count == 1):
        return [rows]
    half = count // 2 if rows.nbytes > bytes_max or count < 2 * rows_max else rows_max * (count // (2 * rows_max))
    return [*pieces(rows.slice(0, half), rows_max, bytes_max), *pieces(rows.slice(half), rows_max, bytes_max)]
