"""What travels between machines, and what they keep on disk: small immutable values.

Message classes are msgspec structs: validated when decoded, compared by value, cheap to make. Files that define them
are not compiled by mypyc (a struct is C already). A protocol's messages, records and options live in its
`messages.py`.
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
    """A record on stable storage; it survives a crash of its site."""

    kind: ClassVar[str] = "record"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A protocol's options. Each field is `Annotated[type, Meta(description=…)]`: its formula or its origin."""
