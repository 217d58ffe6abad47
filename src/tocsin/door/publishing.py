"""DoPut: batches of a client to the member, in order, some on their way at a time; an answer for each, in order.

A client's batches are read only as fast as the group takes them: beyond `UNANSWERED_BYTES_MAX` the next one stays in
the client's hands. Rows that go to one group, and are numbered on by one producer, go to the member together.
"""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa

from tocsin.core.errors import InputError, TocsinError
from tocsin.core.producers import NUMBER_END, is_producer
from tocsin.door.commands import Descriptor
from tocsin.door.limits import (
    BATCH_BYTES_MAX,
    PUBLISH_BYTES_MAX,
    PUBLISH_ROWS_MAX,
    ROWS_MAX,
    UNANSWERED_BYTES_MAX,
    UNANSWERED_MAX,
)
from tocsin.door.link import Link
from tocsin.live.doorway.words import Answer
from tocsin.live.errors import TooLarge, TooOld, Unknown

COLUMNS: Final = ("payload", "group", "producer", "number")


class Run(NamedTuple):
    """Rows that go to the member together."""

    group: int
    messages: list[bytes]
    producer: str
    number: int


class Rows:
    """The batches of one client, as runs."""

    def __init__(
        self, descriptor: Descriptor, group_number: Callable[[str | None], int], message_bytes_max: int
    ) -> None:
        self._descriptor = descriptor
        self._group_number = group_number
        self._message_bytes_max = message_bytes_max
        self._group = group_number(descriptor.group)
        self._before = 0  # rows in earlier batches

    def runs(self, batch: Any) -> Iterator[Run]:
        columns = _columns(batch)
        messages: list[bytes] = columns["payload"]
        if None in messages:
            raise InputError("publish: `payload`: expected bytes in every row, found null")
        if messages and max(map(len, messages)) > self._message_bytes_max:
            raise TooLarge(f"publish: expected messages of at most {self._message_bytes_max:,} bytes")
        first = self._before
        self._before += len(messages)
        if len(columns) == 1:
            number = 0 if self._descriptor.number is None else self._descriptor.number + first
            yield from _cut(Run(self._group, messages, self._descriptor.producer or "", number))
            return
        keys = [self._key(columns, index, first + index) for index in range(len(messages))]
        begin = 0
        for end in range(1, len(messages) + 1):
            group, producer, number = keys[begin]
            if end == len(messages) or keys[end] != (group, producer, number + end - begin if producer else 0):
                yield from _cut(Run(group, messages[begin:end], producer, number))
                begin = end

    def _key(self, columns: dict[str, list[Any]], index: int, row: int) -> tuple[int, str, int]:
        """Group, producer and number of a row; 0 where it has none."""
        named = columns["group"][index] if "group" in columns else None
        group = self._group if named is None else self._group_number(named)
        described = self._descriptor
        producer = columns["producer"][index] if "producer" in columns else described.producer
        if "number" in columns:
            number = columns["number"][index]
        else:
            number = None if described.number is None else described.number + row
        if (producer is None) != (number is None):
            raise InputError("publish: expected a producer and a number in a row, both or neither")
        if producer is None:
            return group, "", 0
        if not is_producer(producer) or not 0 <= number < NUMBER_END:
            raise InputError(
                f"publish: expected a producer of 1 to 64 bytes and a number from 0 on, found {producer!r}"
            )
        return group, producer, number


def _columns(batch: Any) -> dict[str, list[Any]]:
    """The values of the columns that a batch may have."""
    if batch.num_rows > ROWS_MAX or batch.nbytes > BATCH_BYTES_MAX:
        raise InputError(f"publish: expected at most {ROWS_MAX:,} rows and {BATCH_BYTES_MAX:,} bytes in a batch")
    names = batch.schema.names
    if len(set(names)) != len(names) or "payload" not in names or not set(names) <= set(COLUMNS):
        raise InputError(f"publish: expected a column `payload`, beside it {', '.join(COLUMNS[1:])}; found {names}")
    fitting = {"payload": _is_bytes, "group": _is_text, "producer": _is_text, "number": pa.types.is_integer}
    for name in names:
        if not fitting[name](batch.schema.field(name).type):
            raise InputError(f"publish: `{name}`: expected {_EXPECTED[name]}, found {batch.schema.field(name).type}")
    batch.validate(full=True)  # before anything relies on what it says
    return {name: batch.column(name).to_pylist() for name in names}


_EXPECTED: Final = {"payload": "binary", "group": "string", "producer": "string", "number": "int64"}


def _is_bytes(kind: Any) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _cut(run: Run) -> Iterator[Run]:
    """Pieces that are not too large for one word."""
    begin = size = 0
    for index, message in enumerate(run.messages):
        if index > begin and (index - begin >= PUBLISH_ROWS_MAX or size + len(message) > PUBLISH_BYTES_MAX):
            yield run._replace(messages=run.messages[begin:index], number=run.number + begin)
            begin, size = index, 0
        size += len(message)
    if begin < len(run.messages):
        yield run._replace(messages=run.messages[begin:], number=run.number + begin)


class Publishing:
    """One call of DoPut."""

    def __init__(self, link: Link, rows: Rows, is_durable: bool, writer: Any) -> None:
        self._link = link
        self._rows = rows
        self._is_durable = is_durable
        self._writer = writer
        self._unanswered: queue.Queue[tuple[int, list[Future[Answer]]] | None] = queue.Queue(UNANSWERED_MAX)
        self._room = threading.Condition()
        self._bytes = 0  # on their way
        self._gate = threading.Lock()
        self._is_closed = False  # nothing more is handed on
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._answer_all, name="tocsin-door-answers", daemon=True)

    def run(self, batches: Iterator[Any]) -> None:
        """Until the client has sent everything, and all is answered."""
        self._thread.start()
        try:
            for batch in batches:
                if self._error is not None or not self._put(batch):
                    break
        except TocsinError as error:  # of a batch that is wrong: those before it are answered first
            self.close(error)
        finally:
            self._unanswered.put(None)
            self._thread.join()
        if self._error is not None:
            raise self._error

    def _put(self, batch: Any) -> bool:
        """Whether nothing has failed so far."""
        size = batch.nbytes
        with self._room:
            while self._bytes > 0 and self._bytes + size > UNANSWERED_BYTES_MAX and self._error is None:
                self._room.wait(1.0)
            self._bytes += size
        runs = list(self._rows.runs(batch))
        with self._gate:
            if self._is_closed:
                return False
            self._unanswered.put((size, [self._publish(run) for run in runs]))
        return self._error is None

    def _publish(self, run: Run) -> "Future[Answer]":
        try:
            future: Future[Answer] = self._link.publish(
                run.group, run.messages, run.producer, run.number, self._is_durable
            )
        except TocsinError as error:
            future = Future()
            future.set_exception(error)
        return future

    def _answer_all(self) -> None:
        while (waiting := self._unanswered.get()) is not None:
            size, futures = waiting
            try:
                if self._error is None:
                    answers = _results(futures)
                    self._writer.write(pa.py_buffer(answer_of([run for each in answers for run in each.runs])))
            except (TocsinError, pa.ArrowException) as error:
                self._fail(error)
            with self._room:
                self._bytes -= size
                self._room.notify_all()

    def close(self, error: TocsinError) -> None:
        """The door closes: what is under way is still answered, then this."""
        failed: Future[Answer] = Future()
        failed.set_exception(error)
        with self._gate:
            self._is_closed = True
            self._unanswered.put((0, [failed]))

    def _fail(self, error: TocsinError | pa.ArrowException) -> None:
        """Tell the client at once: it may wait for its answer before it sends more."""
        self._error = error
        with contextlib.suppress(pa.ArrowException):
            self._writer.write(pa.py_buffer(msgspec.json.encode(told_error(error))))


def _results(futures: "list[Future[Answer]]") -> list[Answer]:
    """What became of the runs of a batch. Where only a part of it was taken, nobody may send all of it again as if
    nothing had happened."""
    errors = [error for error in (future.exception() for future in futures) if error is not None]
    if not errors:
        return [future.result() for future in futures]
    if len(errors) < len(futures) and not isinstance(errors[0], TooOld):
        raise Unknown(f"a part of the batch was ordered; of the rest: {errors[0]}")
    raise errors[0]


def told_error(error: BaseException) -> dict[str, str]:
    return {"error": type(error).__name__, "text": str(error)}


def answer_of(runs: list[tuple[int, int]]) -> bytes:
    """The metadata that answers a batch: the positions of its first and last row; and, where others' messages lie
    between, runs of positions, each with how many."""
    if not runs:
        return msgspec.json.encode({"positions": []})
    merged: list[tuple[int, int]] = []
    for position, count in runs:
        if merged and sum(merged[-1]) == position:
            merged[-1] = (merged[-1][0], merged[-1][1] + count)
        else:
            merged.append((position, count))
    told: dict[str, Any] = {"positions": [merged[0][0], sum(merged[-1]) - 1]}
    if len(merged) > 1:
        told["runs"] = merged
    return msgspec.json.encode(told)
