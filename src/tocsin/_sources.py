"""Compiled or interpreted? Decided once, before any other module of the package is imported.

mypyc's modules lie beside their sources, and Python prefers them. They were compiled as one unit, so it is all or
nothing. In a checkout a source that is newer than the unit switches the whole unit off until `make setup` compiles it
again; in an installed package nobody edits sources, and the times of files mean nothing there. `TOCSIN_PURE=1` makes
Python read the sources in any case.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader

TYPE_CHECKING = False  # `import tocsin` stays light: the command handles Ctrl-C only after it
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

_UNIT = ("core", "planning", "protocols", "sim", "live")  # where setup.py compiles


class _SourcesOnly:
    """Finds this package's modules as sources, never as extension modules."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if path is None or not name.startswith("tocsin."):
            return None
        for folder in path:
            spec = FileFinder(folder, (SourceFileLoader, [".py"])).find_spec(name, target)
            if spec is not None and spec.loader is not None:
                return spec
        return None


def why_interpreted(package: str | os.PathLike[str], pure: str) -> str | None:
    """Why the package in this folder runs from its sources, given what TOCSIN_PURE says; None: it runs compiled."""
    if pure not in ("", "0"):
        return "TOCSIN_PURE is set"
    built = list(_times(package, EXTENSION_SUFFIXES[0]))  # of this version of Python; others' do not count
    if not _is_checkout(package):
        return None if built else "nothing was compiled when it was built"
    if not built:
        return "not compiled yet: make setup"
    if min(built) < max(_times(package, ".py")):
        return "sources are newer than what was compiled: make setup"
    return None


def _is_checkout(package: str | os.PathLike[str]) -> bool:
    parent = os.path.dirname(package)
    return os.path.basename(parent) == "src" and os.path.isfile(os.path.join(parent, "..", "setup.py"))


def _times(package: str | os.PathLike[str], ending: str) -> Iterator[float]:
    for part in _UNIT:
        for folder, _, names in os.walk(os.path.join(package, part)):
            for name in names:
                if name.endswith(ending):
                    yield os.stat(os.path.join(folder, name)).st_mtime


WHY_INTERPRETED = why_interpreted(os.path.dirname(__file__), os.environ.get("TOCSIN_PURE", ""))
COMPILED = WHY_INTERPRETED is None

if not COMPILED:
    sys.meta_path.insert(0, _SourcesOnly)
