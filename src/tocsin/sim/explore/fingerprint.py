"""A canonical digest of plain state: equal for equal states, compiled or not.

Dicts count in their order (a machine may send in that order), sets do not. It walks attributes, so machines need no
code for it. Attributes whose names start with `stat_` are left out: statistics must not make equal states differ. So
are outboxes, options and loggers: what a machine was given at birth never changes. An object that several others hold
counts once, and who holds it.
"""

import hashlib
from collections import deque
from typing import Any, Final

import msgspec

from tocsin.core.machine import DeliveryLog, Outbox, Setup
from tocsin.core.message import Options
from tocsin.core.topology import Topology

_GIVEN_AT_BIRTH = (Outbox, DeliveryLog, Options, Setup, Topology)
_ABSENT: Final = object()

# What a class is here; looked up by class, because a search makes millions of fingerprints.
_PLAIN: Final = 0
_SEQUENCE: Final = 1
_MAP: Final = 2
_SET: Final = 3
_STRUCT: Final = 4
_GIVEN: Final = 5
_ARRAY: Final = 6
_OBJECT: Final = 7
_SHAPES: dict[type, int] = {}
_NAMES: dict[type, list[str]] = {}  # of structs and objects: the attributes that the class declares


def fingerprint(*values: object) -> bytes:
    """16 bytes that stand for the values."""
    return hashlib.blake2b(repr(canonical(values)).encode(), digest_size=16).digest()


def canonical(value: Any) -> Any:
    """The value as nested tuples of plain things, in a defined order."""
    return _canonical(value, {})


def _canonical(value: Any, met: dict[int, int]) -> Any:
    """`met`: by identity, the numbers of the objects met so far. The second time the number stands for the object: the
    parts of a machine know one another, and each is looked into once."""
    kind = type(value)
    shape = _SHAPES.get(kind, -1)
    if shape < 0:
        shape = _classify(kind)
    if shape == _PLAIN:
        return value
    if shape == _OBJECT:
        return _object(value, kind, met)
    if shape == _GIVEN:
        return None
    if shape == _SEQUENCE:
        return ("seq", tuple([_canonical(item, met) for item in value]))
    if shape == _STRUCT:
        fields = [_canonical(getattr(value, name), met) for name in _NAMES[kind]]
        return (kind.__name__, tuple(fields))
    if shape == _MAP:
        return ("map", tuple([(_canonical(key, met), _canonical(item, met)) for key, item in value.items()]))
    if shape == _SET:
        return ("set", tuple(sorted([repr(canonical(item)) for item in value])))  # in whatever order: each by itself
    return ("array", value.tobytes())


def _object(value: Any, kind: type, met: dict[int, int]) -> Any:
    number = met.get(id(value), -1)
    if number >= 0:
        return ("met", number)
    met[id(value)] = len(met)
    names = _NAMES[kind]
    own: dict[str, Any] | None = getattr(value, "__dict__", None)
    if own:
        names = sorted({*names, *[name for name in own if not _is_statistic(name)]})
    held: list[Any] = [kind.__name__]
    for name in names:
        item = getattr(value, name, _ABSENT)
        if item is not _ABSENT:
            held.append(name)
            held.append(_canonical(item, met))
    return tuple(held)


def _classify(kind: type) -> int:
    """What a class is, worked out once; and the names of its attributes, sorted."""
    shape = _OBJECT
    if issubclass(kind, (int, str, bytes, float, type(None))):
        shape = _PLAIN
    elif issubclass(kind, (list, tuple, deque)):
        shape = _SEQUENCE
    elif issubclass(kind, dict):
        shape = _MAP
    elif issubclass(kind, (set, frozenset)):
        shape = _SET
    elif issubclass(kind, _GIVEN_AT_BIRTH):
        shape = _GIVEN
    elif issubclass(kind, msgspec.Struct):
        shape = _STRUCT
        _NAMES[kind] = list(kind.__struct_fields__)
    elif hasattr(kind, "tobytes"):  # arrays of numbers
        shape = _ARRAY
    else:
        found: set[str] = set()
        for base in kind.__mro__:
            found.update(getattr(base, "__mypyc_attrs__", ()))
            found.update(getattr(base, "__slots__", ()))
        found.discard("__dict__")
        _NAMES[kind] = sorted([name for name in found if not _is_statistic(name)])
    _SHAPES[kind] = shape
    return shape


def _is_statistic(name: str) -> bool:
    return name.startswith(("stat_", "_stat_"))
