"""Rows as an Arrow table in memory."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from tocsin.core.errors import InputError
from tocsin.traces.calm import Calm
from tocsin.traces.rows import Row
from tocsin.traces.schema import CLOCK_KEY, COLUMNS, ONE_CLOCK, ROWS, SITE_CLOCKS

BATCH_ROWS: Final = 65_536  # made into arrays at a time


def trace_table(rows: Iterable[Row], one_clock: bool, schema: Any = ROWS, calm: Calm | None = None) -> Any:
    """The rows as a `pyarrow.Table` with the columns of `schema`. `one_clock`: whether the times of different sites can
    be compared; `calm`: since when faults were over, if that is known."""
    table = pa.Table.from_batches(_batches(iter(rows), schema), schema)
    said = {} if calm is None else calm.metadata()
    return table.replace_schema_metadata({CLOCK_KEY: ONE_CLOCK if one_clock else SITE_CLOCKS, **said})


def _batches(rows: Iterator[Row], schema: Any) -> Iterator[Any]:
    places = [COLUMNS.index(name) for name in schema.names]
    while some := list(islice(rows, BATCH_ROWS)):
        columns = list(zip(*some, strict=True))
        try:
            arrays = [pa.array(columns[place], field.type) for place, field in zip(places, schema, strict=True)]
        except (OverflowError, pa.ArrowInvalid):
            raise InputError("trace: expected numbers of at most 64 bits with a sign, found a larger one") from None
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
