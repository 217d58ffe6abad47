"""The options of `format("tocsin")`, understood or refused in one line, before anything is read."""

import json
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from tocsin.core.config import suggestion
from tocsin.core.errors import InputError

STREAMED: Final = "streamed"  # what `rows` may be: deliveries, the same at every member …
TRACE: Final = "trace"  # … or everything that all members noted …
PARTS: Final = "parts"  # … the same, as the kernels of the properties take it: what a watch reads
EARLIEST: Final = "earliest"
LATEST: Final = "latest"

READ_KEYS: Final = (
    "path",
    "paths",
    "door",
    "token",
    "fingerprint",
    "group",
    "site",
    "rows",
    "startingPosition",
    "endingPosition",
    "maxRecordsPerBatch",
    "maxBytesPerBatch",
    "failOnDataLoss",
    "partitionRows",
    "consumer",
)
WRITE_KEYS: Final = ("door", "token", "fingerprint", "producer", "numberColumn", "group", "until", "checkpointLocation")
_KNOWN: Final = {key.lower(): key for key in (*READ_KEYS, *WRITE_KEYS)}

PARTITION_ROWS: Final = 400_000  # of a task: half a second of work, against 50 ms that a task costs; benchmarks/streams

Start = str | dict[str, int] | int  # where a read begins: EARLIEST, LATEST, a position, or positions by group


class ReadOptions(NamedTuple):
    paths: tuple[str, ...]
    doors: str
    token: str
    fingerprint: str | None
    group: str | None
    site: str | None
    rows: str
    starting: Start
    ending: Start
    records_max: int | None
    bytes_max: int | None
    fail_on_loss: bool
    partition_rows: int
    consumer: str | None


class WriteOptions(NamedTuple):
    doors: str
    token: str
    fingerprint: str | None
    producer: str
    number_column: str | None
    group: str | None
    until: Literal["ordered", "durable"]


def refuse_unknown(options: Mapping[str, str]) -> None:
    for key in options:
        if key.lower() not in _KNOWN:
            raise InputError(f"option `{key}`: unknown{suggestion(key, list(_KNOWN.values()))}")


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """Of a read, or of a stream that is read."""
    said = {key.lower(): value for key, value in options.items()}
    refuse_unknown(options)
    for key in ("producer", "numberColumn"):
        if key.lower() in said:
            raise InputError(f"option `{key}`: of what is written, not of what is read")
    paths = _paths(said)
    doors = said.get("door", "")
    if bool(paths) == bool(doors):
        found = "both" if paths else "neither"
        raise InputError(f"expected option `path` (data folders) or option `door` (addresses), found {found}")
    rows = _one_of(said, "rows", (STREAMED, TRACE, PARTS), STREAMED)
    if rows != STREAMED and doors:
        raise InputError("option `rows`: a door has streamed rows only; `trace` is read from data folders (`path`)")
    if paths and "consumer" in said:
        raise InputError("option `consumer`: a cursor of the group, moved through its doors; folders have none")
    return ReadOptions(
        paths,
        doors,
        said.get("token", ""),
        said.get("fingerprint"),
        said.get("group"),
        said.get("site"),
        rows,
        _position(said, "startingPosition", EARLIEST),
        _position(said, "endingPosition", LATEST),
        _number(said, "maxRecordsPerBatch"),
        _number(said, "maxBytesPerBatch"),
        _one_of(said, "failOnDataLoss", ("true", "false"), "true") == "true",
        _number(said, "partitionRows") or PARTITION_ROWS,
        said.get("consumer"),
    )


def write_options(options: Mapping[str, str]) -> WriteOptions:
    """Of what is written, once or as a stream."""
    said = {key.lower(): value for key, value in options.items()}
    refuse_unknown(options)
    if "path" in said or "paths" in said:
        raise InputError("option `path`: a group is written through its doors: option `door`")
    if not said.get("door"):
        raise InputError("option `door`: expected the addresses of doors, found none")
    if not said.get("producer"):
        raise InputError("option `producer`: expected a name, under which the group knows what was sent, found none")
    return WriteOptions(
        said["door"],
        said.get("token", ""),
        said.get("fingerprint"),
        said["producer"],
        said.get("numbercolumn"),
        said.get("group"),
        "durable" if _one_of(said, "until", ("ordered", "durable"), "ordered") == "durable" else "ordered",
    )


def _paths(said: Mapping[str, str]) -> tuple[str, ...]:
    if "paths" in said:  # Spark's own word for load([…])
        try:
            found: Any = json.loads(said["paths"])
        except ValueError:
            found = None
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise InputError(f"option `paths`: expected a JSON list of folders, found `{said['paths']}`")
        return tuple(map(_local, found))
    return (_local(said["path"]),) if said.get("path") else ()


def _local(path: str) -> str:
    return path.removeprefix("file://").removeprefix("file:")


def _one_of(said: Mapping[str, str], key: str, values: tuple[str, ...], default: str) -> str:
    value = said.get(key.lower(), default).lower()
    if value not in values:
        raise InputError(f"option `{key}`: expected {' or '.join(values)}, found `{said[key.lower()]}`")
    return value


def _number(said: Mapping[str, str], key: str) -> int | None:
    value = said.get(key.lower())
    if value is None:
        return None
    if not value.isdecimal() or int(value) < 1:
        raise InputError(f"option `{key}`: expected a number of at least 1, found `{value}`")
    return int(value)


def _position(said: Mapping[str, str], key: str, default: str) -> Start:
    """A word, a position, or positions by group as a JSON object."""
    value = said.get(key.lower(), default).strip()
    if value.lower() in (EARLIEST, LATEST):
        return value.lower()
    if value.isdecimal():
        return int(value)
    try:
        found: Any = json.loads(value)
    except ValueError:
        found = None
    if isinstance(found, dict) and all(type(each) is int and each >= 0 for each in found.values()):
        return found
    raise InputError(
        f'option `{key}`: expected earliest, latest, a position, or positions by group ({{"all": 41}}), found `{value}`'
    )
