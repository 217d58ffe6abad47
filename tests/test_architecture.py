"""The arrows of the architecture, and the rules of the tree, as tests."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "tocsin"

MAY_IMPORT = {  # folder: the folders of the package that it may import besides itself
    "core": set(),
    "traces": {"core"},
    "properties": {"core", "traces"},
    "planning": {"core"},
    "protocols": {"core", "planning"},
    "sim": {"core", "planning", "protocols", "traces", "properties"},
    "live": {"core", "planning", "protocols", "traces"},
    "calculations": {"core", "planning", "protocols", "sim", "properties", "traces"},
    "spark": {"calculations", "core", "planning", "protocols", "traces", "properties", "sim"},
}
MAY_IMPORT_BESIDE = {  # sub-folder: what of its own folder it may import besides itself; other folders, as above
    "live/wire": {"clock", "errors", "group_config"},
    "live/storage": {"errors", "frame_format", "packing"},
    "live/operations": {"driver", "group_config", "incoming", "naming", "outgoing", "storage", "wire"},
    "properties/kernels": {"cycles", "graph", "inversions", "properties", "report", "tangles"},
    "sim/networks": {"conditions", "kernel", "site", "surroundings"},
    "sim/explore": {"faults", "manual_site", "scenario", "transcript"},
    "sim/swarm": {"run", "scenario", "scenario_config", "simulation"},
    "spark/audit": set(),
    "spark/sweep": {"session"},
}
PURE = ("core", "planning", "protocols", "sim", "properties")  # these folders decide and compute; they do not act
ACTING = {
    "asyncio",
    "logging",
    "multiprocessing",
    "random",
    "socket",
    "subprocess",
    "threading",
    "time",
    "uvloop",
    "secrets",
}


def imports(path: Path) -> set[str]:
    """Every module that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


@pytest.mark.parametrize("folder", sorted(MAY_IMPORT))
def test_imports_go_left_only(folder: str) -> None:
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "tocsin" and len(parts) > 1 and not parts[1].startswith("_"):
                assert parts[1] in {folder, *MAY_IMPORT[folder]}, f"{path} imports {name}"


@pytest.mark.parametrize("folder", sorted(MAY_IMPORT_BESIDE))
def test_parts_of_a_folder_import_only_what_they_rest_on(folder: str) -> None:
    whole, part = folder.split("/")
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        for name in imports(path):
            parts = name.split(".")
            if parts[:2] == ["tocsin", whole] and len(parts) > 2:
                assert parts[2] in {part, *MAY_IMPORT_BESIDE[folder]}, f"{path} imports {name}"


@pytest.mark.parametrize("folder", PURE)
def test_the_core_imports_nothing_that_acts(folder: str) -> None:
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        acting = {name.split(".")[0] for name in imports(path)} & ACTING
        assert not acting, f"{path} imports {acting}"


def test_nothing_but_the_spark_folder_needs_spark() -> None:
    """In a Python of its own, in which pyspark cannot be imported, everything else can."""
    modules = [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in sorted(PACKAGE.rglob("*.py"))
        if "spark" not in path.parts and path.name != "__init__.py"
    ]
    assert len(modules) > 100
    program = (
        f"import sys, importlib; sys.modules['pyspark'] = None\nfor name in {modules}: importlib.import_module(name)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_tree_names_no_machine() -> None:
    # Written in pieces, so that this file does not name them either.
    pattern = re.compile(
        "|".join(["/wor" + "k/", "/roo" + "t/", "/hom" + "e/[a-z]", "pypi" + r"\.org", "files.python" + "hosted"])
    )
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        path = ROOT / name
        if path.is_file() and path.suffix in {".py", ".md", ".toml", ".sh", ".txt", ".lock", ".html", ".json", ""}:
            found = pattern.search(path.read_text(errors="replace"))
            assert found is None, f"{name} names {found.group() if found else ''}"
