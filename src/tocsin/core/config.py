"""From plain data (a decoded TOML or JSON document) to validated structs, with errors that name the key.

A struct that stands for a file derives from `Config`: unknown keys are errors, and the nearest known key is
suggested.
"""

import difflib
import math
import re
from typing import Any, TypeVar

import msgspec

from tocsin.core.errors import InputError

_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*?)`(?: - at `\$\.?(?P<path>.*?)`)?$")
_LOCATED = re.compile(r"(?P<what>.*) - at `\$\.?(?P<path>.*?)`$")


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of a file that people write."""


C = TypeVar("C")


def decode_config(data: object, kind: type[C], source: str) -> C:
    """Turn plain data into a `kind`; `source` names the file (or the call) in errors."""
    if _has_strange_number(data):
        _refuse_strange_numbers(data, source, "")
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{source}: {_explain(str(error), kind)}") from None


def suggestion(word: str, known: list[str]) -> str:
    """' (did you mean `x`?)' for the nearest known word, or what is known when nothing is near."""
    near = difflib.get_close_matches(word, known, n=1)
    if near:
        return f" (did you mean `{near[0]}`?)"
    return f" (known: {', '.join(sorted(known))})" if known else ""


def _explain(text: str, kind: Any) -> str:
    unknown = _UNKNOWN.match(text)
    if unknown:
        path = unknown["path"] or ""
        where = f"`{path}.{unknown['key']}`" if path else f"`{unknown['key']}`"
        return f"unknown key {where}{suggestion(unknown['key'], _keys_at(kind, path))}"
    located = _LOCATED.match(text)
    if located:
        return f"`{located['path']}`: {located['what'][:1].lower()}{located['what'][1:]}"
    return text[:1].lower() + text[1:]


def _keys_at(kind: Any, path: str) -> list[str]:
    """The keys known at a dotted path below `kind`; empty when the path leaves the structs."""
    here = msgspec.inspect.type_info(kind)
    for part in filter(None, path.split(".")):
        here = _strip(here)
        name = part.split("[", 1)[0]
        if isinstance(here, msgspec.inspect.StructType):
            found = [field.type for field in here.fields if field.encode_name == name]
            if not found:
                return []
            here = found[0]
        if "[" in part:
            here = _strip(here)
            inner = getattr(here, "item_type", None) or getattr(here, "value_type", None)
            if inner is None:
                return []
            here = inner
    here = _strip(here)
    if isinstance(here, msgspec.inspect.StructType):
        return [field.encode_name for field in here.fields]
    return []


def _strip(info: Any) -> Any:
    """Look through unions and optional types at the struct or list in them."""
    if isinstance(info, msgspec.inspect.UnionType):
        for option in info.types:
            if isinstance(option, (msgspec.inspect.StructType, msgspec.inspect.ListType, msgspec.inspect.DictType)):
                return option
    return info


def _has_strange_number(data: object) -> bool:
    """Whether there is anything to refuse: quick, since files of a million links pass here, and names no place."""
    waiting = [data]
    while waiting:
        item = waiting.pop()
        if isinstance(item, float):
            if not math.isfinite(item):
                return True
        elif isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return False


def _refuse_strange_numbers(data: object, source: str, path: str) -> None:
    """NaN and infinities pass every `ge=`; no file of ours means them."""
    if isinstance(data, float) and not math.isfinite(data):
        raise InputError(f"{source}: `{path}`: expected a finite number, found {data}")
    if isinstance(data, dict):
        for key, value in data.items():
            _refuse_strange_numbers(value, source, f"{path}.{key}" if path else str(key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            _refuse_strange_numbers(value, source, f"{path}[{index}]")
