"""The Flight server: from calls to what answers them. What is wrong is told by an error of Flight whose text begins
with the name of one of ours."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.flight as flight

from tocsin.core.config import suggestion
from tocsin.core.errors import InputError, TocsinError
from tocsin.door.access import MIDDLEWARE, Entrance
from tocsin.door.commands import Action, Descriptor, Ticket, read_command
from tocsin.door.consumers import Consumers
from tocsin.door.limits import LOOK_SECONDS
from tocsin.door.link import Link
from tocsin.door.publishing import Publishing, Rows
from tocsin.door.reading import Reading
from tocsin.live.errors import Closed, NotPrimary, TimedOut
from tocsin.traces.schema import STREAMED

ACTIONS: Final = {
    "status": "the member's status, as `tocsin status --json` has it",
    "groups": "the groups of this door, each with its first position that is kept and the next",
    "begin": 'where a read with this `after` or `consumer` begins: {"after": position}',
    "ack": "a consumer is done with everything up to a position, which is then so at every door",
    "consumers": "the consumers of a group, each with the position up to which it has acknowledged",
    "forget": "forget a consumer",
    "producer": "the largest number of a producer in a group, -1 if it has none",
}


class Door(flight.FlightServerBase):  # type: ignore[misc]
    """One member's."""

    def __init__(
        self, link: Link, reading: Reading, entrance: Entrance, certificates: list[tuple[bytes, bytes]]
    ) -> None:
        super().__init__(
            link.settings.url,
            middleware={MIDDLEWARE: entrance},
            tls_certificates=certificates or None,
        )
        self._link = link
        self._reading = reading
        self._consumers = Consumers(link)
        self._lock = threading.Lock()
        self._publishing: set[Publishing] = set()

    def _group(self, name: str | None) -> int:
        """The number of a group that is delivered at this member."""
        settings = self._link.settings
        if name is None:
            if not settings.here:
                raise NotPrimary(f"`{settings.site}` is in no group; go on at another door")
            return settings.here[0]
        if name not in settings.groups:
            raise InputError(f"no group `{name}`{suggestion(name, list(settings.groups))}")
        number = settings.groups.index(name)
        if number not in settings.here:
            raise NotPrimary(f"`{settings.site}` is no member of `{name}`; go on at another door")
        return number

    # Publish

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        with told():
            self._check_open()
            command = read_command(descriptor.command, Descriptor, "descriptor")
            rows = Rows(command, self._group, self._link.settings.message_bytes_max)
            publishing = Publishing(self._link, rows, command.until == "durable", writer)
            with self._lock:
                self._publishing.add(publishing)
            try:
                publishing.run(_batches(reader))
            finally:
                with self._lock:
                    self._publishing.discard(publishing)

    # Read

    def do_get(self, context: Any, ticket: Any) -> Any:
        with told():
            self._check_open()
            command = read_command(ticket.ticket, Ticket, "ticket")
            group = self._group(command.group)
            position = self._begin(group, command.after, command.consumer)
        rows = self._reading.read(
            self._link.settings.groups[group], position, command.limit, command.follow, context.is_cancelled
        )
        return flight.GeneratorStream(STREAMED, _told_rows(rows))

    def _begin(self, group: int, after: str | int | None, consumer: str | None) -> int:
        """The position of the first row."""
        name = self._link.settings.groups[group]
        if consumer is not None:
            wanted = self._consumers.begin(group, consumer)
            return wanted if wanted > 0 else self._reading.first_position(name)
        if isinstance(after, int):
            return after + 1
        return self._reading.next_position(name) if after == "now" else self._reading.first_position(name)

    # Actions

    def list_actions(self, context: Any) -> list[Any]:
        return list(ACTIONS.items())

    def do_action(self, context: Any, action: Any) -> list[bytes]:
        with told():
            self._check_open()
            if action.type not in ACTIONS:
                raise InputError(f"no action `{action.type}`{suggestion(action.type, list(ACTIONS))}")
            body = action.body.to_pybytes() if action.body is not None else b""
            command = read_command(body, Action, f"action `{action.type}`")
            answers: dict[str, Callable[[Action], Any]] = {
                "status": self._status,
                "groups": self._groups,
                "begin": self._begin_at,
                "ack": self._ack,
                "consumers": self._all_consumers,
                "forget": self._forget,
                "producer": self._producer,
            }
            return [msgspec.json.encode(answers[action.type](command))]

    def _status(self, _: Action) -> Any:
        return msgspec.Raw(self._link.look("status").result(LOOK_SECONDS).document)

    def _groups(self, _: Action) -> Any:
        settings = self._link.settings
        names = [settings.groups[number] for number in settings.here]
        return [
            {"group": name, "first": self._reading.first_position(name), "next": self._reading.next_position(name)}
            for name in names
        ]

    def _begin_at(self, action: Action) -> Any:
        return {"after": self._begin(self._group(action.group), action.after, action.consumer) - 1}

    def _ack(self, action: Action) -> Any:
        if action.consumer is None or action.position is None:
            raise InputError("action `ack`: expected `consumer` and `position`")
        return {"position": self._consumers.ack(self._group(action.group), action.consumer, action.position)}

    def _all_consumers(self, action: Action) -> Any:
        return self._consumers.rows(self._group(action.group))

    def _forget(self, action: Action) -> Any:
        if action.consumer is None:
            raise InputError("action `forget`: expected `consumer`")
        self._consumers.forget(self._group(action.group), action.consumer)
        return {}

    def _producer(self, action: Action) -> Any:
        if action.producer is None:
            raise InputError("action `producer`: expected `producer`")
        return {"number": self._consumers.largest_number(self._group(action.group), action.producer)}

    # The end

    def _check_open(self) -> None:
        if self._link.is_closing.is_set():
            raise self._closed()

    def _closed(self) -> Closed:
        others = ", ".join(self._link.settings.others) or "there is none"
        return Closed(f"the door of `{self._link.settings.site}` closes; go on at another one: {others}")

    def close_calls(self) -> None:
        """Let every call under way come to its end; readers notice by themselves."""
        with self._lock:
            for publishing in self._publishing:
                publishing.close(self._closed())


def _batches(reader: Any) -> Iterator[Any]:
    while True:
        try:
            yield reader.read_chunk().data
        except StopIteration:
            return


def _told_rows(rows: Iterator[Any]) -> Iterator[Any]:
    with told():
        yield from rows


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Our errors as those of Flight."""
    try:
        yield
    except FutureTimeout:
        raise flight.FlightTimedOutError("TimedOut: the member does not answer; go on at another door") from None
    except (Closed, NotPrimary) as error:
        raise flight.FlightUnavailableError(f"{type(error).__name__}: {error}") from None
    except TimedOut as error:
        raise flight.FlightTimedOutError(f"TimedOut: {error}") from None
    except TocsinError as error:
        raise flight.FlightServerError(f"{type(error).__name__}: {error}") from None
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, flight.FlightError):
            raise
        raise flight.FlightServerError(f"InputError: {error}") from None
