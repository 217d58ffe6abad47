"""A quick reader for the plainest kind of large TOML file: nothing but `[[tables]]` of simple keys.

The standard reader takes half a minute for a topology of a million links. Files of that size were written
by a program and look alike: a header in double brackets, then `key = value` lines with a string, a number
or a list of two strings. For those one regular expression per line will do. Whatever it does not know, it
leaves to the standard reader, errors included; what it reads, it reads to the same values (tests/agree
compares the two).
"""

import re
from typing import Any

_STRING = r'"([^"\\\x00-\x08\x0a-\x1f\x7f]*)"'
_LINE = re.compile(
    r"[ \t]*(?:"
    r"\[\[([A-Za-z0-9_-]+)\]\]"
    r"|([A-Za-z0-9_-]+)[ \t]*=[ \t]*"
    r"(?:" + _STRING + r"|([+-]?(?:0|[1-9][0-9]{0,17}))(\.[0-9]+)?([eE][+-]?[0-9]+)?"
    r"|\[[ \t]*" + _STRING + r"[ \t]*,[ \t]*" + _STRING + r"[ \t]*\])"
    r")?[ \t]*(?:#[^\x00-\x08\x0a-\x1f\x7f]*)?(?:\n|\Z)"
)


def read_plain_tables(text: str) -> dict[str, list[dict[str, Any]]] | None:
    """The document, or None if it has anything in it but plain tables."""
    document: dict[str, list[dict[str, Any]]] = {}
    table: dict[str, Any] | None = None
    position = 0
    match = _LINE.match
    while position < len(text):
        line = match(text, position)
        if line is None:
            return None
        position = line.end()
        name, key, string, whole, fraction, exponent, first, second = line.groups()
        if key is not None:
            if table is None or key in table:
                return None
            if string is not None:
                table[key] = string
            elif whole is None:
                table[key] = [first, second]
            elif fraction is None and exponent is None:
                table[key] = int(whole)
            else:
                table[key] = float(whole + (fraction or "") + (exponent or ""))
        elif name is not None:
            table = {}
            document.setdefault(name, []).append(table)
    return document
