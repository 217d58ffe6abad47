"""The client of a group's doors: publish and read from any process. It needs pyarrow, and nothing of a member.

With several doors it goes on at another when one fails: reads from the same position, without gap or repeat;
publishing with a producer's numbers exactly once. Without them, what was sent and not answered is `Unknown`: it may be
delivered, or never.
"""

import json
import threading
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Final, Literal, Self

import pyarrow as pa
import pyarrow.flight as flight

from tocsin.core.errors import InputError, TocsinError
from tocsin.door.doors import Doors
from tocsin.door.patience import Patience
from tocsin.door.pulling import Pulling
from tocsin.door.putting import PutStream
from tocsin.door.told_errors import error_from
from tocsin.live.errors import Closed, NotPrimary, TooOld, Unknown

After = int | Literal["start", "now"]
Until = Literal["ordered", "durable"]

TIMEOUT_SECONDS: Final = 30.0  # for which a call looks for a door that can do it
ANSWER_SECONDS: Final = 10.0  # for an action, or a batch that is published; then another door is asked
SILENT_SECONDS: Final = 10.0  # of a door that is followed, which says something every two
CHUNK_ROWS: Final = 8192  # messages of one batch …
CHUNK_BYTES: Final = 1 << 20  # … and their bytes; a larger message goes alone
CHUNKS_AHEAD: Final = 16  # batches that are sent before the first is answered
NUMBERED_ROWS: Final = 256  # of one batch with numbers: with those ahead they are as many as the group remembers …
NUMBERED_AHEAD: Final = 4  # … of a producer (1,024), so that all of them can be sent again
_NOT_TAKEN: Final = (Closed, NotPrimary)  # said by a door of a batch that it has not handed on


class Client:
    """See `tocsin.connect`. Safe to use from several threads; publishing is one call at a time."""

    def __init__(
        self, urls: str | list[str], token: str | None, fingerprint: str | None, timeout: float = TIMEOUT_SECONDS
    ) -> None:
        self._doors = Doors(urls, token, fingerprint)
        self._timeout = timeout
        self._publishing = threading.Lock()
        self._streams: dict[tuple[int, str | None, str, bool], PutStream] = {}  # by door, group, until, numbered

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with self._publishing:
            self._drop_streams()
        self._doors.close()

    # Publish

    def publish(
        self,
        messages: Iterable[bytes],
        group: str | None = None,
        producer: str | None = None,
        number: int | None = None,
        until: Until = "ordered",
    ) -> list[int]:
        """The positions of these messages, when they are ordered, or durable. With a producer, message `i` has number
        `number + i`: however often that is sent, it is delivered once; so this goes on at another door where one fails.
        Without, `Unknown` says that what was sent may be delivered, or never."""
        if (producer is None) != (number is None):
            raise InputError("publish: expected `producer` and `number`, both or neither")
        if until not in ("ordered", "durable"):
            raise InputError(f'publish: `until`: expected "ordered" or "durable", found {until!r}')
        chunks = _chunks(_checked(messages), NUMBERED_ROWS if producer is not None else CHUNK_ROWS)
        with self._publishing:
            return self._publish(chunks, group, producer, number or 0, until)

    def _publish(
        self, chunks: list[list[bytes]], group: str | None, producer: str | None, number: int, until: str
    ) -> list[int]:
        answered: list[list[int]] = []
        patience = Patience(self._doors, self._timeout)
        while len(answered) < len(chunks):
            at, before, stream = -1, len(answered), None
            try:
                at, _, client = self._doors.current()
                stream = self._stream(at, client, group, until, producer is not None)
                self._put(stream, chunks, answered, producer, number)
            except Exception as raised:
                error = error_from(raised, self._doors.urls[at])
                self._drop_streams()
                if len(answered) > before:
                    patience.on_success()
                if producer is None and stream is not None and not _is_safe_to_repeat(error, stream):
                    raise Unknown(
                        f"{len(answered)} of {len(chunks)} batches were answered, the others may be delivered, or "
                        f"never: {error}"
                    ) from None
                patience.on_failure(max(at, 0), error)
        return [position for positions in answered for position in positions]

    def _put(
        self, stream: PutStream, chunks: list[list[bytes]], answered: list[list[int]], producer: str | None, number: int
    ) -> None:
        """All that is not answered, some ahead of their answers."""
        ahead = CHUNKS_AHEAD if producer is None else NUMBERED_AHEAD
        sent = len(answered)
        first = number + sum(len(chunk) for chunk in chunks[:sent])
        while len(answered) < len(chunks):
            if sent < len(chunks) and sent - len(answered) < ahead:
                stream.put(chunks[sent], producer, first)
                first += len(chunks[sent])
                sent += 1
            else:
                answered.append(stream.take(self._answer_seconds(producer)))

    def _answer_seconds(self, producer: str | None) -> float:
        """Who can send again loses little by asking elsewhere."""
        return min(ANSWER_SECONDS, self._timeout) if producer is not None else self._timeout

    def _stream(self, at: int, client: Any, group: str | None, until: str, is_numbered: bool) -> PutStream:
        key = (at, group, until, is_numbered)
        if key not in self._streams:
            # that the door is there is asked first: what fails later may have been taken
            self._act(client, "begin", {"group": group, "after": -1})
            self._streams[key] = PutStream(client, self._doors.options(), group, until, is_numbered)
        return self._streams[key]

    def _drop_streams(self) -> None:
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()

    # Read

    def read(
        self,
        group: str | None = None,
        after: After = "start",
        limit: int | None = None,
        follow: bool = False,
        consumer: str | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Record batches of streamed rows, from after a position on (or "start", "now"; or a consumer's cursor): at
        most `limit` rows; with `follow`, also those that are still to come. Goes on at another door when one fails."""
        if consumer is not None and after != "start":
            raise InputError("read: expected `consumer` or `after`, found both")
        asked = {"group": group} | ({"after": after} if consumer is None else {"consumer": consumer})
        position = int(self._ask("begin", asked)["after"])
        left = limit
        patience = Patience(self._doors, self._timeout)
        while left is None or left > 0:
            at = -1
            try:
                at, _, client = self._doors.current()
                ticket = {"group": group, "after": position, "limit": left, "follow": follow}
                for batch in _rows(client, self._doors.options(), ticket):
                    patience.on_success()
                    if batch.num_rows:
                        position = batch.column("position")[-1].as_py()
                        left = None if left is None else left - batch.num_rows
                        yield batch
                if not follow:
                    return
            except GeneratorExit:
                raise
            except Exception as raised:
                patience.on_failure(max(at, 0), error_from(raised, self._doors.urls[at]))

    def ack(self, consumer: str, position: int, group: str | None = None) -> None:
        """A consumer is done with everything up to a position: at every door it goes on after that."""
        self._ask("ack", {"consumer": consumer, "position": position, "group": group})

    # Questions

    def groups(self) -> list[dict[str, Any]]:
        """The groups at the door in use: `group`, `first` (the oldest position that is kept), `next`."""
        answer: list[dict[str, Any]] = self._ask("groups", {})
        return answer

    def status(self) -> dict[str, Any]:
        """Of the member whose door is in use."""
        answer: dict[str, Any] = self._ask("status", {})
        return answer

    def consumers(self, group: str | None = None) -> dict[str, int]:
        """By consumer: the position up to which it has acknowledged; -1: nothing so far."""
        answer: dict[str, int] = self._ask("consumers", {"group": group})
        return answer

    def forget(self, consumer: str, group: str | None = None) -> None:
        """The consumer is no more; if it comes again, it is new."""
        self._ask("forget", {"consumer": consumer, "group": group})

    def last_number(self, producer: str, group: str | None = None) -> int:
        """The largest number of a producer in the group's order; -1: none. Who sends in order goes on behind it."""
        return int(self._ask("producer", {"producer": producer, "group": group})["number"])

    def _ask(self, action: str, body: dict[str, Any]) -> Any:
        """An action that may be asked again, at whichever door."""
        patience = Patience(self._doors, self._timeout)
        while True:
            at = -1
            try:
                at, _, client = self._doors.current()
                return self._act(client, action, body)
            except Exception as raised:
                patience.on_failure(max(at, 0), error_from(raised, self._doors.urls[at]))

    def _act(self, client: Any, action: str, body: dict[str, Any]) -> Any:
        results = client.do_action(
            flight.Action(action, json.dumps(body).encode()), self._doors.options(min(ANSWER_SECONDS, self._timeout))
        )
        return json.loads(next(iter(results)).body.to_pybytes())


def _is_safe_to_repeat(error: TocsinError, stream: PutStream) -> bool:
    """Whether nothing of what is not answered was taken, as the door says; what is wrong with it is told as it is."""
    refused = isinstance(error, (InputError, TooOld)) or (isinstance(error, _NOT_TAKEN) and stream.unanswered() == 1)
    return stream.unanswered() == 0 or refused


def _rows(client: Any, options: Any, ticket: dict[str, Any]) -> Iterator[Any]:
    reader = client.do_get(flight.Ticket(json.dumps(ticket).encode()), options)
    pulling = Pulling(lambda: reader.read_chunk().data, reader.cancel)
    try:
        while True:
            try:
                yield pulling.next(SILENT_SECONDS)
            except StopIteration:
                return
    finally:
        pulling.close()


def _checked(messages: Iterable[bytes]) -> list[bytes]:
    if isinstance(messages, (bytes, bytearray, memoryview, str)):
        raise InputError(f"publish: expected a list of messages, found one {type(messages).__name__}")
    found = messages.to_pylist() if isinstance(messages, (pa.Array, pa.ChunkedArray)) else list(messages)
    for message in found:
        if not isinstance(message, (bytes, bytearray, memoryview)):
            cure = "; encode it first: text.encode()" if isinstance(message, str) else ""
            raise InputError(f"publish: expected bytes, found {type(message).__name__}{cure}")
    return [bytes(message) for message in found]


def _chunks(messages: list[bytes], rows_max: int) -> list[list[bytes]]:
    chunks: list[list[bytes]] = []
    size = 0
    for message in messages:
        if not chunks or len(chunks[-1]) >= rows_max or size + len(message) > CHUNK_BYTES:
            chunks.append([])
            size = 0
        chunks[-1].append(message)
        size += len(message)
    return chunks
