"""What a row is: streamed rows, which are the same at every member, and rows of a trace."""

from typing import Any, Final

import pyarrow as pa

from tocsin.core.config import suggestion
from tocsin.core.errors import InputError
from tocsin.spark.streams.options import PARTS, STREAMED, TRACE
from tocsin.traces.schema import SCHEMA
from tocsin.traces.schema import STREAMED as STREAMED_ROWS

TRACE_ROWS: Final = pa.schema([field.with_nullable(True) for field in SCHEMA])
PART_ROWS: Final = pa.schema([pa.field("part", pa.binary())])  # rows of one log each, pickled
_SPARK: Final = {
    pa.string(): "string",
    pa.int64(): "bigint",
    pa.int32(): "int",
    pa.bool_(): "boolean",
    pa.binary(): "binary",
    pa.list_(pa.string()): "array<string>",
}


def rows_schema(rows: str) -> Any:
    """All columns of a kind of rows, as Arrow has them."""
    return {STREAMED: STREAMED_ROWS, TRACE: TRACE_ROWS, PARTS: PART_ROWS}[rows]


def spark_schema(rows: str) -> str:
    """The same, as Spark reads it."""
    return ", ".join(f"`{field.name}` {_SPARK[field.type]}" for field in rows_schema(rows))


def chosen_schema(rows: str, names: list[str], kinds: list[str]) -> Any:
    """The columns that a user has asked for by a schema: only these are read. `kinds`: their types in
    Spark's words."""
    every = rows_schema(rows)
    for name, kind in zip(names, kinds, strict=True):
        if name not in every.names:
            raise InputError(f"schema: unknown column `{name}`{suggestion(name, every.names)}")
        expected = _SPARK[every.field(name).type]
        if kind != expected:
            raise InputError(f"schema: column `{name}`: expected {expected}, found {kind}")
    return pa.schema([every.field(name) for name in names])


def in_schema(batch: Any, schema: Any) -> Any:
    """A batch with exactly these columns: Spark takes no other. What it does not have is null."""
    present = batch.schema.names
    columns = [
        batch.column(field.name) if field.name in present else pa.nulls(batch.num_rows, field.type) for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
