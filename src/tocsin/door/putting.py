"""A client's stream of batches to one door, kept open from one call of `publish` to the next."""

import contextlib
import json
from collections import deque
from typing import Any, Final

import pyarrow as pa
import pyarrow.flight as flight

from tocsin.door.pulling import Pulling
from tocsin.door.told_errors import error_told
from tocsin.live.errors import Unknown

PLAIN: Final = pa.schema([pa.field("payload", pa.binary())])
NUMBERED: Final = pa.schema(
    [pa.field("payload", pa.binary()), pa.field("producer", pa.string()), pa.field("number", pa.int64())]
)
END_SECONDS: Final = 0.5  # for a door to end the call when the client has sent everything


class PutStream:
    """Of messages to one group, plain or numbered."""

    def __init__(self, client: Any, options: Any, group: str | None, until: str, is_numbered: bool) -> None:
        command = {"group": group, "until": until}
        self._schema = NUMBERED if is_numbered else PLAIN
        descriptor = flight.FlightDescriptor.for_command(json.dumps(command).encode())
        self._writer, reader = client.do_put(descriptor, self._schema, options)
        self._answers = Pulling(lambda: _answer(reader), self._end_writer)
        self._sent: deque[int] = deque()  # rows of the batches that are not answered yet

    def unanswered(self) -> int:
        """Batches."""
        return len(self._sent)

    def put(self, messages: list[bytes], producer: str | None, number: int) -> None:
        columns = [pa.array(messages, pa.binary())]
        if producer is not None:
            columns.append(pa.repeat(producer, len(messages)))
            columns.append(pa.array(range(number, number + len(messages)), pa.int64()))
        self._sent.append(len(messages))
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def take(self, seconds: float) -> list[int]:
        """The positions of the oldest batch that is not answered."""
        told = self._answers.next(seconds)
        if told is None:
            self._end_writer()
            self._writer.close()  # says why
            raise Unknown("the door ended before it had answered")
        if "error" in told:
            raise error_told(told)
        rows = self._sent.popleft()
        first, last = told["positions"]
        runs = told.get("runs", [[first, last - first + 1]])
        positions = [position + index for position, count in runs for index in range(count)]
        if len(positions) != rows:
            raise Unknown(f"the door answers {rows} messages with {len(positions)} positions")
        return positions

    def close(self) -> None:
        """The writer belongs to whoever puts: nobody else may close it. While the door has not ended the call, closing
        would wait for that."""
        self._answers.close()
        if self._answers.has_ended(END_SECONDS):
            with contextlib.suppress(pa.ArrowException, OSError):
                self._writer.close()

    def _end_writer(self) -> None:
        with contextlib.suppress(pa.ArrowException, OSError):
            self._writer.done_writing()


def _answer(reader: Any) -> dict[str, Any] | None:
    """None: the door has ended the call."""
    metadata = reader.read()
    return None if metadata is None else json.loads(metadata.to_pybytes())
