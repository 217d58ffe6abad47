"""The arrows of the architecture, and the rules of the tree, as tests."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tocsin

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
    "state": {"core", "protocols", "live"},
    "backups": {"core", "protocols", "traces", "live", "state"},
    "door": {"core", "traces", "live"},
    "spark": {"core", "planning", "protocols", "traces", "properties", "sim", "live", "door"},
}
ABOVE_ALL = {"cli"}  # may import everything, and nothing imports it
MAY_IMPORT_BESIDE = {  # sub-folder: what of its own folder it may import besides itself; other folders, as above
    "live/wire": {"clock", "errors", "group_config", "known", "register", "seating"},
    "live/storage": {"errors", "frame_format", "known", "packing", "seating"},
    "live/doorway": {"broadcasting", "errors", "frame_format", "group_config", "incoming", "receipts", "storage"},
    "live/operations": {
        "broadcasting",
        "doorway",
        "driver",
        "group_config",
        "incoming",
        "naming",
        "opening",
        "outgoing",
        "storage",
        "wire",
    },
    "properties/plain": {"bad_rows", "gaps", "log_names", "obstacles", "report", "terms"},
    "properties/kernels": {"bad_rows", "gaps", "log_names", "obstacles", "report", "terms"},
    "properties/audit": {"bad_rows", "kernels", "obstacles", "report", "terms"},
    "sim/networks": {"conditions", "kernel", "site", "surroundings"},
    "sim/explore": {"faults", "manual_site", "run", "scenario", "transcript"},
    "sim/duties": {"conditions", "disk", "faults", "scenario", "simulation", "world"},
    "sim/swarm": {"calm", "faults", "duties", "run", "scenario", "scenario_config", "simulation"},
    "state/recipes": {"replica", "states"},
    "spark/audit": set(),
    "spark/sweep": {"session"},
    "spark/streams": set(),
    "spark/watch": {"streams"},
    "properties/watch": {"audit", "kernels", "report", "terms"},
}
STATE_KNOWS_OF_LIVE = {  # the member's public face; and the disk, and what was delivered before
    "tocsin.live.errors",
    "tocsin.live.events",
    "tocsin.live.group_config",
    "tocsin.live.joining",
    "tocsin.live.member",
    "tocsin.live.storage.disk",
    "tocsin.live.storage.journal",
}
STATE_ACTS = {"background", "past", "replica", "snapshot_files"}  # the other files are pure
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


def test_nobody_imports_the_papers() -> None:
    """They may import everything, and are not shipped; what other tests need of them is not a paper's own."""
    for folder in ("src", "tests", "benchmarks", "examples"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            found = {name for name in imports(path) if name.split(".")[0] == "papers"}
            assert not found, f"{path} imports {found}"


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


def test_state_needs_only_the_members_public_face() -> None:
    folder = PACKAGE / "state"
    for path in sorted(folder.rglob("*.py")):
        found = {name for name in imports(path) if name.startswith("tocsin.live.")}
        modules = {name for name in found if (PACKAGE.parent / (name.replace(".", "/") + ".py")).is_file()}
        assert modules <= STATE_KNOWS_OF_LIVE, f"{path} imports {modules - STATE_KNOWS_OF_LIVE}"
        if path.stem not in STATE_ACTS and (path.parent == folder or path.stem.endswith("_state")):
            acting = {name.split(".")[0] for name in imports(path)} & ACTING
            assert not acting and not modules, f"{path} imports {acting or modules}"


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
            if shared:
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


def test_the_table_names_every_folder_and_no_other() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert folders == {*MAY_IMPORT, *ABOVE_ALL}
    assert set(PURE) <= folders


# What people copy imports only what the library promises.


def python_of_people() -> dict[str, str]:
    """The examples, and the Python in README and docs, by where it stands."""
    found = {f"examples/{path.name}": path.read_text() for path in sorted((ROOT / "examples").glob("*.py"))}
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
        for number, block in enumerate(blocks, 1):
            found[f"{page.relative_to(ROOT)}, block {number}"] = block
    return found


def names_of_tocsin(code: str) -> set[str]:
    """Every name of the package that some Python uses: `X` of `tocsin.X` and of `from tocsin import X`; a module that
    is imported by its path counts as that path."""
    tree = ast.parse(code)
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tocsin":
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom) and node.module == "tocsin":
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tocsin."):
            found.add(str(node.module))
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.startswith("tocsin."))
    return found


def test_examples_and_docs_use_only_public_names() -> None:
    pieces = python_of_people()
    assert len(pieces) >= 5
    for where, code in pieces.items():
        hidden = names_of_tocsin(code) - set(tocsin.__all__)
        assert not hidden, f"{where} uses {', '.join(sorted(hidden))}, which tocsin.__all__ does not have"


def test_hidden_names_are_seen() -> None:
    code = "import tocsin.sim.run\nfrom tocsin.live import member\nfrom tocsin import join\nasync def f(): tocsin.wal()"
    assert names_of_tocsin(code) == {"tocsin.sim.run", "tocsin.live", "join", "wal"}


def test_every_public_name_is_there_and_documented() -> None:
    assert sorted(tocsin.__all__) == tocsin.__all__
    for name in tocsin.__all__:
        assert getattr(tocsin, name).__doc__ or written_doc(name), f"tocsin.{name} says nothing about itself"


def written_doc(name: str) -> str | None:
    """The docstring in the source: compiled classes do not keep theirs."""
    source = PACKAGE.parent / (tocsin._WHERE[name].replace(".", "/") + ".py")
    nodes = [node for node in ast.parse(source.read_text()).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return next(ast.get_docstring(node) for node in nodes if node.name == name)


def test_importing_the_library_imports_nothing_heavy() -> None:
    """Nothing that takes time, and nothing that starts Spark, until it is asked for."""
    heavy = ["asyncio", "cryptography", "msgspec", "numpy", "pyarrow", "pyspark", "rich", "rustworkx"]
    program = f"import sys, tocsin; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


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
