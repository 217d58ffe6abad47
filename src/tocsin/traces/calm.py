"""Since when faults were over: a trace's producer may say it in the file's metadata, and `settled` asks for it
(docs/guarantees.md, section 7)."""

import json
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from tocsin.core.errors import InputError

CALM_KEY: Final = b"tocsin.calm_us"  # when faults were over
BOUND_KEY: Final = b"tocsin.bound_us"  # within this time from then on the group settles
DOWN_KEY: Final = b"tocsin.down"  # JSON: the sites that are down or cut off for good
DUE_KEY: Final = b"tocsin.due_us"  # what was sent later is not owed yet: the run was cut off
PARTS_KEY: Final = b"tocsin.parts"  # "alone": parts that were cut off from each other went on by themselves
ALONE: Final = b"alone"

BOUND_US: Final = 5_000_000  # where nothing states it


class Calm(NamedTuple):
    """What is known of the end of a run."""

    since_us: int
    bound_us: int = BOUND_US
    down: frozenset[str] = frozenset()  # of these sites nothing is asked
    due_us: int | None = None
    parts_alone: bool = False  # then a site is owed only what was delivered in views that list it

    def metadata(self) -> dict[bytes, bytes]:
        """What a file says of it."""
        said = {
            CALM_KEY: str(self.since_us).encode(),
            BOUND_KEY: str(self.bound_us).encode(),
            DOWN_KEY: json.dumps(sorted(self.down)).encode(),
        }
        if self.due_us is not None:
            said[DUE_KEY] = str(self.due_us).encode()
        if self.parts_alone:
            said[PARTS_KEY] = ALONE
        return said


def calm_of(metadata: Mapping[bytes, bytes] | None, source: str) -> Calm | None:
    """What a file says; `source` names it in errors."""
    said = metadata or {}
    if CALM_KEY not in said:
        return None
    down = _sites(said.get(DOWN_KEY, b"[]"), source)
    bound_us = _number(said, BOUND_KEY, source) if BOUND_KEY in said else BOUND_US
    due_us = _number(said, DUE_KEY, source) if DUE_KEY in said else None
    return Calm(_number(said, CALM_KEY, source), bound_us, down, due_us, said.get(PARTS_KEY) == ALONE)


def joined(said: Iterable[Calm | None]) -> Calm | None:
    """What several files say of one run; nothing, unless all of them say it."""
    every: list[Calm] = []
    for calm in said:
        if calm is None:
            return None
        every.append(calm)
    if not every:
        return None
    due = [calm.due_us for calm in every if calm.due_us is not None]
    return Calm(
        max(calm.since_us for calm in every),
        max(calm.bound_us for calm in every),
        frozenset[str]().union(*(calm.down for calm in every)),
        min(due, default=None),
        any(calm.parts_alone for calm in every),
    )


def _number(said: Mapping[bytes, bytes], key: bytes, source: str) -> int:
    try:
        return int(said[key])
    except ValueError:
        raise InputError(f"{source}: metadata `{key.decode()}`: expected a whole number, found {said[key]!r}") from None


def _sites(text: bytes, source: str) -> frozenset[str]:
    """A JSON list of names; other producers may write them with commas between."""
    try:
        names = json.loads(text) if text.lstrip().startswith(b"[") else text.decode().split(",")
    except (ValueError, UnicodeDecodeError):
        names = [None]
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"{source}: metadata `{DOWN_KEY.decode()}`: expected names of sites, found {text!r}")
    return frozenset(name.strip() for name in names if name.strip())
