"""Planted bugs: a text of a protocol's source is replaced, and the changed protocol runs, interpreted.

A mutant is worth something only if swarm or explorer catches it; the tests of each protocol show that.
"""

import importlib
import importlib.util
import re
import sys
from collections.abc import Sequence
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

import tocsin
from tocsin.protocols.protocol import Protocol

ROOT = Path(tocsin.__file__).parent
FAMILY = "tocsin.protocols."
SHARED = tuple(f"tocsin.core.{part}" for part in ("ballots", "links", "own_messages", "received", "records", "renewal"))
STRUCTS = re.compile(r"^class \w+\((\w+\.)?(Struct|Message|Record|Options|Config)\b", re.MULTILINE)


def mutated(protocol: Protocol, module_name: str, old: str, new: str, *more: tuple[str, str, str]) -> Protocol:
    """The protocol with `old`, which must occur exactly once in the module's source, replaced by `new`.

    All code of protocols is imported anew from its sources meanwhile: a mutant's modules must see one another, and an
    interpreted class cannot derive from a compiled one. `more`: further (module, old, new), for bugs that another part
    of the protocol makes good.
    """
    sources: dict[str, str] = {}
    for name, text, replacement in [(module_name, old, new), *more]:
        source = sources[name] if name in sources else _source(name)
        assert source.count(text) == 1, f"the text to replace occurs {source.count(text)} times in {name}"
        sources[name] = source.replace(text, replacement)
    kept = {name: module for name, module in sys.modules.items() if _is_code(name)}
    home, attribute = _home(protocol, kept)
    finder: Any = _Mutating(sources)
    sys.meta_path.insert(0, finder)
    try:
        for name in kept:
            del sys.modules[name]
        make = getattr(importlib.import_module(home), attribute)
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if _is_code(name)]:
            del sys.modules[name]
        for name, module in kept.items():
            sys.modules[name] = module
            parent, _, last = name.rpartition(".")
            setattr(sys.modules[parent], last, module)
    return msgspec.structs.replace(protocol, make=make)


def import_sources(sources: dict[str, str]) -> None:
    """From here on this process imports all code of protocols from sources, these in place of their own. To be called
    before any protocol is imported; nothing takes it back."""
    imported = [name for name in sys.modules if _is_code(name)]
    assert not [name for name in imported if name.startswith(FAMILY)], "code of protocols was imported already"
    for name in imported:
        del sys.modules[name]  # shared parts, whose constants others read; protocols get them anew
    finder: Any = _Mutating(sources)
    sys.meta_path.insert(0, finder)


def sources_of(protocol: str) -> dict[str, str]:
    """By module, the sources in a protocol's folder, and those of the shared parts that they import; no structs."""
    folders = [path.parent for path in (ROOT / "protocols").rglob(f"{protocol}/machine.py")]
    assert len(folders) == 1, f"the folder of {protocol}: expected one, found {len(folders)}"
    paths = [path for path in sorted(folders[0].glob("*.py")) if path.stem != "__init__"]
    names = [".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in paths]
    sources = {name: _source(name) for name in names if _is_code(name)}
    used = [name for name in SHARED if any(f"from {name} import" in source for source in sources.values())]
    return sources | {name: _source(name) for name in used if _is_code(name)}


class _Mutating:
    """Finds and loads the code of protocols as sources, changed where a mutant says so."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not _is_code(name) or not _path(name).exists():
            return None
        loader: Any = self
        return importlib.util.spec_from_loader(name, loader)

    def create_module(self, spec: ModuleSpec) -> None:
        """The usual module will do."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        source = self._sources[name] if name in self._sources else _source(name)
        exec(compile(source, f"<mutant of {name}>", "exec"), module.__dict__)


def _is_code(name: str) -> bool:
    """Modules of protocols, and the parts that they share. Files of structs (messages, records, options) stay as they
    are, because machines of both kinds exchange them."""
    if name not in SHARED and not (name.startswith(FAMILY) and name.count(".") > 2):
        return False
    return not (_folder(name) / "__init__.py").exists() and not _defines_structs(name)


@cache
def _defines_structs(name: str) -> bool:
    return _path(name).exists() and STRUCTS.search(_source(name)) is not None


def _folder(name: str) -> Path:
    return ROOT.joinpath(*name.split(".")[1:])


def _path(name: str) -> Path:
    return _folder(name).with_suffix(".py")


def _source(name: str) -> str:
    return _path(name).read_text()


def _home(protocol: Protocol, kept: dict[str, ModuleType]) -> tuple[str, str]:
    """The module and the name of the protocol's factory."""
    for name, module in kept.items():
        for attribute, value in vars(module).items():
            if value is protocol.make and getattr(value, "__module__", name) == name:
                return name, attribute
    raise AssertionError(f"the factory of {protocol.name} is not in its folder")
