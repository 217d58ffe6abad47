"""A trace as an Arrow table in memory: the same columns and metadata as in a file."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from tocsin.traces.rows import Row
from tocsin.traces.schema import CLOCK_KEY, ONE_CLOCK, SCHEMA, SITE_CLOCKS


def trace_table(rows: Iterable[Row], one_clock: bool) -> Any:
    """The rows as a `pyarrow.Table`. `one_clock`: whether the times of different sites can be compared."""
    columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    schema = SCHEMA.with_metadata({CLOCK_KEY: ONE_CLOCK if one_clock else SITE_CLOCKS})
    return pa.Table.from_arrays(arrays, schema=schema)
