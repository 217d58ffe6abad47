"""Replicas over a made-up group that crashes, cuts off, forgets and repeats: one state everywhere, and every call that
was answered counts once."""

import json
import random
from collections import Counter

import pytest

from tests.state.fake_group import FakeGroup
from tocsin.state import transfer
from tocsin.state.core import CALLS_MAX, Core


class Ledger:
    """Notes its commands, and answers with how many there are; every one that ends in `!` it refuses, after noting."""

    def __init__(self) -> None:
        self.commands: list[str] = []

    def apply(self, command: bytes) -> bytes:
        self.commands.append(command.decode())
        if command.endswith(b"!"):
            raise ValueError(f"refused at {len(self.commands)}")
        return str(len(self.commands)).encode()

    def snapshot(self) -> bytes:
        return json.dumps(self.commands).encode()

    def restore(self, snapshot: bytes) -> None:
        self.commands = json.loads(snapshot)


def play(seed: int, steps: int = 400) -> FakeGroup:
    rng = random.Random(seed)
    group = FakeGroup(seed, "abcd"[: rng.choice((2, 3, 4))], Ledger, every=rng.choice((3, 7, 50)))
    names = list(group.sites)
    for step in range(steps):
        draw = rng.random()
        name = rng.choice(names)
        site = group.sites[name]
        up = [each for each in group.sites.values() if group.has_state(each)]
        may_go = len(up) > 1 or site not in up  # somebody keeps the state
        if draw < 0.15:
            group.call(name, f"{name}{step}{'!' if rng.random() < 0.1 else ''}".encode())
        elif draw < 0.17 and site.core is not None and may_go:
            group.crash(name)
        elif draw < 0.22 and site.core is None:
            group.start(name, wiped=bool(up) and rng.random() < 0.3)
        elif draw < 0.24 and site.core is not None and not site.cut and may_go:
            group.cut(name)
        elif draw < 0.30 and site.cut:
            group.heal(name, lost=bool(up) and rng.random() < 0.4)
        elif draw < 0.33:
            group.repeat(name)
        else:
            group.step()
    group.settle()
    return group


def ledger(core: Core | None) -> list[str]:
    assert core is not None and isinstance(core.state, Ledger)
    return core.state.commands


def check(group: FakeGroup) -> None:
    first = next(iter(group.sites.values()))
    commands = ledger(first.core)
    counted = Counter(commands)
    assert max(counted.values(), default=0) <= 1, "a call counted twice"
    for site in group.sites.values():
        assert site.core is not None and site.core.image() == first.core.image()  # type: ignore[union-attr]
        assert not site.calls, "a call was never answered"
        for command, answer in site.answers:
            text = command.decode()
            if not text:
                continue
            at = commands.index(text) + 1
            if answer.position < 0:
                group.happened["answers unknown"] += 1
            elif text.endswith("!"):
                assert isinstance(answer.error, ValueError) and str(answer.error) == f"refused at {at}"
                group.happened["errors"] += 1
            else:
                assert (answer.value, answer.error) == (str(at).encode(), None)
                group.happened["answers"] += 1
        assert all(counted[each.decode()] <= 1 for each in site.lost)
    assert not [line for line in group.told if "differs" in line]


def test_one_state_everywhere_and_every_call_counts_once() -> None:
    happened: Counter[str] = Counter()
    for seed in range(150):
        group = play(seed)
        try:
            check(group)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        happened += group.happened
    for what in ("crashes", "cuts", "holes", "wipes", "restored", "repeats", "images", "answers", "errors"):
        assert happened[what] > 20, happened
    assert happened["answers unknown"] > 0, happened


def test_the_state_comes_in_parts_and_from_another_member_when_one_falls_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transfer, "PART_BYTES", 20)
    monkeypatch.setattr(transfer, "PARTS_AHEAD", 3)
    silent = 0
    for seed in range(60):
        group = FakeGroup(seed, "abc", Ledger)
        group.settle()
        for number in range(40):
            group.call("ab"[number % 2], str(number).encode())
        group.settle()
        group.crash("c")
        group.start("c", wiped=True)
        rng = random.Random(seed)
        for _ in range(rng.randrange(10, 200)):
            group.step()
        core = group.sites["c"].core
        assert core is not None
        if not core.is_whole() and core._fetching and len(core._fetching):
            silent += 1
        group.crash("a")
        for _ in range(30):
            group.step()
        group.settle()
        check(group)
    assert silent > 10


def test_a_state_that_differs_is_found_and_named() -> None:
    class Wrong(Ledger):
        def apply(self, command: bytes) -> bytes:
            return super().apply(command.replace(b"7", b"8"))

    group = FakeGroup(1, "abc", Ledger, every=10)
    core = group.sites["b"].core
    assert core is not None
    core.state = Wrong()
    for number in range(30):
        group.call("abc"[number % 3], str(number).encode())
        group.step()
    group.settle()
    lines = [line for line in group.told if "differs" in line]
    assert lines and any("a, c (" in line and "against b (" in line for line in lines)


def test_a_sync_comes_after_every_call_that_completed_before() -> None:
    group = FakeGroup(3, "abc", Ledger)
    group.settle()
    for round_number in range(30):
        group.call("a", str(round_number).encode())
        while group.sites["a"].calls:
            group.step()
        group.sync("b")
        while group.sites["b"].calls:
            group.step()
        assert str(round_number) in ledger(group.sites["b"].core)


def test_a_fault_of_this_machine_is_no_answer() -> None:
    class Full(Ledger):
        def apply(self, command: bytes) -> bytes:
            raise MemoryError

    group = FakeGroup(1, "a", Full)
    group.settle()
    group.call("a", b"x")
    with pytest.raises(MemoryError):
        group.settle()


def test_calls_have_a_window() -> None:
    group = FakeGroup(1, "a", Ledger)
    core = group.sites["a"].core
    assert core is not None
    for _ in range(CALLS_MAX + 5):
        group.call("a", b"x")
    assert len(group.sites["a"].calls) == CALLS_MAX and not core.has_room()
    group.settle()
    assert len(ledger(core)) == CALLS_MAX and core.has_room()


def test_an_answer_that_is_not_bytes_is_an_error_everywhere() -> None:
    class Wordy(Ledger):
        def apply(self, command: bytes) -> bytes:
            return "words"  # type: ignore[return-value]

    group = FakeGroup(1, "ab", Wordy)
    group.call("a", b"x")
    group.settle()
    [(_, answer)] = group.sites["a"].answers
    assert isinstance(answer.error, TypeError) and "expected bytes" in str(answer.error)
