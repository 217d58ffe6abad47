"""Compiles core, planning, protocols and sim as one mypyc unit: `python setup.py build_ext --inplace`.

Left out: files that hold only msgspec structs (they are C already), package files, and what reads documents or drives
whole runs rather than events.
"""

import os
from pathlib import Path

from setuptools import setup

PACKAGE = Path("src/tocsin")
FOLDERS = ("core", "planning", "protocols", "sim")
NOT_COMPILED = {
    "__init__.py",
    "codec.py",
    "config.py",
    "errors.py",
    "fingerprint.py",
    "message.py",
    "messages.py",
    "protocol.py",
    "registry.py",
    "run.py",
    "scenario.py",
    "swarm.py",
    "swarm_draw.py",
    "transcript.py",
    "exploration.py",
    "explore.py",
    "local_states.py",
}


def unit() -> list[str]:
    """The files of the unit, in a defined order."""
    return sorted(
        str(path)
        for folder in FOLDERS
        for path in (PACKAGE / folder).rglob("*.py")
        if path.name not in NOT_COMPILED and not path.name.endswith(("_config.py", "_messages.py"))
    )


def extensions() -> list[object]:
    if os.environ.get("TOCSIN_COMPILE") != "1":
        return []
    from mypyc.build import mypycify

    return list(mypycify(unit(), opt_level="3", debug_level="0", multi_file=True))


setup(ext_modules=extensions())
