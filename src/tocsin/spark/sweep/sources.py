"""Which sources a cell's result depends on: a change elsewhere does not make it stale.

Found by following imports. Every scenario reaches the registry of protocols, and through it all of them; that one
step is not followed: the protocols that a grid names are taken instead.
"""

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tocsin.protocols.registry import REGISTRY
from tocsin.spark.sweep.grid import Grid

PACKAGE = Path(__file__).parent.parent
REGISTRY_MODULE = "tocsin.protocols.registry"
SIMULATED = ("tocsin.sim.run", "tocsin.sim.scenario", "tocsin.traces.writer", "tocsin.traces.reader")
CALCULATIONS = "tocsin.calculations."


def code_version(grid: Grid) -> str:
    """A digest of the sources that the results of a grid depend on."""
    digest = hashlib.blake2b(digest_size=8)
    for path in _sources(grid):
        digest.update(str(path.relative_to(PACKAGE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _sources(grid: Grid) -> list[Path]:
    name = grid.config.calculation
    if name is None:
        roots = list(SIMULATED)
        protocols = {str(grid.document(combination).get("protocol")) for combination in range(grid.combinations)}
    else:
        roots = [CALCULATIONS + name.split(".")[0]]
        own = [module for module in reached(roots) if module.startswith(CALCULATIONS)]
        texts = [_path(module).read_text() for module in own]
        protocols = {protocol for protocol in REGISTRY if any(f'"{protocol}"' in text for text in texts)}
    roots += [REGISTRY[protocol].make.__module__ for protocol in protocols if protocol in REGISTRY]
    return sorted(_path(module) for module in reached(roots))


def reached(roots: Iterable[str]) -> set[str]:
    """The modules of the package that these import, and those import, and so on; with the packages they lie in."""
    waiting, found = list(roots), set[str]()
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        found.add(module)
        waiting.append(module.rpartition(".")[0])
        if module != REGISTRY_MODULE:
            waiting += _imports(module)
        waiting = [name for name in waiting if name.startswith("tocsin.") and name not in found]
    return found


@cache
def _imports(module: str) -> tuple[str, ...]:
    names: list[str] = []
    for node in ast.walk(ast.parse(_path(module).read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *[f"{node.module}.{alias.name}" for alias in node.names]]
    return tuple(name for name in names if name.startswith("tocsin.") and _exists(name))


def _exists(module: str) -> bool:
    return _path(module).exists()


def _path(module: str) -> Path:
    place = PACKAGE.joinpath(*module.split(".")[1:])
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
