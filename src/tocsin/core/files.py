"""The files that people write: TOML, or JSON where a program wrote them. Reading never changes anything."""

import json
import os
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from tocsin.core.errors import InputError
from tocsin.core.plain_tables import read_plain_tables

DOCUMENT_BYTES_MAX = 256 * 1024 * 1024  # a topology of a million links in JSON takes about 60 MB
PLAIN_TABLES_LENGTH_MIN = 1_000_000  # characters; below, the standard reader takes half a second at most


def read_document(path: Path) -> dict[str, Any]:
    """The document in a TOML or JSON file (by its ending; anything else is taken as TOML)."""
    try:
        if path.stat().st_size > DOCUMENT_BYTES_MAX:
            raise InputError(f"{path}: expected at most {DOCUMENT_BYTES_MAX} bytes, found {path.stat().st_size}")
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: expected UTF-8 text, found byte {error.start} that is not") from None
    except ValueError:  # a zero byte in its name
        raise InputError(f"{str(path)!r}: expected the name of a file") from None
    try:
        data = json.loads(text) if path.suffix == ".json" else _read_toml(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise InputError(f"{path}: expected {kind}: {str(error).splitlines()[0]}") from None
    if not isinstance(data, dict):
        raise InputError(f"{path}: expected a table at the top, found {type(data).__name__}")
    return data


def name_of_file(path: Path) -> str:
    """What a file is called, without its ending, as text that can be written anywhere: names may be any bytes."""
    return os.fsencode(path.stem).decode("utf-8", "backslashreplace")


def is_utf_8(name: bytes) -> bool:
    try:
        name.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _read_toml(text: str) -> dict[str, Any]:
    plain = read_plain_tables(text) if len(text) >= PLAIN_TABLES_LENGTH_MIN else None
    return tomllib.loads(text) if plain is None else plain


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside its place and rename it there: readers see the old file or the new one, never a part."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
