"""How much a task may hold."""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from tocsin.core.config import suggestion
from tocsin.core.errors import InputError

SETTING = "spark.tocsin."  # what our own keys among Spark's settings begin with
SCRATCH = "spark.tocsin.scratch"  # a folder that all workers share, for sorted copies of unsorted traces


@dataclass(frozen=True, slots=True)
class Limits:
    """In rows; a row that is opened takes about 150 bytes."""

    run_rows: int = 1_000_000  # a run of up to so many is solved at once, without looking at its logs first
    task_rows: int = 2_000_000  # of small runs, or of pieces that are scanned
    open_rows: int = 8_000_000  # of a run, or of a window of it, that is opened
    line_rows: int = 32_000_000  # of the logs that are laid into one line
    core_slices: int = 4  # of a window; it has one more on each side


def limits_from_settings(settings: Mapping[str, str]) -> Limits:
    """The limits that `--spark spark.tocsin.open_rows=…` and the like set."""
    known = [field.name for field in fields(Limits)]
    chosen: dict[str, int] = {}
    for key, value in settings.items():
        if not key.startswith(SETTING) or key == SCRATCH:
            continue
        name = key.removeprefix(SETTING)
        if name not in known:
            raise InputError(f"--spark: unknown key `{key}`{suggestion(name, known)}")
        if not value.isdigit() or int(value) < 1:
            raise InputError(f"--spark: `{key}`: expected a number of at least 1, found `{value}`")
        chosen[name] = int(value)
    return Limits(**chosen)
