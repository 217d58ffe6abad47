"""A grid file (docs/sweeps.md) as structs."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tocsin.core.config import Config

CELLS_MAX = 10_000_000


class PrecisionConfig(Config, frozen=True):
    """Replicate until the 95 % confidence half-width of a metric is small, against its mean or by itself."""

    metric: str
    half_width: Annotated[float, Meta(gt=0.0, lt=10.0)] = 0.05  # as a part of the mean
    absolute: Annotated[float, Meta(gt=0.0)] | None = None  # instead: in the metric's own unit
    at_most: Annotated[int, Meta(ge=2, le=1_000_000)] = 100  # replications of one combination


class LimitsConfig(Config, frozen=True):
    """What one cell may use; a cell that wants more becomes a row with its error."""

    seconds: Annotated[float, Meta(gt=0.0, le=10**6)] = 600.0
    memory_mb: Annotated[int, Meta(ge=16, le=10**7)] = 4_000  # beyond what the worker uses anyway


class QuickConfig(Config, frozen=True):
    """A smaller grid of the same experiment, for a first look: what it does not name stays as it is."""

    grid: dict[str, Annotated[list[Any], Meta(min_length=1)]] = {}
    replications: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    constants: dict[str, Any] = {}  # dotted keys of the scenario, or arguments of the experiment
    precise: bool = False  # whether precision is wanted here too


class GridConfig(Config, frozen=True):
    scenario: str | dict[str, Any] | None = None  # a scenario file's name, or the scenario itself …
    experiment: str | None = None  # … or what is measured instead, by its import path `package.module:Class`, …
    arguments: dict[str, Any] = {}  # … and what it is given besides the grid's keys
    name: str | None = None  # default: the file's name
    grid: dict[str, Annotated[list[Any], Meta(min_length=1)]] = {}  # dotted keys and their values
    beyond_assumptions: bool = False  # whether faults are run that a scenario's protocol does not claim to stand
    verdicts: bool = True  # whether a scenario's trace is kept and checked; false only counts
    replications: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    precision: PrecisionConfig | list[PrecisionConfig] = []
    limits: LimitsConfig = LimitsConfig()
    quick: QuickConfig = QuickConfig()

    def precisions(self) -> list[PrecisionConfig]:
        return [self.precision] if isinstance(self.precision, PrecisionConfig) else self.precision

    def made_quick(self) -> "GridConfig":
        """The smaller grid."""
        quick = self.quick
        changed = msgspec.structs.replace(
            self,
            grid={**self.grid, **quick.grid},
            replications=quick.replications or self.replications,
            precision=self.precision if quick.precise else [],
        )
        if self.experiment is not None:
            return msgspec.structs.replace(changed, arguments={**self.arguments, **quick.constants})
        return msgspec.structs.replace(
            changed, grid={**changed.grid, **{key: [value] for key, value in quick.constants.items()}}
        )
