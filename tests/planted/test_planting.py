"""What is planted in a small source, under which names; watched sources act as written until a bug is planted."""

import ast
from typing import Any

import pytest

from tests.mutation import sources_of
from tests.planted import watch
from tests.planted.page import PAGE, known_table
from tests.planted.planting import FALSE, FORGOTTEN, LATE, TRUE, Field
from tests.planted.report import KNOWN
from tocsin.core.machine import Machine
from tocsin.core.message import Message, Record
from tocsin.protocols.registry import REGISTRY

SOURCE = '''\
"""A part."""


class Part:
    def take(self, number: int, group: int) -> str:
        if number < self.promised or group == 3:
            return "refused"
        self.records.persist(number)
        self.sent.append(number)
        if self.kind == 1 and len(self.sent) > 1:
            return "many"
        return "taken"

    def may(self, view: int) -> bool:
        return view == self.view

    def choose(self, ballot: int) -> str:
        if ballot > self.promised:
            return "larger"
        elif self.kind is None:
            return "none"
        else:
            return "smaller"

    def filtered(self) -> list[int]:
        return [each for each in self.sent if each > self.floor]

    def loop(self) -> None:
        while self.count < 3:
            self.count += 1
'''
MODULE = "tocsin.protocols.fake.part"


def planted() -> Field:
    return Field({MODULE: SOURCE})


class Records:
    def __init__(self) -> None:
        self.kept: list[int] = []

    def persist(self, record: int) -> None:
        self.kept.append(record)


def part(field: Field) -> Any:
    """One from the watched source."""
    names: dict[str, object] = {}
    exec(field.watched[MODULE], names)
    made = names["Part"]
    assert isinstance(made, type)
    found: Any = made()
    for name, value in (("promised", 5), ("records", Records()), ("sent", []), ("kind", 1), ("view", 2), ("floor", 0)):
        setattr(found, name, value)
    return found


def test_names() -> None:
    assert list(planted().plants) == [
        "part.py:Part.take:false:1",
        "part.py:Part.take:forgotten:1",
        "part.py:Part.take:late:1",
        "part.py:Part.take:false:2",
        "part.py:Part.may:true:1",
        "part.py:Part.may:false:1",
        "part.py:Part.choose:true:1",
        "part.py:Part.choose:false:1",
        "part.py:Part.filtered:true:1",
    ]


def test_a_diff_shows_the_one_change() -> None:
    field = planted()
    changed = [
        line for line in field.diff(field.plants["part.py:Part.take:false:1"]).splitlines()[2:] if line[0] in "+-"
    ]
    assert changed == [
        "-        if number < self.promised or group == 3:",
        "+        if False or group == 3:",
    ]
    whole = field.diff(field.plants["part.py:Part.take:false:2"])
    assert "+        if False:" in whole and "@@ -8,5 +8,5 @@" in whole
    assert "+        pass\n" in field.diff(field.plants["part.py:Part.take:forgotten:1"])


def test_watched_sources_act_as_written() -> None:
    field = planted()
    watch.plant(None)
    watch.begin_run()
    found = part(field)
    assert found.take(4, 0) == "refused" and found.take(7, 3) == "refused"
    assert found.take(7, 0) == "taken" and found.take(8, 0) == "many"
    assert found.records.kept == [7, 8] and found.choose(9) == "larger"


def test_a_dropped_guard() -> None:
    field = planted()
    plant = field.plants["part.py:Part.take:false:1"]
    watch.plant(plant)
    watch.begin_run()
    found = part(field)
    assert found.take(7, 3) == "refused"
    assert watch.key(plant.place, FALSE) not in watch.mattered(False)
    assert found.take(4, 0) == "taken"
    assert watch.key(plant.place, FALSE) in watch.mattered(False)
    watch.plant(None)


def test_a_forgotten_record_matters_after_a_restart_only() -> None:
    field = planted()
    plant = field.plants["part.py:Part.take:forgotten:1"]
    watch.plant(plant)
    watch.begin_run()
    found = part(field)
    assert found.take(7, 0) == "taken" and found.records.kept == []
    assert watch.key(plant.place, FORGOTTEN) not in watch.mattered(False)
    assert watch.key(plant.place, FORGOTTEN) in watch.mattered(True)
    _machine(found).on_start(0, [Record()])
    assert watch.key(plant.place, FORGOTTEN) in watch.mattered(False)
    watch.plant(None)


def test_a_late_record_is_kept_when_the_step_ends() -> None:
    field = planted()
    watch.plant(field.plants["part.py:Part.take:late:1"])
    watch.begin_run()
    found = part(field)
    seen: list[list[int]] = []
    _machine(found, seen).broadcast(0, 0, b"")
    assert seen == [[]] and found.records.kept == [7]
    watch.plant(None)


def _machine(part: Any, seen: list[list[int]] | None = None) -> Machine:
    class Fake(Machine):
        def on_start(self, now: int, records: list[Record]) -> None:
            pass

        def on_message(self, now: int, source: int, message: Message) -> None:
            pass

        def on_timer(self, now: int, timer: str, key: int) -> None:
            pass

        def broadcast(self, now: int, group: int, payload: bytes) -> int:
            part.take(7, 0)
            assert seen is not None
            seen.append(list(part.records.kept))
            return 0

    watch.watch_steps(Fake)
    return Fake()


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_protocol_has_places(name: str) -> None:
    """Without a word about its insides; and a watched source differs from the written one at its places only."""
    sources = sources_of(name)
    field = Field(sources)
    modes = {plant.mode for plant in field.plants.values()}
    assert modes == {FORGOTTEN, LATE, TRUE, FALSE}
    assert set(KNOWN.get(name, {})) <= set(field.plants), "not_caught.toml names what is not planted any more"
    for module, watched in field.watched.items():
        assert ast.dump(_unwatched(ast.parse(watched))) == ast.dump(ast.parse(ast.unparse(ast.parse(sources[module]))))


def test_the_page_tells_what_is_not_caught() -> None:
    """`python -m tests.planted.page` writes it."""
    assert known_table(KNOWN) in PAGE.read_text()
    for reasons in KNOWN.values():
        assert all(reason.startswith(("no bug: ", "cost: ", "open: ")) for reason in reasons.values())


class _Unwatch(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "_planted":
            return node.args[1] if node.func.attr == "asked" else ast.Call(node.args[1], node.args[2:], [])
        return node


def _unwatched(tree: ast.Module) -> ast.Module:
    tree.body = [each for each in tree.body if ast.unparse(each) != "from tests.planted import watch as _planted"]
    changed: ast.Module = _Unwatch().visit(tree)
    return changed
