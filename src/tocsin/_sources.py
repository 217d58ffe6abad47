"""Compiled or interpreted? `TOCSIN_PURE=1`, or sources newer than the compiled unit, make Python read the sources.

mypyc's modules lie beside their sources and Python prefers them. They were compiled as one unit, so it is all or
nothing: a single edited file switches the whole unit off until `make setup` compiles it again.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType

_HERE = Path(__file__).parent
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


def _newest(pattern: str) -> float:
    return max((p.stat().st_mtime for folder in _UNIT for p in (_HERE / folder).rglob(pattern)), default=0.0)


def _compiled_is_current() -> bool:
    built = [p.stat().st_mtime for folder in _UNIT for p in (_HERE / folder).rglob("*.so")]
    return bool(built) and min(built) >= _newest("*.py")


COMPILED = os.environ.get("TOCSIN_PURE", "0") in ("", "0") and _compiled_is_current()

if not COMPILED:
    sys.meta_path.insert(0, _SourcesOnly)
