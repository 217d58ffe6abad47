"""Compiles core, planning, protocols, sim and the live runtime's inner loop as one mypyc unit:
`python setup.py build_ext --inplace`.

Left out: files that hold only msgspec structs (they are C already), package files, and what reads documents or drives
whole runs rather than events.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = Path("src/tocsin")
FOLDERS = ("core", "planning", "protocols", "sim")
LIVE = (  # of runtime: what every datagram and every message goes through
    "backlog",
    "clock",
    "commits",
    "driver",
    "frame_log",
    "happenings",
    "inject",
    "keeper",
    "packing",
    "receipts",
    "seal",
    "segments",
    "stream",
    "timers",
    "udp",
    "wal",
    "wal_files",
    "wire",
)
NOT_COMPILED = {
    "__init__.py",
    "codec.py",
    "config.py",
    "errors.py",
    "exploration.py",
    "message.py",
    "messages.py",
    "protocol.py",
    "registry.py",
    "run.py",
    "scenario.py",
    "swarm.py",
    "swarm_draw.py",
    "transcript.py",
}


def unit() -> list[str]:
    """The files of the unit, in a defined order."""
    machines = [
        path
        for folder in FOLDERS
        for path in (PACKAGE / folder).rglob("*.py")
        if path.name not in NOT_COMPILED and not path.name.endswith(("_config.py", "_messages.py"))
    ]
    return sorted(map(str, machines + [PACKAGE / "runtime" / f"{name}.py" for name in LIVE]))


def extensions() -> list[Extension]:
    if os.environ.get("TOCSIN_COMPILE") != "1":
        return []
    from mypyc.build import mypycify

    return list(mypycify(unit(), opt_level="3", debug_level="0", multi_file=True))


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
