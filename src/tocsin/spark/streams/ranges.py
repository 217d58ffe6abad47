"""Reading what a task was given: positions of a group, in order and without a hole, from whoever has them; or orders of
a log."""

import pickle
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tocsin.core.errors import InputError
from tocsin.live.storage.segments import segment_batches
from tocsin.properties.kernels.encode import encode
from tocsin.properties.watch.watch import COLUMNS as WATCHED
from tocsin.spark.streams.columns import PART_ROWS, in_schema
from tocsin.spark.streams.filters import Condition, kept
from tocsin.spark.streams.members import Members, Share
from tocsin.traces.rows import DELIVER

PART_BATCHES: Final = 4  # record batches of a journal in one part: up to 262,144 rows
LOOKS_MAX: Final = 3  # for positions that were somewhere else a moment ago


class Reading(NamedTuple):
    """What every task of a read has to know."""

    folders: tuple[str, ...]
    schema: Any  # of the rows that are handed on
    conditions: tuple[Condition, ...]
    fail_on_loss: bool


def told_gone(group: str, first: int, end: int) -> str:
    return (
        f"group `{group}`: positions {first} to {end - 1} are gone: no folder that is read holds them any more "
        "(retention has dropped them, or they never came there); begin later (startingPosition), or go on without "
        "them (failOnDataLoss=false)"
    )


def read_shares(reading: Reading, shares: Sequence[Share]) -> Iterator[Any]:
    """The rows of some shares, as record batches of exactly the schema."""
    if reading.schema.names == PART_ROWS.names:
        yield from _parts(shares)
        return
    for share in shares:
        batches = _orders(share) if share.group is None else _positions(reading, share)
        for batch in batches:
            batch = kept(batch, reading.conditions)
            if batch.num_rows:
                yield in_schema(batch, reading.schema)


def _parts(shares: Sequence[Share]) -> Iterator[Any]:
    """Logs as the properties' kernels take them, encoded where they are read: through Spark go a few large values
    instead of many rows."""
    for _, own in groupby(shares, key=lambda share: share.segment.site_dir):
        batches = [batch.select(_present(batch)) for share in own for batch in _orders(share)]
        for some in _tables(batches):
            encoded = [pickle.dumps(part, pickle.HIGHEST_PROTOCOL) for part in encode(some)]
            yield pa.RecordBatch.from_arrays([pa.array(encoded, pa.binary())], schema=PART_ROWS)


def _present(batch: Any) -> list[str]:
    return [name for name in WATCHED if name in batch.schema.names]


def _tables(batches: list[Any]) -> Iterator[Any]:
    for start in range(0, len(batches), PART_BATCHES):
        yield pa.Table.from_batches(batches[start : start + PART_BATCHES])


def _orders(share: Share) -> Iterator[Any]:
    """Rows that are dropped meanwhile are a hole in `order`, which says so."""
    try:
        for batch in segment_batches(share.segment):
            orders = batch.column("order").to_numpy()
            low, high = np.searchsorted(orders, (share.first, share.end)).tolist()
            if high > low:
                yield batch.slice(low, high - low)
    except FileNotFoundError:
        return


def _positions(reading: Reading, share: Share) -> Iterator[Any]:
    """Positions first to end, each once. Where a member turns out not to have one, another is asked."""
    group = share.group or ""
    at = share.first
    columns = {*reading.schema.names, *(condition.column for condition in reading.conditions), "position"}
    waiting = [share]
    looks = 0
    while at < share.end:
        before = at
        for each in waiting:
            for batch in _delivered(each._replace(first=at), columns):
                yield batch
                at += batch.num_rows
            if at < each.end:
                break
        if at >= share.end:
            return
        looks = looks + 1 if at == before else 0
        tried = waiting[0].segment.site_dir
        folders = sorted(reading.folders, key=lambda folder: folder == tried)  # the others first
        waiting, gone = _found(folders, group, at, share.end)
        if gone or looks >= LOOKS_MAX:
            lost = gone or [(at, share.end)]
            if reading.fail_on_loss:
                raise InputError(told_gone(group, *lost[0]))
            at = lost[0][1] if lost[0][0] <= at else at
            waiting, _ = _found(folders, group, at, share.end)


def _found(folders: list[str], group: str, first: int, end: int) -> tuple[list[Share], list[tuple[int, int]]]:
    """Who has the first of these positions, by reading it, and what that member has behind it."""
    for folder in folders:
        members = Members([Path(folder)])
        members.look()
        shares, _ = members.shares(group, first, end)
        if shares and shares[0].first == first:
            if next(_delivered(shares[0]._replace(end=first + 1)), None) is not None:
                return shares, []
    following = end
    for folder in folders:
        members = Members([Path(folder)])
        members.look()
        for share in members.shares(group, first, end)[0]:
            for batch in _some(share):
                if batch.num_rows:
                    following = min(following, batch.column("position")[0].as_py())
                    break
    return [], [(first, max(following, first + 1))]


def _delivered(share: Share, columns: Collection[str] = ("position",)) -> Iterator[Any]:
    """The deliveries of a share, up to the first that is not there."""
    at = share.first
    for batch in _some(share, columns):
        positions = batch.column("position").to_numpy()
        expected = np.arange(at, at + len(positions))
        if not np.array_equal(positions, expected):
            good = int(np.argmax(positions != expected))
            if good:
                yield batch.slice(0, good)
            return
        yield batch
        at += len(positions)


def _some(share: Share, columns: Collection[str] = ("position",)) -> Iterator[Any]:
    """The deliveries of a share that are there, some of their columns."""
    try:
        for batch in segment_batches(share.segment):
            mask = pc.equal(batch.column("event"), DELIVER)
            mask = pc.and_(mask, pc.equal(batch.column("group"), share.group))
            position = batch.column("position")
            mask = pc.and_(mask, pc.greater_equal(position, share.first))
            mask = pc.and_(mask, pc.less(position, share.end))
            wanted = batch.select([name for name in batch.schema.names if name in columns])
            chosen = _chosen(wanted, mask.fill_null(False))
            if chosen.num_rows:
                yield chosen
    except FileNotFoundError:
        return


def _chosen(batch: Any, mask: Any) -> Any:
    """Without a copy where the rows lie together."""
    flags = mask.to_numpy(zero_copy_only=False)
    count = int(np.count_nonzero(flags))
    if count == 0:
        return batch.slice(0, 0)
    first = int(np.argmax(flags))
    if flags[first : first + count].all():
        return batch.slice(first, count)
    return batch.filter(pa.array(flags))
