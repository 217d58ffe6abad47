"""Journals of members that were never there, for benchmarks/streams.py: as many rows as are asked for, in files as
members write them; and the same streamed rows as Parquet."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.live.storage.disk import Disk
from tocsin.live.storage.identity import Identity, write_identity
from tocsin.live.storage.journal_checks import check_path
from tocsin.live.storage.journal_folder import journal_path
from tocsin.live.storage.journal_rows import Standing
from tocsin.live.storage.journal_writer import write_arrow
from tocsin.spark.streams.columns import in_schema
from tocsin.traces.schema import JOURNAL, STREAMED

SITES = ("a", "b", "c")
FILE_ROWS = 131_072  # deliveries in a file of 16 MB
PAYLOAD_BYTES = 100


def write_member(folder: Path, site: str, messages: int) -> None:
    """Three sites broadcast in turn; every member delivers all of it, in one order."""
    home = folder / site
    (home / "journal").mkdir(parents=True)
    (home / "wal").mkdir()
    identity = Identity(
        group="bench", protocol="counter_token", site=site, sites=SITES, groups={"all": list(SITES)}, incarnation=1
    )
    write_identity(home, identity)
    order = 0
    for number, first in enumerate(range(0, messages, FILE_ROWS)):
        end = min(first + FILE_ROWS, messages)
        batches = list(_batches(site, first, end, order))
        standing = Standing(order, first, True)
        check = write_arrow(Disk(), journal_path(home / "journal", number), standing, iter(batches))
        check = msgspec.structs.replace(check, begins={"all": first}, ends={"all": end})
        check_path(home / "journal", number).write_bytes(msgspec.json.encode(check))
        order += sum(batch.num_rows for batch in batches)


def _batches(site: str, first: int, end: int, order: int) -> Iterator[Any]:
    """Own broadcasts before their deliveries, in batches of 65,536 rows."""
    position = np.arange(first, end)
    own = position[position % len(SITES) == SITES.index(site)]
    both = np.concatenate([own * 2, position * 2 + 1])  # a broadcast comes right before its delivery
    both.sort(kind="stable")
    for start in range(0, len(both), 65_536):
        some = both[start : start + 65_536]
        yield _batch(site, some // 2, some % 2 == 1, order + start)


def _batch(site: str, position: Any, delivered: Any, first_order: int) -> Any:
    rows = len(position)
    payload = np.zeros((rows, PAYLOAD_BYTES), np.uint8)
    payload[:, :8] = position.astype(">i8").view(np.uint8).reshape(-1, 8)
    sizes = np.where(delivered, PAYLOAD_BYTES, 0)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    valid = pa.py_buffer(np.packbits(delivered, bitorder="little"))
    data = pa.py_buffer(np.ascontiguousarray(payload[delivered]))
    names = pa.array(SITES)
    columns = {
        "run": pa.repeat("bench", rows),
        "site": pa.repeat(site, rows),
        "order": pa.array(np.arange(first_order, first_order + rows)),
        "time_us": pa.array(position),
        "event": pa.array(["broadcast", "deliver"]).take(pa.array(delivered.astype(np.int32))),
        "group": pa.repeat("all", rows),
        "origin": names.take(pa.array(position % len(SITES))),
        "seqno": pa.array(position // len(SITES)),
        "size": pa.array(np.full(rows, PAYLOAD_BYTES, np.int32)),
        "position": pa.array(position, mask=~delivered),
        "payload": pa.BinaryArray.from_buffers(pa.binary(), rows, [valid, pa.py_buffer(offsets), data]),
    }
    arrays = [columns[field.name] if field.name in columns else pa.nulls(rows, field.type) for field in JOURNAL]
    return pa.RecordBatch.from_arrays(arrays, schema=JOURNAL)


def write_parquet(folder: Path, messages: int, file_rows: int) -> None:
    """The streamed rows of one member, in files of so many rows."""
    folder.mkdir(parents=True)
    for number, first in enumerate(range(0, messages, file_rows)):
        batches = [
            in_schema(batch.filter(pa.compute.equal(batch.column("event"), "deliver")), STREAMED)
            for batch in _batches("a", first, min(first + file_rows, messages), 0)
        ]
        pq.write_table(pa.Table.from_batches(batches), folder / f"{number:06d}.parquet")
