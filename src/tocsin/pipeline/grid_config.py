"""A grid file (docs/sweeps.md) as structs."""

from typing import Annotated, Any

from msgspec import Meta

from tocsin.core.config import Config

CELLS_MAX = 10_000_000


class PrecisionConfig(Config, frozen=True):
    """Replicate until the 95 % confidence half-width of a metric is small against its mean."""

    metric: str
    half_width: Annotated[float, Meta(gt=0.0, lt=10.0)] = 0.05  # as a part of the mean
    at_most: Annotated[int, Meta(ge=2, le=1_000_000)] = 100  # replications of one combination


class LimitsConfig(Config, frozen=True):
    """What one cell may use; a cell that wants more becomes a row with its error."""

    seconds: Annotated[float, Meta(gt=0.0, le=10**6)] = 600.0
    memory_mb: Annotated[int, Meta(ge=16, le=10**7)] = 4_000  # beyond what the worker uses anyway


class GridConfig(Config, frozen=True):
    scenario: str | dict[str, Any]  # a scenario file's name, or the scenario itself
    experiment: str | None = None  # default: the file's name
    grid: dict[str, Annotated[list[Any], Meta(min_length=1)]] = {}  # dotted keys and their values
    replications: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    precision: PrecisionConfig | None = None
    limits: LimitsConfig = LimitsConfig()
