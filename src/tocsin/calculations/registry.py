"""The calculations by the name that a grid file uses."""

import importlib
from typing import Any

from tocsin.calculations.calculation import Calculation
from tocsin.core.config import decode_config, suggestion
from tocsin.core.errors import InputError

# name: module and class; imported when asked for, since some bring half of the package
CALCULATIONS = {
    "chang_hwang.comparison": "Comparison",
    "chang_hwang.control": "Control",
    "chang_hwang.repair": "Repair",
    "chang_hwang.shared_load": "SharedLoad",
    "levels.kept": "Kept",
    "garbinato.convergence": "Convergence",
    "garbinato.heartbeats": "Heartbeats",
    "garbinato.line_19": "Line19",
    "garbinato.messages": "Messages",
    "garbinato.patience": "Patience",
    "garbinato.size": "Size",
    "garbinato.two_paths": "TwoPaths",
    "kogan.assignment": "Assignment",
    "kogan.control": "Control",
    "kogan.delta": "Delta",
    "kogan.epidemic": "Epidemic",
    "kogan.redelivery": "Redelivery",
    "kogan.repair": "Repair",
    "kogan.transient": "Transient",
    "kogan_trees.example": "Example",
    "kogan_trees.trees": "Trees",
    "schneider.completion": "Completion",
    "schneider.duplication": "Duplication",
    "spauster.change": "Change",
    "spauster.drawn": "Drawn",
    "spauster.figure_5": "FigureFive",
    "spauster.fixed": "Fixed",
    "spauster.graphs": "Graphs",
    "spauster.loads": "Loads",
    "spauster.trade": "Trade",
}


def calculation_from_document(name: str, document: dict[str, Any], source: str) -> Calculation:
    """The calculation of that name with those arguments; `source` names the cell in errors."""
    if name not in CALCULATIONS:
        raise InputError(
            f"{source}: `calculation`: expected a known one, found `{name}`{suggestion(name, list(CALCULATIONS))}"
        )
    module = importlib.import_module(f"tocsin.calculations.{name.split('.')[0]}")
    kind: type[Calculation] = getattr(module, CALCULATIONS[name])
    return decode_config(document, kind, source)
