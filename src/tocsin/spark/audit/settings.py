"""Our own keys among Spark's settings: `--spark spark.tocsin.open_rows=…`."""

from collections.abc import Mapping
from dataclasses import fields

from tocsin.core.config import suggestion
from tocsin.core.errors import InputError
from tocsin.properties.audit.limits import Limits

SETTING = "spark.tocsin."  # what our keys begin with
SCRATCH = "spark.tocsin.scratch"  # a folder that all workers share, for sorted copies of unsorted traces


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
