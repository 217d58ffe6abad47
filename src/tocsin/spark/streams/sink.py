"""Rows of Spark, published in a group through its doors, each once.

What makes that so is the group's own table of producers (core/producers.py): a message with a producer and a number is
delivered once, however often it is sent. Here a producer is one partition of one query, `etl-7/<query id>/<partition>`,
and a row's number is made of the epoch and of its place in the partition. A repeated epoch, a retried or speculative
task send the same numbers again, if the plan gives the same rows again in the same partitions; a fresh checkpoint is
another query, whose rows are new. With `numberColumn` the rows have numbers of their own, under `etl-7` alone: they are
sent once by whatever plan, and from one partition only, since they have to grow.

The group keeps the last 1,024 numbers of a producer. A task that comes again after more than that first asks how far
its producer has come: rows are sent in order, with at most 1,024 on their way, so that all before those are there.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from tocsin.core.errors import InputError
from tocsin.core.producers import NAME_BYTES_MAX, NUMBER_END, NUMBERS_MAX
from tocsin.door.client import Client
from tocsin.live.errors import TooOld
from tocsin.spark.streams.doors import client_of
from tocsin.spark.streams.options import WriteOptions

ROWS_BITS: Final = 36  # of a number: the row's place in its partition; the epoch is above
EPOCH_MAX: Final = (NUMBER_END >> ROWS_BITS) - 1
NAME_BYTES_FREE: Final = NAME_BYTES_MAX - 36 - 1 - 6  # beside a query's id and a partition


class Epoch(NamedTuple):
    """Whose rows a task has."""

    query: str  # id of the query, or of one write
    number: int
    partition: int


def check_columns(names: list[str], kinds: list[str], options: WriteOptions) -> None:
    """Refuse rows that are none, before anything is sent."""
    found = dict(zip(names, kinds, strict=True))
    if "payload" not in found:
        raise InputError(f"columns: expected `payload` (binary or string), found {', '.join(names) or 'none'}")
    if found["payload"] not in ("binary", "string"):
        raise InputError(f"column `payload`: expected binary or string, found {found['payload']}")
    if found.get("group", "string") != "string":
        raise InputError(f"column `group`: expected string, found {found['group']}")
    if "group" in found and options.group is not None:
        raise InputError("expected option `group` or column `group`, found both")
    column = options.number_column
    if column is not None and found.get(column) not in ("bigint", "int", "smallint", "tinyint"):
        raise InputError(
            f"option `numberColumn`: expected a column of whole numbers, `{column}` is {found.get(column)}"
        )
    for name in names:
        if name not in ("payload", "group", column):
            raise InputError(f"column `{name}`: expected `payload`, `group` and the column of numbers only")
    free = NAME_BYTES_MAX if column is not None else NAME_BYTES_FREE
    if len(options.producer.encode()) > free:
        raise InputError(f"option `producer`: expected at most {free} bytes, found {len(options.producer.encode())}")


def publish(options: WriteOptions, epoch: Epoch, batches: Iterator[Any]) -> int:
    """Send what a task has; how many rows. It returns when the group has ordered all of it."""
    if options.number_column is not None and epoch.partition > 0:
        raise InputError("option `numberColumn`: numbers have to grow, so that one partition sends them: coalesce(1)")
    if epoch.number > EPOCH_MAX:
        raise InputError(f"epoch {epoch.number}: expected at most {EPOCH_MAX}")
    with client_of(options) as client:
        sending = _Sending(client, options, epoch)
        for batch in batches:
            sending.send(batch)
        return sending.rows


class _Sending:
    def __init__(self, client: Client, options: WriteOptions, epoch: Epoch) -> None:
        self.rows = 0
        self._client = client
        self._options = options
        self._numbered = options.number_column
        self._first = epoch.number << ROWS_BITS
        name = f"{options.producer}/{epoch.query}/{epoch.partition}"
        self._producer = options.producer if self._numbered is not None else name
        self._reached: dict[str | None, int] = {}  # by group: the largest number there when this task began
        self._last = -1  # number that was sent

    def send(self, batch: Any) -> None:
        payloads = batch.column("payload")
        if payloads.null_count:
            raise InputError("column `payload`: expected a value in every row, found null")
        if pa.types.is_string(payloads.type) or pa.types.is_large_string(payloads.type):
            payloads = payloads.cast(pa.binary())
        numbers = self._numbers(batch)
        self.rows += batch.num_rows
        if "group" not in batch.schema.names:
            self._send(self._options.group, payloads, numbers)
            return
        groups = batch.column("group")
        if groups.null_count:
            raise InputError("column `group`: expected a value in every row, found null")
        names = groups.to_numpy(zero_copy_only=False)
        for group in dict.fromkeys(names.tolist()):  # of each group in the order of its rows
            own = np.flatnonzero(names == group)
            self._send(group, payloads.take(pa.array(own)), numbers[own])

    def _numbers(self, batch: Any) -> Any:
        if self._numbered is None:
            first = self._first + self.rows
            return np.arange(first, first + batch.num_rows)
        column = batch.column(self._numbered)
        if column.null_count:
            raise InputError(f"column `{self._numbered}`: expected a number in every row, found null")
        numbers = column.cast(pa.int64()).to_numpy()
        if len(numbers) and (int(numbers[0]) <= self._last or bool((np.diff(numbers) <= 0).any()) or numbers[0] < 0):
            raise InputError(f"column `{self._numbered}`: expected numbers from 0 on that grow from row to row")
        self._last = int(numbers[-1]) if len(numbers) else self._last
        return numbers

    def _send(self, group: str | None, payloads: Any, numbers: Any) -> None:
        """Runs of numbers that follow one another, in order."""
        if group not in self._reached:
            self._reached[group] = self._client.last_number(self._producer, group)
        cuts = [0, *(np.flatnonzero(np.diff(numbers) != 1) + 1).tolist(), len(numbers)]
        for begin, end in pairwise(cuts):
            self._send_run(group, payloads.slice(begin, end - begin).to_pylist(), int(numbers[begin]))

    def _send_run(self, group: str | None, messages: list[bytes], number: int) -> None:
        while messages:
            there = self._reached[group] - NUMBERS_MAX + 1 - number  # so many are ordered for sure
            if there > 0:
                messages, number = messages[there:], number + min(there, len(messages))
            if not messages:
                return
            try:
                self._client.publish(messages, group, self._producer, number, until=self._options.until)
                return
            except TooOld:  # another attempt of this task is ahead
                reached = self._client.last_number(self._producer, group)
                if reached <= self._reached[group]:
                    raise
                self._reached[group] = reached
