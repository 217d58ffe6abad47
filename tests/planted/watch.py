"""What watched sources report to, and what they ask: one place may have a bug planted, all others act as written.

A bug can show only in a run in which its place *mattered*: a guard that was asked and would have answered otherwise, a
record that would have been read after a restart. Runs are deterministic, so in all others the mutant acts as the
protocol does; they need not be run to know that they catch nothing.
"""

from collections.abc import Callable
from typing import Any

from tests.planted.planting import FALSE, FORGOTTEN, LATE, TRUE, Plant
from tocsin.core.machine import Machine

STEPS = (
    "on_start",
    "on_message",
    "on_timer",
    "broadcast",
    "broadcast_reaching",
    "leave",
    "change_group",
    "on_peer_down",
    "on_peer_up",
)


class _Watch:
    def __init__(self) -> None:
        self.place = -1  # where a bug is planted, and which
        self.mode = ""
        self.said: dict[int, set[str]] = {}  # by place: which modes would have mattered in this run
        self.reached: set[int] = set()  # places that were come by
        self.kept: set[int] = set()  # records written in this run, which a restart may read
        self.waiting: list[tuple[Callable[..., object], tuple[Any, ...]]] = []  # to be kept when the step ends
        self.depth = 0


_watch = _Watch()


def asked(place: int, answer: Any) -> Any:
    """A guard's answer, or what the planted bug makes of it."""
    _watch.reached.add(place)
    _watch.said.setdefault(place, set()).add(FALSE if answer else TRUE)
    if place == _watch.place:
        return _watch.mode == TRUE
    return answer


def kept(place: int, persist: Callable[..., object], *arguments: Any) -> None:
    """A record is to be kept: it is, unless the planted bug forgets it, or does it late."""
    _watch.reached.add(place)
    _watch.kept.add(place)
    if place != _watch.place:
        persist(*arguments)
    elif _watch.mode == LATE:
        _watch.waiting.append((persist, arguments))
        if not _watch.depth:  # a part that is tested alone
            _end_step()


def plant(planted: Plant | None) -> None:
    _watch.place, _watch.mode = (-1, "") if planted is None else (planted.place, planted.mode)


def begin_run() -> None:
    _watch.said = {}
    _watch.reached = set()
    _watch.kept = set()
    _watch.waiting = []
    _watch.depth = 0


def mattered(to_the_letter: bool) -> list[str]:
    """Where a bug would have mattered in this run, and which: `PLACE MODE`. Where every effect of a step is compared,
    to the letter, each record matters, whether it is read or not."""
    found = {(place, mode) for place, modes in _watch.said.items() for mode in modes}
    if to_the_letter:
        found.update((place, mode) for place in _watch.kept for mode in (FORGOTTEN, LATE))
    return [key(place, mode) for place, mode in sorted(found)]


def key(place: int, mode: str) -> str:
    return f"{place} {mode}"


def reached() -> list[int]:
    return sorted(_watch.reached)


def watch_steps(machine: type[Machine]) -> None:
    """Let a class of machines tell when a step begins and ends."""
    for name in STEPS:
        if name in vars(machine):
            setattr(machine, name, _stepping(vars(machine)[name], name == "on_start"))


def _stepping(method: Callable[..., Any], starts: bool) -> Callable[..., Any]:
    def step(*arguments: Any) -> Any:
        if starts and arguments[2] and _watch.depth == 0:  # a restart reads records: whatever was kept matters
            for place in _watch.kept:
                _watch.said[place] = {FORGOTTEN, LATE}
        _watch.depth += 1
        try:
            return method(*arguments)
        finally:
            _watch.depth -= 1
            if _watch.depth == 0:
                _end_step()

    return step


def _end_step() -> None:
    waiting, _watch.waiting = _watch.waiting, []
    for persist, arguments in waiting:
        persist(*arguments)
