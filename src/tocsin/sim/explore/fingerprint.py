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
        return ("set", tuple(sorted(repr(_canonical(item, met)) for item in value)))
    if isinstance(value, msgspec.Struct):
        fields = tuple([_canonical(getattr(value, field), met) for field in value.__struct_fields__])
        return (type(value).__name__, fields)
    if isinstance(value, _GIVEN_AT_BIRTH):
        return None
    if hasattr(value, "tobytes"):  # arrays of numbers
        return ("array", value.tobytes())
    if id(value) in met:
        return ("met", met[id(value)])
    met[id(value)] = len(met)
    return (type(value).__name__, tuple([(name, _canonical(item, met)) for name, item in _attributes(value)]))


def _attributes(value: Any) -> list[tuple[str, Any]]:
    names: set[str] = set(getattr(value, "__dict__", ()))
    for kind in type(value).__mro__:
        names.update(getattr(kind, "__mypyc_attrs__", ()))
        names.update(getattr(kind, "__slots__", ()))
    names.discard("__dict__")
    found = []
    for name in sorted(names):
        if not name.startswith("stat_") and not name.startswith("_stat_") and hasattr(value, name):
            found.append((name, getattr(value, name)))
    return found
