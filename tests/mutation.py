"""Planted bugs: a text of a protocol's source is replaced, and the changed module runs in its place, interpreted.

A mutant is worth something only if swarm or explorer catches it; the tests of each protocol show that.
"""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import msgspec

from tocsin.protocols.protocol import Protocol


def mutated(protocol: Protocol, module_name: str, old: str, new: str, *more: tuple[str, str, str]) -> Protocol:
    """The protocol with `old`, which must occur exactly once in the module's source, replaced by `new`.

    The modules of the protocol that import the mutated one are executed anew too, so that they use it. `more`: further
    (module, old, new) of the same folder, for bugs that another part of the protocol makes good; imported ones first.
    """
    sources: dict[str, str] = {}
    for name, text, replacement in [(module_name, old, new), *more]:
        source = sources[name] if name in sources else _source(importlib.import_module(name))
        assert source.count(text) == 1, f"the text to replace occurs {source.count(text)} times in {name}"
        sources[name] = source.replace(text, replacement)
    folder = module_name.rpartition(".")[0]
    replaced: dict[str, ModuleType] = {}
    kept = {name: module for name, module in sys.modules.items() if _is_code(name, folder)}
    try:
        for name in kept:
            del sys.modules[name]
        for name, source in sources.items():
            replaced[name] = _execute(name, kept[name], source)
        for name in sorted(kept):
            if name not in sys.modules:
                replaced[name] = _execute(name, kept[name], _source(kept[name]))
        make = _find(sys.modules, kept, protocol)
    finally:
        for name in [name for name in sys.modules if _is_code(name, folder)]:
            del sys.modules[name]
        sys.modules.update(kept)
    return msgspec.structs.replace(protocol, make=make)


def _is_code(name: str, folder: str) -> bool:
    """The protocol's own modules; messages stay as they are, because machines of both kinds exchange them."""
    return name.startswith(folder + ".") and not name.endswith(("messages", "_config"))


def _source(module: ModuleType) -> str:
    parent = importlib.import_module(module.__name__.rpartition(".")[0])
    assert parent.__file__ is not None
    return (Path(parent.__file__).parent / (module.__name__.rpartition(".")[2] + ".py")).read_text()


def _execute(name: str, like: ModuleType, source: str) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(__file__=like.__file__, __package__=name.rpartition(".")[0])
    sys.modules[name] = module
    exec(compile(source, f"<mutant of {name}>", "exec"), module.__dict__)
    return module


def _find(now: dict[str, ModuleType], kept: dict[str, ModuleType], protocol: Protocol) -> object:
    """The mutated counterpart of the protocol's factory."""
    for name, module in kept.items():
        for attribute, value in vars(module).items():
            if value is protocol.make and getattr(value, "__module__", name) == name:
                return getattr(now[name], attribute)
    raise AssertionError(f"the factory of {protocol.name} is not in its folder")
