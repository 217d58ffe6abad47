"""Output on any terminal and through any pipe: what stdout's encoding does not have is escaped, never an error.

A stdout that is not UTF-8 gets ASCII, and every other character as JSON writes it (\\u20ac): JSON lines stay valid
JSON whatever the encoding is, and a person can still read the rest.
"""

import codecs
import io
import sys

_HANDLER = "tocsin.escape"


def make_output_safe() -> None:
    codecs.register_error(_HANDLER, _escape)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            is_unicode = codecs.lookup(stream.encoding).name == "utf-8"
            stream.reconfigure(encoding="utf-8" if is_unicode else "ascii", errors=_HANDLER)


def _escape(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(_escaped, error.object[error.start : error.end])), error.end


def _escaped(character: str) -> str:
    number = ord(character)
    if number > 0xFFFF:  # as JSON has it: two halves
        number -= 0x10000
        return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"
    return f"\\u{number:04x}"
