"""How much a machine holds: its object graph is walked, so machines need no code for it.

A message held is a payload: a bytes object that is not empty. An entry is an item of a list, dict, set or queue. What a
machine was given at birth (its outbox, its log, its options, the topology) is not its own.
"""

from collections import deque
from typing import Any, Final

import msgspec

from tocsin.core.machine import DeliveryLog, Outbox, Setup
from tocsin.core.message import Options
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology

_GIVEN = (Outbox, DeliveryLog, Options, Setup, Topology, Rng)
_ATOMS = (int, str, float, type(None), type)

# What a class is here; looked up by class.
_ATOM: Final = 0
_BYTES: Final = 1
_SEQUENCE: Final = 2
_MAP: Final = 3
_OBJECT: Final = 4
_SHAPES: dict[type, int] = {}
_FIELDS: dict[type, list[str]] = {}  # of structs and objects: the attributes that the class declares


class Holding:
    """What was found inside a machine."""

    def __init__(self) -> None:
        self.messages = 0
        self.entries = 0


def inside(machine: object) -> Holding:
    """Everything that can be reached from a machine and is its own, each object once."""
    found = Holding()
    met: set[int] = {id(machine)}
    waiting: list[Any] = [machine]
    while waiting:
        value = waiting.pop()
        kind = type(value)
        shape = _SHAPES.get(kind, -1)
        if shape < 0:
            shape = _classify(kind)
        if shape == _BYTES:
            found.messages += 1 if value else 0
            continue
        if shape == _OBJECT:
            parts = _parts(value, kind)
        elif shape == _MAP:
            found.entries += len(value)
            parts = [*value.keys(), *value.values()]
        else:
            found.entries += len(value)
            parts = list(value)
        for part in parts:
            if _SHAPES.get(type(part), -1) != _ATOM and id(part) not in met:
                met.add(id(part))
                if _SHAPES.get(type(part), -1) >= 0 or _classify(type(part)) != _ATOM:
                    waiting.append(part)
    return found


def _parts(value: Any, kind: type) -> list[Any]:
    """What the attributes of an object hold; an attribute that is not set is none."""
    parts: list[Any] = [getattr(value, name, None) for name in _FIELDS[kind]]
    own: dict[str, Any] | None = getattr(value, "__dict__", None)
    if own:
        parts.extend(own.values())
    return parts


def _classify(kind: type) -> int:
    """What a class is, worked out once; and the names of its attributes."""
    shape = _OBJECT
    is_given = any(base in _GIVEN for base in kind.__mro__)  # compiled abstract classes share `issubclass`'s memory
    if is_given or issubclass(kind, _ATOMS) or hasattr(kind, "tobytes"):
        shape = _ATOM
    elif issubclass(kind, (bytes, bytearray)):
        shape = _BYTES
    elif issubclass(kind, (list, tuple, deque, set, frozenset)):
        shape = _SEQUENCE
    elif issubclass(kind, dict):
        shape = _MAP
    elif issubclass(kind, msgspec.Struct):
        _FIELDS[kind] = list(kind.__struct_fields__)
    else:
        names: set[str] = set()
        for base in kind.__mro__:
            names.update(getattr(base, "__mypyc_attrs__", ()))
            names.update(getattr(base, "__slots__", ()))
        names.discard("__dict__")
        _FIELDS[kind] = sorted(names)
    _SHAPES[kind] = shape
    return shape
