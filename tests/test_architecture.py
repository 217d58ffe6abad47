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
    "spark": {"core", "planning", "protocols", "traces", "properties", "sim"},
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


SUBCLASSES_LEFT = {  # folders in which classes still share private names with a base class, and why
    "protocols/counter_token": "rebuilt from parts when its views and voters are",
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


def test_nobody_imports_the_papers() -> None:
    """They may import everything, and are not shipped; what other tests need of them is not a paper's own."""
    for folder in ("src", "tests", "benchmarks", "examples"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found = {name for name in imports(path) if name.split(".")[0] == "papers"}
            assert not found, f"{path} imports {found}"


@pytest.mark.parametrize("folder", PURE)
def test_the_core_imports_nothing_that_acts(folder: str) -> None:
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        acting = {name.split(".")[0] for name in imports(path)} & ACTING
        assert not acting, f"{path} imports {acting}"


class Written:
    """A class of the package as its source says: its bases, and the private names of its objects."""

    def __init__(self, path: Path, node: ast.ClassDef, names: dict[str, str]) -> None:
        self.path = path
        self.bases = [names.get(base, base) for base in map(_base_name, node.bases)]
        body = {each.name for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
        attributes = [
            each
            for each in ast.walk(node)
            if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "self"
        ]
        written = {each.attr for each in attributes if isinstance(each.ctx, ast.Store)}
        self.defined = {name for name in body | written if _is_private(name)}  # methods, and fields it assigns
        self.used = self.defined | {each.attr for each in attributes if _is_private(each.attr)}


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _base_name(base: ast.expr) -> str:
    return ast.unparse(base).partition("[")[0]


def classes_of_the_package() -> dict[str, Written]:
    """By full name, as `tocsin.core.machine.Machine`."""
    found: dict[str, Written] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        tree = ast.parse(path.read_text())
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        names = {node.name: f"{module}.{node.name}" for node in classes}  # what a bare name means in this file
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
        for node in classes:
            found[f"{module}.{node.name}"] = Written(path, node, names)
    return found


def test_no_class_shares_private_names_with_a_base_class() -> None:
    """Parts hold their own state: a subclass neither writes nor reads what its base keeps private, nor calls it."""
    classes = classes_of_the_package()
    wrong: dict[str, list[str]] = {}
    derived = 0
    for name, written in classes.items():
        bases = [base for base in written.bases if base in classes]
        derived += len(bases)
        for base in bases:
            bases.extend(further for further in classes[base].bases if further in classes and further not in bases)
            shared = written.used & classes[base].defined
            if shared and written.path.parent.relative_to(PACKAGE).as_posix() not in SUBCLASSES_LEFT:
                wrong[f"{name} of {base}"] = sorted(shared)
    assert derived > 100, "no base class was found: this proves nothing"
    assert not wrong


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
