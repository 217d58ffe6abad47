"""The one Arrow schema of what happened, and what a file has to be to count as a trace.

Simulated runs, journals of live members and the logs of other systems all have these columns; a column that a file does
not have is a column of nulls. Each producer writes the columns that it fills, and those in every file: other readers
(Polars, DuckDB, Spark) take the files of a folder as one table and expect one schema. So the simulator's files
(`SIMULATED`) are, byte for byte, what they were before live members had columns of their own, and a journal (`JOURNAL`)
does not write 28 bytes of nulls for every row.
"""

from typing import Any, Final

import pyarrow as pa

from tocsin.core.errors import InputError
from tocsin.traces.columns import is_text
from tocsin.traces.rows import LIVE_COLUMNS, Row

PAYLOAD: Final = "payload"  # of journals only, and not part of a `Row`

SCHEMA: Final = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("site", pa.string(), nullable=False),
        pa.field("order", pa.int64(), nullable=False),
        pa.field("time_us", pa.int64(), nullable=False),
        pa.field("event", pa.string(), nullable=False),
        pa.field("group", pa.string()),
        pa.field("origin", pa.string()),
        pa.field("seqno", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("peer", pa.string()),
        pa.field("size", pa.int32()),
        pa.field("position", pa.int64()),
        pa.field("view", pa.int64()),
        pa.field("members", pa.list_(pa.string())),
        pa.field("primary", pa.bool_()),
        pa.field("incarnation", pa.string()),
        pa.field("producer", pa.string()),
        pa.field("number", pa.int64()),
        pa.field("sent_us", pa.int64()),
        pa.field(PAYLOAD, pa.binary()),
    ]
)
COLUMNS: Final = Row._fields  # what a reader of rows asks for
ROWS: Final = pa.schema([SCHEMA.field(name) for name in COLUMNS])
SIMULATED: Final = pa.schema([field for field in SCHEMA if field.name not in (*LIVE_COLUMNS, PAYLOAD)])
NOT_YET_NOTED: Final = ("peer",)  # what live members do not fill
STREAMED: Final = pa.schema(  # deliveries as doors and Spark hand them out: the same at every member
    [SCHEMA.field(name) for name in ("group", "position", "origin", "seqno", "producer", "number", "sent_us", PAYLOAD)]
)
JOURNAL: Final = pa.schema([field for field in SCHEMA if field.name not in NOT_YET_NOTED])
STRINGS: Final = tuple(field.name for field in SCHEMA if pa.types.is_string(field.type))
REQUIRED: Final = COLUMNS[:8]  # without these a file is no trace; of the others, an absent column is a column of nulls
NEVER_NULL: Final = tuple(field.name for field in SCHEMA if not field.nullable)

assert tuple(SCHEMA.names) == (*COLUMNS, PAYLOAD)

CLOCK_KEY: Final = b"tocsin.clock"  # a file's key-value metadata: "one" when all sites' time_us are of one clock
ONE_CLOCK: Final = b"one"
SITE_CLOCKS: Final = b"site"


def check_schema(schema: Any, source: str) -> None:
    """Refuse a file whose columns are not those of a trace. Integers of any width and any kind of string will do."""
    for name in REQUIRED:
        if name not in schema.names:
            raise InputError(f"{source}: expected the columns of a trace (docs/formats.md), found no column `{name}`")
    for expected in SCHEMA:
        if expected.name not in schema.names:
            continue
        if schema.names.count(expected.name) > 1:
            raise InputError(f"{source}: column `{expected.name}`: expected once, found twice")
        found = schema.field(expected.name).type
        if pa.types.is_dictionary(found):
            found = found.value_type
        if not _fits(found, expected.type):
            raise InputError(f"{source}: column `{expected.name}`: expected {expected.type}, found {found}")


def _fits(found: Any, expected: Any) -> bool:
    if pa.types.is_null(found):
        return True
    if pa.types.is_integer(expected):
        return bool(pa.types.is_integer(found))
    if pa.types.is_string(expected):
        return _is_text(found)
    if pa.types.is_list(expected):
        listed = pa.types.is_list(found) or pa.types.is_large_list(found)
        return listed and (_is_text(found.value_type) or pa.types.is_null(found.value_type))
    if pa.types.is_boolean(expected):
        return bool(pa.types.is_boolean(found))
    return True  # payloads: whatever they are, nobody here looks into them


def _is_text(found: Any) -> bool:
    return is_text(found.value_type if pa.types.is_dictionary(found) else found)
