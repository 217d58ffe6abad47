"""Compiles core, planning, protocols, sim and the inner loop of live as one mypyc unit:
`python setup.py build_ext --inplace`.

Left out: files that define msgspec structs (they are C already), package files, and what reads documents or drives
whole runs rather than events.
"""

import ast
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = Path("src/tocsin")
FOLDERS = ("core", "planning", "protocols", "sim")
LIVE = (  # what every datagram and every message goes through
    "backlog",
    "clock",
    "commits",
    "driver",
    "heard",
    "incoming",
    "outgoing",
    "outlet",
    "packing",
    "receipts",
    "staging",
    "storage/batch",
    "storage/closed_files",
    "storage/disk",
    "storage/file_format",
    "storage/knowledge",
    "storage/laid",
    "storage/log",
    "storage/log_files",
    "storage/log_writer",
    "storage/logged_frames",
    "stream",
    "timers",
    "wire/inject",
    "wire/receiving",
    "wire/seal",
    "wire/sending",
    "wire/datagrams",
    "wire/udp",
    "wire/wire",
)
NOT_COMPILED = {  # what runs once a document or once a run
    "core/codec.py",
    "core/errors.py",
    "core/files.py",
    "core/plain_tables.py",
    "core/signals.py",
    "protocols/registry.py",
    "protocols/reliability_tree/news.py",
    "sim/calm.py",
    "sim/explore/judging.py",
    "sim/explore/liveness.py",
    "sim/explore/telling.py",
    "sim/run.py",
    "sim/scenario.py",
    "sim/swarm/base.py",
    "sim/swarm/disks.py",
    "sim/swarm/draw.py",
    "sim/swarm/kinds.py",
    "sim/swarm/plan.py",
    "sim/swarm/requests.py",
    "sim/swarm/settings.py",
    "sim/swarm/stopping.py",
    "sim/swarm/surroundings.py",
    "sim/swarm/usual.py",
    "sim/transcript.py",
}
OPT_LEVEL = "1"  # as fast as 3 in benchmarks/kernel, in two thirds of gcc's time (docs/design/2026-11-compiled-unit.md)
MULTIPLY = "src/tocsin/core/multiply.c"  # its first lines say why
STRUCTS = {"Struct", "Message", "Record", "Options", "Config"}  # a file with a class of such a base is not compiled


def defines_structs(path: Path) -> bool:
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    return any(ast.unparse(base).rpartition(".")[2] in STRUCTS for each in classes for base in each.bases)


def unit() -> list[str]:
    """The files of the unit, in a defined order."""
    machines = [
        path
        for folder in FOLDERS
        for path in (PACKAGE / folder).rglob("*.py")
        if path.name != "__init__.py"
        and path.relative_to(PACKAGE).as_posix() not in NOT_COMPILED
        and not defines_structs(path)
    ]
    return sorted(map(str, machines + [PACKAGE / "live" / f"{name}.py" for name in LIVE]))


def extensions() -> list[Extension]:
    if os.environ.get("TOCSIN_COMPILE") != "1":
        return []
    from mypyc.build import mypycify

    made = list(mypycify(unit(), opt_level=OPT_LEVEL, debug_level="0", multi_file=True))
    for extension in made:
        if len(extension.sources) > 1:  # the unit itself; the others are a small file each, which finds its part of it
            extension.sources.append(MULTIPLY)
            extension.extra_compile_args.append("-DPyNumber_Multiply=tocsin_multiply")
    return made


class ParallelBuild(build_ext):
    """mypyc's unit is one extension of many C files; setuptools would compile them one after another."""

    def build_extension(self, ext: Extension) -> None:
        compile_some = self.compiler.compile

        def compile_all(sources: list[str], **settings: Any) -> list[str]:
            with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
                objects = pool.map(lambda source: compile_some([source], **settings), sources)
                return [name for names in objects for name in names]

        self.compiler.compile = compile_all
        try:
            super().build_extension(ext)
        finally:
            self.compiler.compile = compile_some


setup(ext_modules=extensions(), cmdclass={"build_ext": ParallelBuild})
