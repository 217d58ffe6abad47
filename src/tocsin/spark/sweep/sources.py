"""Which sources a cell's result depends on: a change elsewhere does not make it stale. And which of them workers need.

Found by following imports, in this package and in the folder that an experiment was imported from. Every scenario
reaches the registry of protocols, and through it all of them; that one step is not followed: the protocols that the
cell or the experiment names are taken instead.
"""

import ast
import hashlib
import importlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tocsin.core.errors import InputError
from tocsin.protocols.registry import REGISTRY
from tocsin.spark.sweep.grid import Grid

PACKAGE = "tocsin"
HOME = Path(__file__).parents[3]  # the folder that the package lies in
REGISTRY_MODULE = "tocsin.protocols.registry"
SIMULATED = ("tocsin.sim.run", "tocsin.sim.scenario", "tocsin.traces.writer", "tocsin.traces.reader")
INSTALLED = {"site-packages", "dist-packages"}  # folders in which unrelated packages lie side by side


class CodeVersions:
    """Digests of the sources that the results of a grid depend on: each cell's of what that cell uses, so that it keeps
    its result in a grid with more protocols."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._modules = Modules(grid.config.experiment)
        self._roots = list(SIMULATED)
        self._always: set[str] = set()  # protocols that an experiment's sources name
        if grid.config.experiment is not None:
            self._roots = [grid.config.experiment.partition(":")[0]]
            reached = self._modules.reached(self._roots)
            texts = [path.read_text() for module, path in reached.items() if not _is_ours(module)]
            self._always = {protocol for text in texts for protocol in _named(text)}
        self._known: dict[frozenset[str], str] = {}  # digests, by the protocols that a cell names

    def of(self, combination: int) -> str:
        protocols = self._protocols(combination)
        if protocols not in self._known:
            digest = hashlib.blake2b(digest_size=8)
            for module, path in sorted(self._reached(protocols).items()):
                digest.update(module.encode() + b"\0" + path.read_bytes() + b"\0")
            self._known[protocols] = digest.hexdigest()
        return self._known[protocols]

    def sources(self, combination: int) -> dict[str, Path]:
        """The modules that the results of a combination depend on, and their files."""
        return self._reached(self._protocols(combination))

    def _protocols(self, combination: int) -> frozenset[str]:
        return frozenset(self._always | _named(json.dumps(self._grid.document(combination))))

    def _reached(self, protocols: frozenset[str]) -> dict[str, Path]:
        homes = [REGISTRY[protocol].make.__module__ for protocol in sorted(protocols)]
        return self._modules.reached([*self._roots, *homes])


def code_version(grid: Grid) -> str:
    """One digest for all cells of a grid."""
    versions = CodeVersions(grid)
    every = sorted({versions.of(combination) for combination in range(grid.combinations)})
    return hashlib.blake2b("".join(every).encode(), digest_size=8).hexdigest()


def files_to_ship(experiment: str) -> dict[str, Path]:
    """What workers elsewhere need to import an experiment: by its path below the folder they lie in, every Python file
    of the packages that the experiment imports from its own folder. Whole packages, since one that is there in part
    would hide the rest."""
    modules = Modules(experiment)
    reached = modules.reached([experiment.partition(":")[0]])
    files: dict[str, Path] = {}
    for top in sorted({module.partition(".")[0] for module in reached} - {PACKAGE}):
        place = modules.home / top
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
            files[path.relative_to(modules.home).as_posix()] = path
    return files


class Modules:
    """Where modules lie: those of this package, and those beside an experiment's."""

    def __init__(self, experiment: str | None) -> None:
        self.home = HOME  # the folder that the experiment's package lies in
        self._tops: set[str] | None = {PACKAGE}  # the packages that are followed; None: all that lie in `home`
        if experiment is not None:
            module = experiment.partition(":")[0]
            self.home = _home_of(module)
            is_installed = bool(INSTALLED & set(self.home.parts))
            self._tops = {PACKAGE, module.partition(".")[0]} if is_installed else None

    def path(self, module: str) -> Path | None:
        top = module.partition(".")[0]
        if self._tops is not None and top not in self._tops:
            return None
        place = (HOME if top == PACKAGE else self.home).joinpath(*module.split("."))
        candidates = (place / "__init__.py", place.with_suffix(".py"))
        return next((path for path in candidates if path.is_file()), None)

    def reached(self, roots: Iterable[str]) -> dict[str, Path]:
        """What these import, and those import, and so on, with the packages they lie in."""
        waiting, found = list(roots), dict[str, Path]()
        while waiting:
            module = waiting.pop()
            path = self.path(module) if module and module not in found else None
            if path is None:
                continue
            found[module] = path
            package = module if path.name == "__init__.py" else module.rpartition(".")[0]
            waiting.append(module.rpartition(".")[0])
            if module != REGISTRY_MODULE:
                waiting += _imports(path, package)
        return found


def _home_of(module: str) -> Path:
    """The folder from which a module is imported by its name."""
    file = getattr(importlib.import_module(module), "__file__", None)
    place = Path(file or "")
    if place.name == "__init__.py":
        place = place.parent
    if file is None or place.stem != module.rpartition(".")[2] or len(place.parents) <= module.count("."):
        raise InputError(f"`experiment`: expected a module with a source file of its name, found `{module}`")
    return place.parents[module.count(".")]


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def _named(text: str) -> set[str]:
    """The protocols that stand in a text, in quotes."""
    return {protocol for protocol in REGISTRY if f'"{protocol}"' in text or f"'{protocol}'" in text}


@cache
def _imports(path: Path, package: str) -> tuple[str, ...]:
    """Every name that a file imports which may be a module's."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names += [base, *[f"{base}.{alias.name}" for alias in node.names]]
    return tuple(names)
