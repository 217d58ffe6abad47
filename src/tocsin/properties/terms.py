"""What rows are judged by besides themselves: who was in which group, whose clocks, what is not owed yet, and since
when faults were over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tocsin.traces.calm import Calm

Groups = Mapping[str, Sequence[str]]


class Patience(NamedTuple):
    """What is younger than this at the end of a log is not owed yet: its member is still running."""

    us: int
    end_us: int | None = None  # when the logs were taken; None: each ends with its last row


@dataclass(frozen=True, slots=True)
class Terms:
    groups: Groups = field(default_factory=dict)  # their members, where no view says it
    one_clock: bool = False  # times of different sites can be compared, as in the simulator
    patience: Patience | None = None
    calm: Calm | None = None  # of every run …
    calm_of_run: Mapping[str, Calm | None] = field(default_factory=dict)  # … if this does not say it
    down: frozenset[str] = frozenset()  # sites that are down or cut off for good, besides those that a calm names

    def calm_in(self, run: str) -> Calm | None:
        calm = self.calm_of_run.get(run) if self.calm is None else self.calm
        return None if calm is None else calm._replace(down=calm.down | self.down)

    def knows_calm(self) -> bool:
        return self.calm is not None or any(calm is not None for calm in self.calm_of_run.values())
