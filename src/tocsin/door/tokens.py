"""Who may come in: the token file, lines `NAME TOKEN read|write`, read again when it changes.

Of a token only its SHA-256 is kept, and two hashes are compared in constant time, with every line, whichever fits. In
the file a token may be written as `sha256:` and 64 hexadecimal digits, so that nobody learns it there.
"""

import hashlib
import hmac
import logging
import os
import threading
import time
from collections import deque
from pathlib import Path
from typing import Final, NamedTuple

from tocsin.core.errors import InputError
from tocsin.door.limits import (
    SHORT_TOKEN_CHARACTERS,
    TOKEN_CHARACTERS_MAX,
    TOKENS_LOOK_SECONDS,
    TOKENS_MAX,
    WRONG_SECONDS,
    WRONG_TOKENS_MAX,
    WRONG_WAIT_SECONDS,
)

_log = logging.getLogger("tocsin.door")

RIGHTS: Final = ("read", "write")  # who may write may read
HASHED: Final = "sha256:"


class Holder(NamedTuple):
    name: str
    digest: bytes
    may_write: bool


def read_tokens(path: Path) -> list[Holder]:
    """The lines of a token file; empty ones and those that begin with # are passed over."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    holders: list[Holder] = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 3 or words[2] not in RIGHTS or len(words[1]) > TOKEN_CHARACTERS_MAX:
            raise InputError(f"{path}: line {number}: expected NAME TOKEN read|write")
        if len(holders) >= TOKENS_MAX:
            raise InputError(f"{path}: expected at most {TOKENS_MAX:,} tokens (TOKENS_MAX)")
        holders.append(Holder(words[0], _digest(words[1], f"{path}: line {number}"), words[2] == "write"))
        if not words[1].startswith(HASHED) and len(words[1]) < SHORT_TOKEN_CHARACTERS:
            _log.warning("%s: line %d: a token of less than %d characters", path, number, SHORT_TOKEN_CHARACTERS)
    return holders


def _digest(token: str, source: str) -> bytes:
    if not token.startswith(HASHED):
        return hashlib.sha256(token.encode()).digest()
    try:
        digest = bytes.fromhex(token.removeprefix(HASHED))
    except ValueError:
        digest = b""
    if len(digest) != hashlib.sha256().digest_size:
        raise InputError(f"{source}: expected `sha256:` and 64 hexadecimal digits")
    return digest


class Tokens:
    """Of one door."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._holders = read_tokens(path)
        self._stamp = _stamp(path)
        self._looked_at = time.monotonic()
        self._wrong: deque[float] = deque()  # when wrong tokens came, of the last WRONG_SECONDS
        self._lock = threading.Lock()

    def find(self, token: str) -> Holder | None:
        """Whose token this is; None: nobody's. Where many wrong ones came, every call waits first."""
        if self._are_many_wrong():
            time.sleep(WRONG_WAIT_SECONDS)
        self._maybe_read_again()
        digest = hashlib.sha256(token.encode(errors="surrogateescape")).digest()
        found: Holder | None = None
        for holder in self._holders:
            if hmac.compare_digest(digest, holder.digest):
                found = holder  # and go on: it takes the same time, whichever fits
        if found is None:
            self._on_wrong()
        return found

    def _are_many_wrong(self) -> bool:
        with self._lock:
            while self._wrong and time.monotonic() - self._wrong[0] > WRONG_SECONDS:
                self._wrong.popleft()
            return len(self._wrong) >= WRONG_TOKENS_MAX

    def _on_wrong(self) -> None:
        with self._lock:
            self._wrong.append(time.monotonic())
            many = len(self._wrong)
            if many > 2 * WRONG_TOKENS_MAX:
                self._wrong.popleft()
        if many <= WRONG_TOKENS_MAX:
            _log.warning("somebody came with a wrong token, or none")
        if many == WRONG_TOKENS_MAX:
            _log.warning("many wrong tokens: calls wait %g s before theirs is looked at", WRONG_WAIT_SECONDS)

    def _maybe_read_again(self) -> None:
        now = time.monotonic()
        if now - self._looked_at < TOKENS_LOOK_SECONDS:
            return
        self._looked_at = now
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        try:
            self._holders = read_tokens(self._path)
        except InputError as error:
            _log.error("%s; the tokens stay as they were", error)
        else:
            _log.info("%s: read again: %d tokens", self._path, len(self._holders))
        self._stamp = stamp


def _stamp(path: Path) -> tuple[int, int, int]:
    """Changes with the file."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)
