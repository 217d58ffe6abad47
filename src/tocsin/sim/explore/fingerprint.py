"""A canonical digest of plain state: equal for equal states, compiled or not.

Dicts count in their order (a machine may send in that order), sets do not. It walks attributes, so machines need no
code for it. Attributes whose names start with `stat_` are left out: statistics must not make equal states differ. So
are outboxes, options and loggers: what a machine was given at birth never changes. A part that several parts of a
machine have is walked once, and named by its number wherever it is met again.
"""

import hashlib
from collections import deque
from typing import Any

import msgspec

from tocsin.core.machine import DeliveryLog, Outbox, Setup
from tocsin.core.message import Options
from tocsin.core.topology import Topology

_GIVEN_AT_BIRTH = (Outbox, DeliveryLog, Options, Setup, Topology)
_FIXED_NAMES: dict[type, list[str]] = {}  # of compiled classes, all of whose objects have the same attributes


def fingerprint(*values: object) -> bytes:
    """16 bytes that stand for the values."""
    return hashlib.blake2b(repr(canonical(values)).encode(), digest_size=16).digest()


def canonical(value: Any) -> Any:
    """The value as nested tuples of plain things, in a defined order."""
    return _canonical(value, {})


def _canonical(value: Any, met: dict[int, int]) -> Any:
    """`met` has the number of each object that was met before, by its identity."""
    if value is None or isinstance(value, (int, str, bytes, float)):
        return value
    if isinstance(value, (list, tuple, deque)):
        return ("seq", tuple([_canonical(item, met) for item in value]))
    if isinstance(value, dict):
        return ("map", tuple([(_canonical(key, met), _canonical(item, met)) for key, item in value.items()]))
    if isinstance(value, (set, frozenset)):
        return ("set", tuple(sorted(repr(canonical(item)) for item in value)))
    if isinstance(value, msgspec.Struct):
        fields = tuple([_canonical(getattr(value, field), met) for field in value.__struct_fields__])
        return (type(value).__name__, fields)
    if type(value) not in _FIXED_NAMES:
        if isinstance(value, _GIVEN_AT_BIRTH):
            return None
        if hasattr(value, "tobytes"):  # arrays of numbers
            return ("array", value.tobytes())
    number = met.get(id(value))
    if number is not None:
        return ("met", number)
    met[id(value)] = len(met)
    return (type(value).__name__, tuple([(name, _canonical(item, met)) for name, item in _attributes(value)]))


def _attributes(value: Any) -> list[tuple[str, Any]]:
    kind = type(value)
    names = _FIXED_NAMES.get(kind)
    if names is None:
        found: set[str] = set(getattr(value, "__dict__", ()))
        for each in kind.__mro__:
            found.update(getattr(each, "__mypyc_attrs__", ()))
            found.update(getattr(each, "__slots__", ()))
        found.discard("__dict__")
        names = sorted([name for name in found if not name.startswith(("stat_", "_stat_"))])
        if not hasattr(value, "__dict__"):
            _FIXED_NAMES[kind] = names
    return [(name, getattr(value, name)) for name in names if hasattr(value, name)]
