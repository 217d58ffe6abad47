"""What a cell of a sweep may compute instead of simulating one scenario: an experiment, named by its import path."""

import importlib
from typing import Any, TypeGuard

from tocsin.core.config import Config, decode_config, suggestion
from tocsin.core.errors import InputError

FORM = "package.module:Class"


class Experiment(Config, frozen=True):
    """A class whose fields are the arguments that a grid file gives, and whose one method measures.

    The same seed and arguments must give the same numbers wherever it runs.
    """

    def measure(self, seed: int) -> dict[str, float]:
        """The numbers of one replicate, by name."""
        raise NotImplementedError

    def cost(self) -> float:
        """A rough guess of the work, to start the long ones first; only ratios within a grid count."""
        return 1.0


def find_experiment(path: str, source: str) -> type[Experiment]:
    """The class that an import path names; `source` names the grid file in errors."""
    module_name, colon, class_name = path.partition(":")
    if not colon or not class_name.isidentifier() or not all(map(str.isidentifier, module_name.split("."))):
        raise _bad(source, f"an import path like `{FORM}`", f"`{path}` (a grid's own name is the key `name`)")
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # whatever a module that is not ours may raise
        why = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        raise _bad(source, "a module that can be imported", f"`{module_name}` ({why})") from None
    found = getattr(module, class_name, None)
    if not _measures(found):
        near = suggestion(class_name, [name for name, value in vars(module).items() if _measures(value)])
        raise _bad(source, f"a tocsin.Experiment of `{module_name}` with `measure`", f"`{class_name}`{near}")
    return found


def make_experiment(path: str, arguments: dict[str, Any], source: str) -> Experiment:
    """The experiment of that import path with those arguments; `source` names the cell in errors."""
    return decode_config(arguments, find_experiment(path, source), source)


def _measures(found: Any) -> TypeGuard[type[Experiment]]:
    return isinstance(found, type) and issubclass(found, Experiment) and found.measure is not Experiment.measure


def _bad(source: str, expected: str, found: str) -> InputError:
    return InputError(f"{source}: `experiment`: expected {expected}, found {found}")
