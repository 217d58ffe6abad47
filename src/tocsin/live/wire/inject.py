"""The fault layer: loss, delay, duplication, reordering and cuts at one member, so that people can see for themselves.

`loss=0.05,delay_us=0-2000,duplicate=0.01,reorder=0.05,cut=b+c`. Everything but `cut` is done to arriving datagrams; a
cut stops both directions. A reordered datagram waits for `REORDER_US` more than its delay, so that later ones overtake
it.
"""

from collections.abc import Sequence
from typing import Final

from tocsin.core.config import suggestion
from tocsin.core.errors import InputError
from tocsin.core.rng import Rng

REORDER_US: Final = 3_000  # more than the gap between two datagrams on a busy network
DELAY_US_MAX: Final = 60_000_000
_KEYS: Final = ["loss", "delay_us", "duplicate", "reorder", "cut", "seed"]


class Injector:
    """What happens to each datagram, drawn from a seed."""

    def __init__(self, sites: Sequence[str]) -> None:
        self._sites = sites
        self.text = ""  # as given; empty: nothing is injected
        self.cut: frozenset[int] = frozenset()
        self.stat_lost = 0
        self.stat_duplicated = 0
        self.stat_delayed = 0
        self._loss = 0.0
        self._duplicate = 0.0
        self._reorder = 0.0
        self._delay_us = (0, 0)
        self._rng = Rng(0)

    def configure(self, text: str) -> None:
        """Take new faults in place of all earlier ones; "" heals everything."""
        chances = {"loss": 0.0, "duplicate": 0.0, "reorder": 0.0}
        delay_us = (0, 0)
        cut: frozenset[int] = frozenset()
        seed = 0
        for part in filter(None, (word.strip() for word in text.split(","))):
            key, equals, value = part.partition("=")
            if key not in _KEYS or not equals:
                raise InputError(f"inject: unknown fault `{part}`{suggestion(key, _KEYS)}")
            if key in chances:
                chances[key] = _chance(key, value)
            elif key == "delay_us":
                delay_us = _range(value)
            elif key == "seed":
                seed = _whole(key, value)
            else:
                cut = self._cut_sites(value)
        self._loss, self._duplicate, self._reorder = chances["loss"], chances["duplicate"], chances["reorder"]
        self._delay_us = delay_us
        self.cut = cut
        self._rng = Rng(seed).fork("inject")
        self.text = text

    def _cut_sites(self, value: str) -> frozenset[int]:
        sites: set[int] = set()
        for name in filter(None, value.split("+")):
            if name not in self._sites:
                raise InputError(f"inject: `cut`: no site `{name}`{suggestion(name, list(self._sites))}")
            sites.add(self._sites.index(name))
        return frozenset(sites)

    def is_active(self) -> bool:
        return bool(self.text)

    def delays(self) -> list[int]:
        """The fate of one datagram: for each copy that arrives, by how many microseconds it is late."""
        rng = self._rng
        if rng.chance(self._loss):
            self.stat_lost += 1
            return []
        copies = 1
        if rng.chance(self._duplicate):
            self.stat_duplicated += 1
            copies = 2
        delays: list[int] = []
        for _ in range(copies):
            delay = rng.between(*self._delay_us) if self._delay_us[1] > 0 else 0
            if rng.chance(self._reorder):
                delay += REORDER_US
            if delay > 0:
                self.stat_delayed += 1
            delays.append(delay)
        return delays


def _chance(key: str, value: str) -> float:
    try:
        chance = float(value)
    except ValueError:
        chance = -1.0
    if not 0.0 <= chance < 1.0:
        raise InputError(f"inject: `{key}`: expected a probability in [0, 1), found `{value}`")
    return chance


def _whole(key: str, value: str) -> int:
    if not value.isascii() or not value.isdigit():
        raise InputError(f"inject: `{key}`: expected a whole number, found `{value}`")
    return int(value)


def _range(value: str) -> tuple[int, int]:
    low, dash, high = value.partition("-")
    first = _whole("delay_us", low)
    last = _whole("delay_us", high) if dash else first
    if not first <= last <= DELAY_US_MAX:
        raise InputError(f"inject: `delay_us`: expected LOW-HIGH up to {DELAY_US_MAX}, found `{value}`")
    return first, last
