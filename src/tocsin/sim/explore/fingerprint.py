"""A canonical digest of plain state: equal for equal states, compiled or not.

Dicts count in their order (a machine may send in that order), sets do not. It walks attributes, so machines need no
code for it. Attributes whose names start with `stat_` are left out: statistics must not make equal states differ. So
are outboxes, options and loggers: what a machine was given at birth never changes. An object that several others hold
counts once, and who holds it.
"""

import hashlib
from collections import deque
from typing import Any

import msgspec

from tocsin.core.machine import DeliveryLog, Outbox, Setup
from tocsin.core.message import Options
from tocsin.core.topology import Topology

_GIVEN_AT_BIRTH = (Outbox, DeliveryLog, Options, Setup, Topology)
_ABSENT = object()
_DECLARED: dict[type, list[str]] = {}  # by class: see `_declared`


def fingerprint(*values: object) -> bytes:
    """16 bytes that stand for the values."""
    return hashlib.blake2b(repr(canonical(values)).encode(), digest_size=16).digest()


def canonical(value: Any) -> Any:
    """The value as nested tuples of plain things, in a defined order."""
    return _canonical(value, {})


def _canonical(value: Any, met: dict[int, int]) -> Any:
    """`met`: by identity, the numbers of the objects met so far. The second time the number stands for the object: the
    parts of a machine know one another, and each is looked into once."""
    if value is None or isinstance(value, (int, str, bytes, float)):
        return value
    if isinstance(value, (list, tuple, deque)):
        return ("seq", tuple([_canonical(item, met) for item in value]))
    if isinstance(value, dict):
        return ("map", tuple([(_canonical(key, met), _canonical(item, met)) for key, item in value.items()]))
    if isinstance(value, (set, frozenset)):
        return ("set", tuple(sorted(repr(canonical(item)) for item in value)))  # in whatever order: each by itself
    if isinstance(value, msgspec.Struct):
        fields = tuple([_canonical(getattr(value, field), met) for field in value.__struct_fields__])
        return (type(value).__name__, fields)
    if isinstance(value, _GIVEN_AT_BIRTH):
        return None
    if hasattr(value, "tobytes"):  # arrays of numbers
        return ("array", value.tobytes())
    number = met.get(id(value), -1)
    if number >= 0:
        return ("met", number)
    met[id(value)] = len(met)
    held: list[Any] = [type(value).__name__]
    for name in _names(value):
        item = getattr(value, name, _ABSENT)
        if item is not _ABSENT:
            held.append(name)
            held.append(item if type(item) is int else _canonical(item, met))
    return tuple(held)


def _names(value: Any) -> list[str]:
    names = _declared(type(value))
    own: dict[str, Any] | None = getattr(value, "__dict__", None)
    if own is not None:
        names = sorted({*names, *[name for name in own if not _is_statistic(name)]})
    return names


def _declared(kind: type) -> list[str]:
    """The names of the attributes that a class declares, sorted; worked out once."""
    names = _DECLARED.get(kind)
    if names is None:
        found: set[str] = set()
        for base in kind.__mro__:
            found.update(getattr(base, "__mypyc_attrs__", ()))
            found.update(getattr(base, "__slots__", ()))
        found.discard("__dict__")
        names = sorted([name for name in found if not _is_statistic(name)])
        _DECLARED[kind] = names
    return names


def _is_statistic(name: str) -> bool:
    return name.startswith(("stat_", "_stat_"))
