"""A grid of scenarios: every combination of values, each replicated; a cell is one simulation, or one
replicate of an experiment.

A cell's number fixes its combination and its replicate, and these fix its seed. So a cell gives the same result
wherever and whenever it runs, and a task needs the grid and a few numbers, not a list of documents.
"""

import copy
import hashlib
import json
import math
from pathlib import Path
from typing import Any

import msgspec

from tocsin.core.config import decode_config
from tocsin.core.errors import InputError
from tocsin.core.files import name_of_file, read_document
from tocsin.sim.beyond import refuse_beyond
from tocsin.sim.scenario import Scenario, scenario_from_document
from tocsin.spark.sweep.experiment import Experiment, find_experiment, make_experiment
from tocsin.spark.sweep.grid_config import CELLS_MAX, GridConfig

SEED_BITS = 62


class Grid:
    """The combinations of a grid file, and the cells made of them. Small: it travels to every task."""

    def __init__(self, name: str, base: dict[str, Any], folder: str, config: GridConfig) -> None:
        self.name = name  # part of every seed
        self.config = config
        self._base = base
        self._folder = folder  # where the scenario's topology files are
        self._keys = list(config.grid)
        self.combinations = math.prod(len(values) for values in config.grid.values())
        self._digests: dict[int, tuple[bytes, bytes]] = {}  # by combination: of its parameters, of all it depends on
        self.replicates_max = max([config.replications, *[wanted.at_most for wanted in config.precisions()]])

    def parameters(self, combination: int) -> dict[str, Any]:
        """The values of a combination; the last key of the file varies fastest."""
        values: dict[str, Any] = {}
        for key in reversed(self._keys):
            combination, place = divmod(combination, len(self.config.grid[key]))
            values[key] = self.config.grid[key][place]
        return {key: values[key] for key in self._keys}

    def document(self, combination: int) -> dict[str, Any]:
        """The scenario of a combination, or the arguments of its experiment."""
        document = copy.deepcopy(self._base)
        for key, value in self.parameters(combination).items():
            here = document
            *path, last = key.split(".")
            for part in path:
                here = here.setdefault(part, {})
            here[last] = value
        return document

    def folder(self) -> Path:
        return Path(self._folder)

    def seed(self, combination: int, replicate: int) -> int:
        """From the cell's identity: the grid's name, parameters, replicate."""
        digest = _digest(self._identity(combination)[0], replicate)
        return int.from_bytes(digest[:8], "big") >> (64 - SEED_BITS)

    def key(self, combination: int, replicate: int) -> str:
        """What a result is filed under: everything that it depends on, the code aside."""
        return _digest(self._identity(combination)[1], replicate).hex()

    def _identity(self, combination: int) -> tuple[bytes, bytes]:
        known = self._digests.get(combination)
        if known is None:
            parameters = [self.name, sorted(self.parameters(combination).items())]
            whole = [self.name, self.document(combination), self._topology(combination)]
            if self.config.experiment is not None:
                whole.append(self.config.experiment)
            known = _canonical(parameters), hashlib.blake2b(_canonical(whole)).digest()
            self._digests[combination] = known
        return known

    def _topology(self, combination: int) -> str | None:
        """The contents of a topology file: an edited file makes other cells."""
        name = self.document(combination).get("topology")
        return (self.folder() / name).read_text() if isinstance(name, str) and not self.config.experiment else None

    def scenario(self, combination: int, source: str = "") -> Scenario:
        return scenario_from_document(self.document(combination), source or self.label(combination), self.folder())

    def experiment(self, combination: int, source: str = "") -> Experiment | None:
        """What a combination measures, if it does not simulate a scenario."""
        path = self.config.experiment
        if path is None:
            return None
        return make_experiment(path, self.document(combination), source or self.label(combination))

    def label(self, combination: int) -> str:
        """A combination in words, for errors."""
        parameters = self.parameters(combination)
        return ", ".join(f"{key} = {json.dumps(value)}" for key, value in parameters.items()) or "the base scenario"

    def cost(self, combination: int) -> float:
        """A rough guess of the work in a cell, to start the long ones first: messages times sites."""
        experiment = self.experiment(combination)
        if experiment is not None:
            return _cost(experiment, self.label(combination))
        document = self.document(combination)
        workload = document.get("workload", {})
        sites = document.get("sites", 10)
        count = len(sites) if isinstance(sites, list) else sites
        return float(workload.get("messages", 100)) * float(count if isinstance(count, int) else 10)


def _cost(experiment: Experiment, source: str) -> float:
    try:
        return float(experiment.cost())
    except Exception as error:  # whatever code that is not ours may raise
        told = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        raise InputError(f"{source}: `experiment`: expected a number from its `cost()`, found {told}") from None


def load_grid(path: Path, quick: bool = False) -> Grid:
    """Read a grid file, and refuse bad combinations before anything starts, naming the cell."""
    config = decode_config(read_document(path), GridConfig, str(path))
    if quick:
        config = config.made_quick()
    base, folder = _base(config, path)
    grid = Grid(config.name or name_of_file(path), base, str(folder.resolve()), config)
    _check_keys(grid, config, str(path))
    cells = grid.combinations * grid.replicates_max
    if cells > CELLS_MAX:
        raise InputError(f"{path}: expected at most {CELLS_MAX:,} cells, found {cells:,}")
    for combination in range(grid.combinations):
        source = f"{path}: cell with {grid.label(combination)}"
        if grid.experiment(combination, source) is None:
            scenario = grid.scenario(combination, source)
            if not config.beyond_assumptions:
                refuse_beyond(scenario, "`beyond_assumptions = true` in the grid file runs it all the same")
        grid.cost(combination)  # an experiment's own
    return grid


def _base(config: GridConfig, path: Path) -> tuple[dict[str, Any], Path]:
    """The document that the grid's keys change, and the folder that its file names are relative to."""
    if config.experiment is not None:
        find_experiment(config.experiment, str(path))  # before the cells, whose errors name their parameters
    if (config.scenario is None) == (config.experiment is None):
        raise InputError(f"{path}: expected either `scenario` or `experiment`, found both or neither")
    if isinstance(config.scenario, str):
        scenario_path = path.parent / config.scenario
        return read_document(scenario_path), scenario_path.parent
    return (config.arguments if config.scenario is None else config.scenario), path.parent


def _check_keys(grid: Grid, config: GridConfig, source: str) -> None:
    for key, values in config.grid.items():
        if not all(key.split(".")):
            raise InputError(f"{source}: `grid`: expected dotted keys like `network.loss`, found `{key}`")
        if len({_canonical(value) for value in values}) != len(values):
            raise InputError(f"{source}: `grid.{key}`: expected different values, found one twice")
        for other in config.grid:
            if other.startswith(key + "."):
                raise InputError(f"{source}: `grid`: `{other}` lies inside `{key}`; give one of them")
    try:
        grid.document(0)
    except (AttributeError, TypeError):
        raise InputError(f"{source}: `grid`: a dotted key leads through something that is not a table") from None


def _digest(identity: bytes, replicate: int) -> bytes:
    return hashlib.blake2b(identity + b"/" + str(replicate).encode(), digest_size=12).digest()


def _canonical(value: Any) -> bytes:
    return json.dumps(msgspec.to_builtins(value), sort_keys=True, separators=(",", ":")).encode()
