"""What travels between machines, and what they keep on disk: small immutable values.

Message classes are msgspec structs: validated when decoded, compared by value, cheap to make. Files that define them
are not compiled by mypyc (a struct is C already). A protocol's messages and records live in its `messages.py`, its
options in `options.py`; what several protocols send and keep alike, in `core/data.py`.
"""

from typing import ClassVar

import msgspec

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
    them; and where the machine later delivers the very same object, a driver need not store the bytes a second time."""

    kind: ClassVar[str] = "record"


def payload_of(record: Record) -> bytes:
    """The application's message that a record keeps, or b""."""
    fields = record.__struct_fields__
    if fields and fields[-1] == "payload":
        payload: bytes = getattr(record, "payload")  # noqa: B009  (not every record has it)
        return payload
    return b""


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A protocol's options. Each field is `Annotated[type, Meta(description=…)]`: its formula or its origin."""
