"""The checker itself: histories that people can judge, and planted faults that it must find."""

import pytest

from tests.state.linearizable import NEVER, Call, LockModel, MapModel, Model, QueueModel, explain


def get(who: str, answer: bytes | None, begin: int, end: int) -> Call:
    return Call(who, "get", (), answer, begin, end)


def put(who: str, value: bytes, begin: int, end: int) -> Call:
    return Call(who, "set", (value,), None, begin, end)


GOOD: list[tuple[str, Model, list[Call]]] = [
    ("one after the other", MapModel(), [put("a", b"1", 0, 1), get("b", b"1", 2, 3)]),
    ("either way while both go on", MapModel(), [put("a", b"1", 0, 9), get("b", None, 1, 2), get("b", b"1", 3, 4)]),
    (
        "a call that never ended counts later",
        MapModel(),
        [put("a", b"1", 0, NEVER), get("b", None, 1, 2), get("b", b"1", 3, 4)],
    ),
    ("or never", MapModel(), [put("a", b"1", 0, NEVER), get("b", None, 5, 6)]),
    (
        "one of two wins",
        MapModel(),
        [
            Call("a", "compare_and_set", (None, b"1"), True, 0, 5),
            Call("b", "compare_and_set", (None, b"2"), False, 0, 5),
        ],
    ),
    (
        "a lock goes on after a crash",
        LockModel(),
        [Call("a", "acquire", (), 1, 0, 1), Call("a", "gone", (), None, 2, NEVER), Call("b", "acquire", (), 2, 3, 9)],
    ),
    (
        "an item goes back",
        QueueModel(),
        [
            Call("a", "put", (1,), None, 0, 1),
            Call("b", "take", (), 1, 2, 3),
            Call("b", "gone", (), None, 4, NEVER),
            Call("c", "take", (), 1, 5, 6),
            Call("b", "done", (1,), False, 7, 8),
            Call("c", "done", (1,), True, 7, 9),
        ],
    ),
]
BAD: list[tuple[str, Model, list[Call]]] = [
    ("a stale read", MapModel(), [put("a", b"1", 0, 1), get("b", None, 2, 3)]),
    ("back in time", MapModel(), [put("a", b"1", 0, 9), get("b", b"1", 1, 2), get("c", None, 3, 4)]),
    ("a value from nowhere", MapModel(), [get("b", b"7", 0, 1)]),
    (
        "both of two win",
        MapModel(),
        [
            Call("a", "compare_and_set", (None, b"1"), True, 0, 5),
            Call("b", "compare_and_set", (None, b"2"), True, 0, 5),
        ],
    ),
    ("a double lock", LockModel(), [Call("a", "acquire", (), 1, 0, 1), Call("b", "acquire", (), 2, 2, 3)]),
    (
        "a token that does not grow",
        LockModel(),
        [Call("a", "acquire", (), 1, 0, 1), Call("a", "release", (1,), None, 2, 3), Call("b", "acquire", (), 1, 4, 5)],
    ),
    (
        "one item twice",
        QueueModel(),
        [Call("a", "put", (1,), None, 0, 1), Call("b", "take", (), 1, 2, 3), Call("c", "take", (), 1, 2, 3)],
    ),
    (
        "a younger item first",
        QueueModel(),
        [Call("a", "put", (1,), None, 0, 1), Call("a", "put", (2,), None, 2, 3), Call("c", "take", (), 2, 4, 5)],
    ),
    (
        "an item that was done comes back",
        QueueModel(),
        [
            Call("a", "put", (1,), None, 0, 1),
            Call("b", "take", (), 1, 2, 3),
            Call("b", "done", (1,), True, 4, 5),
            Call("b", "gone", (), None, 6, NEVER),
            Call("c", "take", (), 1, 7, 8),
        ],
    ),
]


@pytest.mark.parametrize(("what", "model", "history"), GOOD, ids=[case[0] for case in GOOD])
def test_what_could_have_been(what: str, model: Model, history: list[Call]) -> None:
    assert explain(history, model) == ""


@pytest.mark.parametrize(("what", "model", "history"), BAD, ids=[case[0] for case in BAD])
def test_what_cannot_have_been(what: str, model: Model, history: list[Call]) -> None:
    assert "none of these fits" in explain(history, model)
