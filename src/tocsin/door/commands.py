"""Tickets, descriptors and actions: the JSON in which a client says what it wants (docs/door.md)."""

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from tocsin.core.cursors import is_consumer
from tocsin.core.errors import InputError
from tocsin.core.producers import NUMBER_END, is_producer
from tocsin.door.limits import COMMAND_BYTES_MAX

Number = Annotated[int, Meta(ge=0, lt=NUMBER_END)]
After = Literal["start", "now"] | Annotated[int, Meta(ge=-1, lt=NUMBER_END)]


class Ticket(msgspec.Struct, forbid_unknown_fields=True):
    """Of DoGet."""

    group: str | None = None
    after: After | None = None  # None: "start"; with a consumer, its cursor
    limit: Annotated[int, Meta(ge=0)] | None = None  # rows
    follow: bool = False
    consumer: str | None = None


class Descriptor(msgspec.Struct, forbid_unknown_fields=True):
    """Of DoPut, as its command."""

    group: str | None = None
    producer: str | None = None
    number: Number | None = None  # of the first row; the others count on, over all batches
    until: Literal["ordered", "durable"] = "ordered"


class Action(msgspec.Struct, forbid_unknown_fields=True):
    """The body of an action; each uses what it needs."""

    group: str | None = None
    after: After | None = None
    consumer: str | None = None
    producer: str | None = None
    position: Annotated[int, Meta(ge=-1, lt=NUMBER_END - 2)] | None = None


Command = TypeVar("Command", Ticket, Descriptor, Action)


def read_command(body: bytes | None, kind: type[Command], what: str) -> Command:
    """An empty body is an empty object."""
    data = body or b"{}"
    if len(data) > COMMAND_BYTES_MAX:
        raise InputError(
            f"{what}: expected at most {COMMAND_BYTES_MAX:,} bytes (COMMAND_BYTES_MAX), found {len(data):,}"
        )
    try:
        command: Any = msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        keys = ", ".join(kind.__struct_fields__)
        raise InputError(f"{what}: expected JSON with the keys {keys}: {error}") from None
    _check(command, what)
    return command  # type: ignore[no-any-return]


def _check(command: Any, what: str) -> None:
    consumer, producer = getattr(command, "consumer", None), getattr(command, "producer", None)
    if consumer is not None and not is_consumer(consumer):
        raise InputError(f"{what}: `consumer`: expected printable text of 1 to 63 bytes, found {consumer!r}")
    if producer is not None and not is_producer(producer):
        raise InputError(f"{what}: `producer`: expected printable text of 1 to 64 bytes, found {producer!r}")
    if isinstance(command, Descriptor) and (producer is None) != (command.number is None):
        raise InputError(f"{what}: expected `producer` and `number`, both or neither")
    if isinstance(command, Ticket) and consumer is not None and command.after is not None:
        raise InputError(f"{what}: expected `consumer` or `after`, found both")
