"""What travels between machines, and what they keep on disk: small immutable values.

Message classes are msgspec structs: validated when decoded, compared by value, cheap to make. Files that define them
are not compiled by mypyc (a struct is C already). A protocol's messages and records live in its `messages.py`, its
options in `options.py`; what several protocols send and keep alike, in `core/data.py`.
"""

from typing import Annotated, ClassVar

import msgspec

RECORDS_MAX = 4096
SITE_FIELDS = frozenset({"origin", "site", "source", "sender", "target", "root", "owner", "parent", "coordinator"})


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True, forbid_unknown_fields=True, gc=False):
    """A wire message. Deriving classes repeat `frozen=True`."""

    kind: ClassVar[str] = "control"  # the trace's kind: data, token, ack, request, null, probe, …

    def carries(self) -> tuple[tuple[int, int], ...]:
        """The application messages inside, as (origin, seqno); traces of `receive` name them."""
        return ()

    def payloads(self) -> tuple[bytes, ...]:
        """Their payloads, in the same order. Who carries one has it in the field `payload`; others say."""
        return (self.payload,) if "payload" in self.__struct_fields__ else ()  # type: ignore[attr-defined]

    def brief(self, names: list[str]) -> str:
        """How transcripts write it: `Data(a:0)`; deriving classes may say more or less."""
        inside = ", ".join(_brief(field, getattr(self, field), names) for field in self.__struct_fields__)
        return f"{type(self).__name__}({inside})"


def _brief(field: str, value: object, names: list[str]) -> str:
    if field in SITE_FIELDS and isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    return str(value)


class Record(Message, frozen=True):
    """A record on stable storage; it survives a crash of its site.

    A record that keeps an application's message has its bytes as the last field, named `payload`. Encoded, it ends with
    them; and where the machine later delivers the very same object, a driver need not store the bytes a second time.

    With `always_synced`, nothing leaves the site before the record is safe from a power loss, also where messages need
    only be safe from kill -9: promises, ballots, votes, views, lives. Who forgets one may contradict itself."""

    kind: ClassVar[str] = "record"
    always_synced: ClassVar[bool] = False

    def promise(self) -> object:
        """Of a record that is always synced, what must not be forgotten: a checkpoint that repeats it need not be."""
        return self


def payload_of(record: Record) -> bytes:
    """The application's message that a record keeps, or b""."""
    fields = record.__struct_fields__
    if fields and fields[-1] == "payload":
        payload: bytes = getattr(record, "payload")  # noqa: B009  (not every record has it)
        return payload
    return b""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A protocol's options, and those that all have. Each field is `Annotated[type, Meta(description=…)]`: its formula
    or its origin."""

    records_max: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            le=1 << 24,
            description="Records on disk before they are folded into a checkpoint, besides a few times those that the "
            "checkpoint would have to repeat. A restart reads so many; the default 4096 are read in milliseconds.",
        ),
    ] = RECORDS_MAX
