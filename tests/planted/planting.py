"""Planted bugs, found in the syntax tree of a protocol's sources: what can be forgotten, done too late or let through.

A *place* is where one can be planted, a `Plant` is one planted bug:

- a `persist` **forgotten**: the statement is a call whose name has the word `persist`;
- the same **late**: what it keeps is kept when the step ends, after everything that the step sends;
- a guard **dropped**: a condition that asks about a ballot, view, number, incarnation or count (`WORDS`) is forced so
  that it never holds anything back. Where the body of an `if` leaves (return, continue, break, raise) it is forced to
  be false; where there is no other way than the body, to be true; where there are two ways (an `else`), and in what a
  function that answers yes or no returns, each in turn. Of `a and b` that must be true, or `a or b` that must be
  false, each part is dropped alone. Loops are not guards, nor is the question whether something is there at all
  (`is None`).

Names are `file:function:what:ordinal`, counted inside the function, so that a table can speak of them for long.
"""

import ast
import difflib
from collections.abc import Iterator
from typing import NamedTuple

FORGOTTEN, LATE, TRUE, FALSE = "forgotten", "late", "true", "false"

WORDS = {  # of names in a condition: split at `_`, without a plural's s
    "ballot": {"ballot", "attempt", "promised", "voted", "accepted", "term"},
    "view": {"view", "epoch", "graph"},
    "number": {"number", "seqno", "position", "place", "turn", "stamp", "following", "end", "limit", "floor"},
    "incarnation": {"incarnation", "life"},
    "count": {"count", "counter", "counted", "len", "majority", "quorum"},
}
ALL_WORDS = frozenset[str]().union(*WORDS.values())
WATCH = "_planted"  # the name of the watch module in watched sources
DIFF_LINES = 2


class Plant(NamedTuple):
    """One planted bug."""

    name: str
    place: int
    mode: str
    module: str
    line: int
    node: ast.expr


class Field:
    """All that can be planted in some modules, and their sources as they are watched."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources
        self.plants: dict[str, Plant] = {}  # by name, in the order of the sources
        self.watched: dict[str, str] = {}  # by module: its source, in which every place reports to `watch.py`
        self.places = 0
        for module, source in sources.items():
            self._add(module, source)

    def diff(self, plant: Plant) -> str:
        """What is planted, as a unified diff."""
        file = plant.module.replace(".", "/") + ".py"
        before = self._sources[plant.module].splitlines(keepends=True)
        after = _replaced(before, plant.node, _shown(plant))
        return "".join(difflib.unified_diff(before, after, file, f"{file} ({plant.name})", n=DIFF_LINES))

    def _add(self, module: str, source: str) -> None:
        tree = ast.parse(source)
        finder = _Finder()
        finder.visit(tree)
        file = _file(module)
        numbers: dict[int, int] = {}  # the place of a node, by identity
        keeping: set[int] = set()
        ordinals: dict[tuple[str, str], int] = {}
        for function, mode, node in sorted(finder.found, key=lambda each: (each[2].lineno, each[2].col_offset)):
            place = numbers.setdefault(id(node), self.places + len(numbers))
            ordinals[function, mode] = ordinals.get((function, mode), 0) + 1
            name = f"{file}:{function}:{mode}:{ordinals[function, mode]}"
            assert name not in self.plants, f"two files of one name: {name}"
            self.plants[name] = Plant(name, place, mode, module, node.lineno, node)
            if mode == FORGOTTEN:
                keeping.add(place)
        self.places += len(numbers)
        self.watched[module] = _watched(ast.parse(source), tree, numbers, keeping)


def _file(module: str) -> str:
    """What names call a module: its file in the protocol's folder; of parts that protocols share, the folder too."""
    folder, _, last = module.rpartition(".")
    return f"core/{last}.py" if folder == "tocsin.core" else f"{last}.py"


class _Finder(ast.NodeVisitor):
    """Places of a module: (function, mode, node)."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str, ast.expr]] = []
        self._names: list[str] = []
        self._answers: list[bool] = []  # whether the function answers yes or no

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._names.append(node.name)
        self.generic_visit(node)
        self._names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._names.append(node.name)
        self._answers.append(isinstance(node.returns, ast.Name) and node.returns.id == "bool")
        for statement in node.body:
            self.visit(statement)
        self._answers.pop()
        self._names.pop()

    def visit_Expr(self, node: ast.Expr) -> None:
        if self._answers and isinstance(node.value, ast.Call) and "persist" in _words(node.value.func):
            self._add(FORGOTTEN, node.value)
            self._add(LATE, node.value)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        leaves = isinstance(node.body[-1], ast.Return | ast.Continue | ast.Break | ast.Raise)
        for mode in (TRUE, FALSE) if node.orelse else (FALSE,) if leaves else (TRUE,):
            self._add_guards(node.test, mode)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        for mode in (TRUE, FALSE):
            self._add_guards(node.test, mode)
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        self._add_guards(node.test, TRUE)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._add_guards(test, TRUE)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if self._answers and self._answers[-1] and node.value is not None:
            for mode in (TRUE, FALSE):
                self._add_guards(node.value, mode)
        self.generic_visit(node)

    def _add_guards(self, condition: ast.expr, mode: str) -> None:
        if self._answers:
            for each, forced in _guards(condition, mode):
                self._add(forced, each)

    def _add(self, mode: str, node: ast.expr) -> None:
        self.found.append((".".join(self._names), mode, node))


def _guards(condition: ast.expr, mode: str) -> Iterator[tuple[ast.expr, str]]:
    """The smallest parts of a condition that ask about what `WORDS` name and can be forced without touching others."""
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        yield from _guards(condition.operand, FALSE if mode == TRUE else TRUE)
    elif isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And if mode == TRUE else ast.Or):
        for part in condition.values:
            yield from _guards(part, mode)
    elif _is_guard(condition):
        yield condition, mode


def _is_guard(condition: ast.expr) -> bool:
    """Whether it asks about a ballot, view, number, incarnation or count; not, whether something is there at all."""
    if isinstance(condition, ast.BoolOp):
        return any(_is_guard(part) for part in condition.values)
    if isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        return _is_guard(condition.operand)
    if isinstance(condition, ast.Constant):
        return False
    if isinstance(condition, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in condition.ops):
        return False
    return not ALL_WORDS.isdisjoint(_words(condition))


def _words(node: ast.AST) -> set[str]:
    """The words of the names in an expression; of `a.b.c` only those of c count: the others say where it is kept."""
    if isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        found = {word if word in ALL_WORDS else word.removesuffix("s") for word in name.lower().split("_")}
        inner = node.value if isinstance(node, ast.Attribute) else None
        return found if inner is None or isinstance(inner, ast.Name | ast.Attribute) else found | _words(inner)
    return {word for child in ast.iter_child_nodes(node) for word in _words(child)}


def _watched(fresh: ast.Module, tree: ast.Module, numbers: dict[int, int], keeping: set[int]) -> str:
    """The source of `fresh`, a second parse of `tree`, in which each place asks the watch module what to do."""
    places = {
        id(new): numbers[id(old)]
        for old, new in zip(ast.walk(tree), ast.walk(fresh), strict=True)
        if id(old) in numbers
    }
    changed = _Watcher(places, keeping).visit(fresh)
    assert isinstance(changed, ast.Module)
    after_docstring = 1 if ast.get_docstring(changed) is not None else 0
    changed.body.insert(after_docstring, ast.parse(f"from tests.planted import watch as {WATCH}").body[0])
    return ast.unparse(ast.fix_missing_locations(changed))


class _Watcher(ast.NodeTransformer):
    def __init__(self, places: dict[int, int], keeping: set[int]) -> None:
        self._places = places
        self._keeping = keeping

    def visit(self, node: ast.AST) -> ast.AST:
        place = self._places.get(id(node))
        self.generic_visit(node)
        if place is None:
            return node
        if place in self._keeping:
            assert isinstance(node, ast.Call) and not node.keywords
            return _call("kept", place, node.func, *node.args)
        assert isinstance(node, ast.expr)
        return _call("asked", place, node)


def _call(function: str, place: int, *arguments: ast.expr) -> ast.Call:
    name = ast.Attribute(ast.Name(WATCH, ast.Load()), function, ast.Load())
    return ast.Call(name, [ast.Constant(place), *arguments], [])


def _shown(plant: Plant) -> str:
    text = ast.unparse(plant.node)
    return {FORGOTTEN: "pass", LATE: f"at_the_end_of_the_step({text})", TRUE: "True", FALSE: "False"}[plant.mode]


def _replaced(lines: list[str], node: ast.expr, text: str) -> list[str]:
    """The lines with the node's own text replaced."""
    assert node.end_lineno is not None and node.end_col_offset is not None
    first, last = node.lineno - 1, node.end_lineno - 1
    before = lines[first].encode()[: node.col_offset].decode()
    after = lines[last].encode()[node.end_col_offset :].decode()
    return [*lines[:first], before + text + after, *lines[last + 1 :]]
