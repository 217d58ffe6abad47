"""A digest of plain state: equal for equal states, compiled or not.

Dicts count in their order (a machine may send in that order), sets do not. It walks attributes, so machines need no
code for it. Attributes whose names start with `stat_` are left out: statistics must not make equal states differ. So
are outboxes, options and loggers: what a machine was given at birth never changes. An object that several others hold
counts once, and who holds it. Of an estimate (`core/estimate.py`) the octave counts.
"""

import hashlib
import marshal
from collections import deque
from typing import Any, Final

import msgspec

from tocsin.core.estimate import Estimate
from tocsin.core.machine import DeliveryLog, Outbox, Setup
from tocsin.core.message import Options
from tocsin.core.topology import Topology

_GIVEN_AT_BIRTH = (Outbox, DeliveryLog, Options, Setup, Topology)
_ABSENT: Final = object()
HOLDS: Final = ...  # no machine holds it
_PLAIN_FORMAT: Final = 0  # of marshal: by value alone, no references

# What a class is here; looked up by class, because a search makes millions of fingerprints.
_PLAIN: Final = 0
_SEQUENCE: Final = 1
_MAP: Final = 2
_SET: Final = 3
_STRUCT: Final = 4
_GIVEN: Final = 5
_ARRAY: Final = 6
_OBJECT: Final = 7
_ESTIMATE: Final = 8
_DERIVED: Final = 9  # from a plain class
_SHAPES: dict[type, int] = {}
_NAMES: dict[type, list[str]] = {}  # of structs and objects: the attributes that the class declares


def fingerprint(*values: object) -> bytes:
    """16 bytes that stand for the values."""
    return hashlib.blake2b(canonical(values), digest_size=16).digest()


def canonical(value: Any) -> bytes:
    """The value written down, in a defined order."""
    written: list[Any] = []
    _write(value, {}, written)
    return marshal.dumps(written, _PLAIN_FORMAT)


def _write(value: Any, met: dict[int, int], written: list[Any]) -> None:
    """Plain values are written as they are; what holds others as HOLDS, its kind, how many there are, and these.

    `met`: by identity, the numbers of the objects met so far. The second time the number stands for the object: the
    parts of a machine know one another, and each is looked into once."""
    kind = type(value)
    shape = _SHAPES.get(kind, -1)
    if shape < 0:
        shape = _classify(kind)
    if shape == _PLAIN:
        written.append(value)
    elif shape == _OBJECT:
        _write_object(value, kind, met, written)
    elif shape == _GIVEN:
        written.append(None)
    elif shape == _ESTIMATE:
        written.append(HOLDS)
        written.append(_ESTIMATE)
        written.append(value.octave())
    elif shape == _SEQUENCE:
        written.append(HOLDS)
        written.append(_SEQUENCE)
        written.append(len(value))
        for item in value:
            _write(item, met, written)
    elif shape == _STRUCT:
        written.append(HOLDS)
        written.append(kind.__name__)
        for name in _NAMES[kind]:
            _write(getattr(value, name), met, written)
    elif shape == _MAP:
        written.append(HOLDS)
        written.append(_MAP)
        written.append(len(value))
        for key, item in value.items():
            _write(key, met, written)
            _write(item, met, written)
    elif shape == _SET:
        written.append(HOLDS)
        written.append(_SET)
        written.append(sorted([canonical(item) for item in value]))  # in whatever order: each by itself
    elif shape == _DERIVED:
        written.append(HOLDS)
        written.append(repr(value))
    else:
        written.append(HOLDS)
        written.append(_ARRAY)
        written.append(value.tobytes())


def _write_object(value: Any, kind: type, met: dict[int, int], written: list[Any]) -> None:
    number = met.get(id(value), -1)
    if number >= 0:
        written.append(HOLDS)
        written.append(_OBJECT)
        written.append(number)
        return
    met[id(value)] = len(met)
    names = _NAMES[kind]
    own: dict[str, Any] | None = getattr(value, "__dict__", None)
    if own:
        names = sorted({*names, *[name for name in own if not _is_statistic(name)]})
    written.append(HOLDS)
    written.append(kind.__name__)
    for name in names:
        item = getattr(value, name, _ABSENT)
        if item is not _ABSENT:
            written.append(name)
            _write(item, met, written)
    written.append(HOLDS)


def _classify(kind: type) -> int:
    """What a class is, worked out once; and the names of its attributes, sorted."""
    shape = _OBJECT
    if kind in (int, bool, str, bytes, float, type(None)):
        shape = _PLAIN
    elif issubclass(kind, (int, str, bytes, float)):
        shape = _DERIVED
    elif issubclass(kind, (list, tuple, deque)):
        shape = _SEQUENCE
    elif issubclass(kind, dict):
        shape = _MAP
    elif issubclass(kind, (set, frozenset)):
        shape = _SET
    elif issubclass(kind, _GIVEN_AT_BIRTH):
        shape = _GIVEN
    elif issubclass(kind, Estimate):
        shape = _ESTIMATE
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
