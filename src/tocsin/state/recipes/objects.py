"""Any number of named objects in one replicated state. A name and a kind make an object; it comes into being when it is
first used."""

from typing import Any, Final, TypeVar

import msgspec

from tocsin.core.errors import InputError
from tocsin.state.recipes.counter_state import CounterState
from tocsin.state.recipes.lock_state import LockState
from tocsin.state.recipes.map_state import MapState
from tocsin.state.recipes.queue_state import QueueState
from tocsin.state.states import Caller

AnyObject = MapState | LockState | QueueState | CounterState
Kind = TypeVar("Kind", MapState, LockState, QueueState, CounterState)

KINDS: Final[dict[str, type[AnyObject]]] = {
    "map": MapState,
    "lock": LockState,
    "leader": LockState,  # who holds it, leads
    "queue": QueueState,
    "counter": CounterState,
}
NAME_LENGTH_MAX: Final = 255

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(tuple[str, str, str, list[Any]])
_answers: Final = msgspec.msgpack.Decoder()
_snapshots: Final = msgspec.msgpack.Decoder(list[tuple[str, str, Any]])


def encode_call(kind: str, name: str, operation: str, *arguments: object) -> bytes:
    return _encoder.encode((kind, name, operation, arguments))


def decode_answer(answer: bytes) -> Any:
    return _answers.decode(answer)


class Objects:
    """The state of `tocsin.recipes`."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, str], AnyObject] = {}

    def get(self, kind: str, name: str) -> AnyObject:
        """An object, to look at: one that nobody has used yet is new."""
        found = self._objects.get((kind, name))
        if found is None:
            if kind not in KINDS or not 1 <= len(name) <= NAME_LENGTH_MAX:
                raise InputError(f"recipes: expected one of {', '.join(KINDS)} with a name, found `{kind}` `{name}`")
            found = self._objects[(kind, name)] = KINDS[kind]()
        return found

    def apply_from(self, command: bytes, caller: Caller) -> bytes:
        kind, name, operation, arguments = _decoder.decode(command)
        return _encoder.encode(self.get(kind, name).apply(operation, arguments, caller))

    def on_gone(self, site: str, life: int, position: int) -> None:
        for key in sorted(self._objects):
            self._objects[key].on_gone(site, life)

    def snapshot(self) -> bytes:
        """Objects that are as new are left out: whether somebody has looked at one is no part of the state."""
        rows = [(kind, name, self._objects[(kind, name)].rows()) for kind, name in sorted(self._objects)]
        return _encoder.encode([row for row in rows if row[2] != KINDS[row[0]]().rows()])

    def restore(self, snapshot: bytes) -> None:
        """The objects stay the same ones, for whoever listens to them."""
        rows = {(kind, name): row for kind, name, row in _snapshots.decode(snapshot)}
        for kind, name in sorted(self._objects.keys() | rows.keys()):
            found = self.get(kind, name)
            found.restore(rows[(kind, name)] if (kind, name) in rows else _plain(KINDS[kind]().rows()))


def _plain(rows: object) -> Any:
    """As a snapshot would have it."""
    return _answers.decode(_encoder.encode(rows))
