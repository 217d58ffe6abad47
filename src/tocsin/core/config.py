"""From plain data (a decoded TOML or JSON document) to validated structs, with errors that name the key.

A struct that stands for a file derives from `Config`: unknown keys are errors, and the nearest known key is
suggested.
"""

import datetime
import difflib
import json
import math
import re
from typing import Any, TypeVar

import msgspec

from tocsin.core.errors import InputError

_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*?)`(?: - at `\$\.?(?P<path>.*?)`)?$")
_LOCATED = re.compile(r"(?P<what>.*) - at `\$\.?(?P<path>.*?)`$")
_STEP = re.compile(r"\[[^\]]*\]|[^.\[]+")  # of a path: `key`, `[7]`, or `[...]` for the key of a table
DATES = (datetime.date, datetime.time)  # a datetime is a date
SHOWN_MAX = 60  # characters of what was found


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of a file that people write."""


C = TypeVar("C")


def decode_config(data: object, kind: type[C], source: str) -> C:
    """Turn plain data into a `kind`; `source` names the file (or the call) in errors."""
    if _has_strange_value(data):
        _refuse_strange_values(data, source, "")
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{source}: {_explain(str(error), data, kind)}") from None


def suggestion(word: str, known: list[str]) -> str:
    """' (did you mean `x`?)' for the nearest known word, or what is known when nothing is near."""
    near = difflib.get_close_matches(word, known, n=1)
    if near:
        return f" (did you mean `{near[0]}`?)"
    return f" (known: {', '.join(sorted(known))})" if known else ""


def _explain(text: str, data: object, kind: Any) -> str:
    unknown = _UNKNOWN.match(text)
    if unknown:
        path = unknown["path"] or ""
        place, _ = _place(data, kind, path, text)
        where = f"`{place}.{unknown['key']}`" if place else f"`{unknown['key']}`"
        return f"unknown key {where}{suggestion(unknown['key'], _keys(_info_at(kind, path)))}"
    located = _LOCATED.match(text)
    path = located["path"] if located else ""
    what = located["what"] if located else text
    place, found = _place(data, kind, path, text)
    words = _with_what_was_found(what[:1].lower() + what[1:], found, _info_at(kind, path))
    return f"`{place}`: {words}" if place else words


def _with_what_was_found(what: str, found: object, info: Any) -> str:
    if what.startswith("invalid enum value"):
        known = [str(word) for word in _words(info)]
        near = suggestion(str(found), known).partition(" (known")[0]  # they are all named already
        return f"expected one of {', '.join(known)}, found `{found}`{near}"
    if ", got `" in what:
        return what.replace(", got `", ", found `")
    if what.startswith("expected"):
        shown = json.dumps(found, default=str)
        return f"{what}, found {shown if len(shown) <= SHOWN_MAX else shown[:SHOWN_MAX] + '…'}"
    return what


def _place(data: object, kind: Any, path: str, text: str) -> tuple[str, object]:
    """A path of msgspec's with the keys that it leaves out (`columns[...]`: which column), and what is there."""
    steps: list[str | int] = []
    here: Any = data
    for step in _STEP.findall(path):
        if step == "[...]":
            key: str | int = _first_wrong(data, steps, here, kind, text)
        else:
            key = int(step[1:-1]) if step.startswith("[") else step
        steps.append(key)
        try:
            here = here[key]
        except (LookupError, TypeError):
            return path, None  # what is said is not in the data: a key that is missing, say
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return place.removeprefix("."), here


def _first_wrong(data: object, steps: list[str | int], table: dict[str, Any], kind: Any, text: str) -> str:
    """The key of a table whose value is refused with this text: half of what is left is tried at a time."""
    keys = list(table)
    while len(keys) > 1:
        half = keys[: len(keys) // 2]
        try:
            msgspec.convert(_with(data, steps, {key: table[key] for key in half}), kind)
            is_here = False
        except msgspec.ValidationError as error:
            is_here = str(error) == text
        keys = half if is_here else keys[len(half) :]
    return keys[0]


def _with(data: Any, steps: list[str | int], value: object) -> object:
    """The data with another value at a place."""
    if not steps:
        return value
    changed = data.copy()
    changed[steps[0]] = _with(data[steps[0]], steps[1:], value)
    return changed


def _info_at(kind: Any, path: str) -> Any:
    """What msgspec knows of the type at a path below `kind`; None when the path leaves the structs."""
    here: Any = msgspec.inspect.type_info(kind)
    for step in _STEP.findall(path):
        here = _strip(here)
        if step.startswith("["):
            here = getattr(here, "item_type", None) or getattr(here, "value_type", None)
        elif isinstance(here, msgspec.inspect.StructType):
            here = next((field.type for field in here.fields if field.encode_name == step), None)
        else:
            here = None
        if here is None:
            return None
    return here


def _keys(info: Any) -> list[str]:
    found = _strip(info)
    return [field.encode_name for field in found.fields] if isinstance(found, msgspec.inspect.StructType) else []


def _words(info: Any) -> list[Any]:
    """The words that a key may have as its value."""
    options = info.types if isinstance(info, msgspec.inspect.UnionType) else [info]
    return [word for option in options for word in getattr(option, "values", ())]


def _strip(info: Any) -> Any:
    """Look through unions and optional types at the struct or list in them."""
    if isinstance(info, msgspec.inspect.UnionType):
        for option in info.types:
            if isinstance(option, (msgspec.inspect.StructType, msgspec.inspect.ListType, msgspec.inspect.DictType)):
                return option
    return info


def _has_strange_value(data: object) -> bool:
    """Whether there is anything to refuse: quick, since files of a million links pass here, and names no place."""
    waiting = [data]
    while waiting:
        item = waiting.pop()
        if isinstance(item, float):
            if not math.isfinite(item):
                return True
        elif isinstance(item, DATES):
            return True
        elif isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False


def _refuse_strange_values(data: object, source: str, path: str) -> None:
    """NaN and infinities pass every `ge=`, and TOML has dates; no file of ours means them."""
    if isinstance(data, DATES):
        raise InputError(
            f'{source}: `{path}`: expected a number, a text, a list or a table, found a date; "{data}" is text'
        )
    if isinstance(data, float) and not math.isfinite(data):
        raise InputError(f"{source}: `{path}`: expected a finite number, found {data}")
    if isinstance(data, dict):
        for key, value in data.items():
            _refuse_strange_values(value, source, f"{path}.{key}" if path else str(key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            _refuse_strange_values(value, source, f"{path}[{index}]")
