"""What is wrong with a document is told in one line: the key, what was expected, what was found."""

import datetime
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from tocsin.core.config import Config, decode_config
from tocsin.core.errors import InputError


class Part(Config, frozen=True):
    count: Annotated[int, Meta(ge=0)] = 0
    shape: Literal["round", "square"] | None = None


class Document(Config, frozen=True):
    size: Annotated[int, Meta(ge=0)] = 0
    model: Literal["mesh", "lan"] = "mesh"
    columns: dict[str, str] = {}
    named: dict[str, Part] = {}
    parts: list[Part] = []
    pair: Annotated[list[int], Meta(min_length=2, max_length=2)] | None = None


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({"size": -1}, "`size`: expected `int` >= 0, found -1"),
        ({"size": "x"}, "`size`: expected `int`, found `str`"),
        ({"model": "la"}, "`model`: expected one of lan, mesh, found `la` (did you mean `lan`?)"),
        ({"model": "zzz"}, "`model`: expected one of lan, mesh, found `zzz`"),
        (
            {"columns": {f"c{n}": "x" if n != 77 else 3 for n in range(100)}},
            "`columns.c77`: expected `str`, found `int`",
        ),
        ({"named": {"a": {"count": 1}, "b": {"count": -5}}}, "`named.b.count`: expected `int` >= 0, found -5"),
        ({"named": {"a": {"shape": "rund"}}}, "`named.a.shape`: expected one of round, square, found `rund` (did you"),
        ({"named": {"a": {}, "b": {"cont": 1}}}, "unknown key `named.b.cont` (did you mean `count`?)"),
        ({"parts": [{}, {"count": "x"}]}, "`parts[1].count`: expected `int`, found `str`"),
        ({"parts": [{"cnt": 1}]}, "unknown key `parts[0].cnt` (did you mean `count`?)"),
        ({"pair": [1]}, "`pair`: expected `array` of length >= 2, found [1]"),
        ({"size": float("nan")}, "`size`: expected a finite number, found nan"),
        ({"size": datetime.date(2026, 1, 2)}, "`size`: expected a number, a text, a list or a table, found a date"),
        (
            {"columns": {"a": datetime.time(1)}},
            "`columns.a`: expected a number, a text, a list or a table, found a date",
        ),
        ([], "expected `object`, found `array`"),
    ],
)
def test_told(data: Any, told: str) -> None:
    with pytest.raises(InputError) as refused:
        decode_config(data, Document, "file")
    assert str(refused.value).startswith(f"file: {told}")
