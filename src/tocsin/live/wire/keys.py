"""The group's keys: a text file with one key a line. The first seals; all of them open, so keys can be changed in
steps."""

import base64
import os
import stat
from pathlib import Path

from tocsin.core.errors import EnvironmentMissing, InputError

KEY_BYTES = 32
KEYS_MAX = 8  # a rotation needs two
_PREFIX = "tocsin-key-1:"


def new_key() -> bytes:
    return os.urandom(KEY_BYTES)


def read_keys(path: Path) -> list[bytes]:
    """The keys of a file that only its owner can read."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise EnvironmentMissing(
            f"{path}: the key file cannot be read: {reason}; make one: tocsin keygen {path}"
        ) from None
    with os.fdopen(descriptor, "rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        if mode & 0o077:
            raise EnvironmentMissing(
                f"{path}: expected a key file that only its owner can read, found mode {mode:04o}; chmod 600 {path}"
            )
        text = file.read(64 * 1024).decode("ascii", "replace")
    return _parse(text, path)


def _parse(text: str, path: Path) -> list[bytes]:
    keys: list[bytes] = []
    for number, line in enumerate(text.splitlines(), 1):
        word = line.strip()
        if not word or word.startswith("#"):
            continue
        try:
            if not word.startswith(_PREFIX):
                raise ValueError
            key = base64.b64decode(word.removeprefix(_PREFIX), validate=True)
            if len(key) != KEY_BYTES:
                raise ValueError
        except ValueError:
            raise InputError(f"{path}: line {number}: expected {_PREFIX} and {KEY_BYTES} bytes in base64") from None
        keys.append(key)
    if not 1 <= len(keys) <= KEYS_MAX:
        raise InputError(f"{path}: expected 1 to {KEYS_MAX} keys, found {len(keys)}")
    return keys


def write_keys(path: Path, keys: list[bytes], replace: bool) -> None:
    """Write a key file with mode 0600; without `replace` an existing file is an error."""
    text = "".join(f"{_PREFIX}{base64.b64encode(key).decode('ascii')}\n" for key in keys)
    target = path.with_name(f".{path.name}.new") if replace else path
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise InputError(f"{target}: exists already; it was not touched") from None
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {(error.strerror or str(error)).lower()}") from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode("ascii"))
        file.flush()
        os.fsync(file.fileno())
    if replace:
        os.replace(target, path)
