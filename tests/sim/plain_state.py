"""State as nested tuples of plain things: the slow plain twin of the explorer's fingerprint, one can read it."""

from collections import deque
from typing import Any

import msgspec

from tocsin.core.estimate import Estimate
from tocsin.core.machine import DeliveryLog, Outbox, Setup
from tocsin.core.message import Options
from tocsin.core.topology import Topology


def plain(value: Any, met: dict[int, int] | None = None) -> Any:
    """`met`: by identity, the numbers of the objects met so far; each is looked into once."""
    met = {} if met is None else met
    kind = type(value)
    if isinstance(value, int | str | bytes | float | None):
        return value
    if isinstance(value, Outbox | DeliveryLog | Options | Setup | Topology):
        return None
    if isinstance(value, Estimate):
        return ("estimate", value.octave())
    if isinstance(value, list | tuple | deque):
        return ("seq", tuple([plain(item, met) for item in value]))
    if isinstance(value, dict):
        return ("map", tuple([(plain(key, met), plain(item, met)) for key, item in value.items()]))
    if isinstance(value, set | frozenset):
        return ("set", tuple(sorted(repr(plain(item)) for item in value)))
    if isinstance(value, msgspec.Struct):
        return (kind.__name__, tuple([plain(getattr(value, name), met) for name in value.__struct_fields__]))
    if hasattr(value, "tobytes"):
        return ("array", value.tobytes())
    if id(value) in met:
        return ("met", met[id(value)])
    met[id(value)] = len(met)
    held: list[Any] = [kind.__name__]
    for name in _attributes(value):
        if hasattr(value, name) and not name.startswith(("stat_", "_stat_")):
            held.extend((name, plain(getattr(value, name), met)))
    return tuple(held)


def _attributes(value: Any) -> list[str]:
    found = set(getattr(value, "__dict__", ()))
    for base in type(value).__mro__:
        found.update(getattr(base, "__mypyc_attrs__", ()))
        found.update(getattr(base, "__slots__", ()))
    return sorted(found - {"__dict__"})
