"""The doors that a client knows: one is used, and when it fails, the next."""

import ssl
import threading
from typing import Any, Final
from urllib.parse import urlsplit

import pyarrow.flight as flight

from tocsin.core.errors import EnvironmentMissing, InputError

SCHEMES: Final = ("grpc", "grpc+tcp", "grpc+tls")
CERTIFICATE_SECONDS: Final = 5.0  # to ask a door for its certificate


def split_urls(urls: str | list[str]) -> list[str]:
    """One or several addresses, as a list or with commas between."""
    found = [url.strip() for each in ([urls] if isinstance(urls, str) else urls) for url in each.split(",")]
    for url in found:
        parts = urlsplit(url)
        try:
            fits = parts.scheme in SCHEMES and bool(parts.hostname) and parts.port is not None
        except ValueError:
            fits = False
        if not fits:
            raise InputError(f"connect: expected grpc://HOST:PORT or grpc+tls://HOST:PORT, found `{url}`")
    return found


class Doors:
    """Of one client. Safe to use from several threads."""

    def __init__(self, urls: str | list[str], token: str | None, pinned: str | None) -> None:
        self.urls = split_urls(urls)
        self._pinned = None if pinned is None else _plain(pinned)
        if token is not None and not (token.isascii() and token.isprintable()):
            raise InputError("connect: `token`: expected printable ASCII")
        headers = [] if token is None else [(b"authorization", f"Bearer {token}".encode())]
        self._headers = headers
        self._lock = threading.Lock()
        self._at = 0  # of the door in use
        self._clients: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self.urls)

    def options(self, seconds: float | None = None) -> Any:
        return flight.FlightCallOptions(timeout=seconds, headers=self._headers)

    def current(self) -> tuple[int, str, Any]:
        """The door in use: which, its address, and a Flight client. EnvironmentMissing: it cannot be trusted."""
        with self._lock:
            at = self._at
            if at not in self._clients:
                self._clients[at] = self._connect(self.urls[at])
            return at, self.urls[at], self._clients[at]

    def leave(self, at: int) -> None:
        """That door failed: use the next one."""
        with self._lock:
            client = self._clients.pop(at, None)
            if self._at == at:
                self._at = (at + 1) % len(self.urls)
        if client is not None:
            client.close()

    def move_on(self, at: int) -> None:
        """Another door may do better; this one works."""
        with self._lock:
            if self._at == at:
                self._at = (at + 1) % len(self.urls)

    def close(self) -> None:
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    def _connect(self, url: str) -> Any:
        parts = urlsplit(url)
        if self._pinned is None:
            return flight.FlightClient(url)
        if parts.scheme != "grpc+tls":
            raise InputError(f"connect: `fingerprint`: expected grpc+tls://, found `{url}`")
        assert parts.hostname is not None and parts.port is not None
        from tocsin.door.certificates import expired, fingerprint, name_in

        try:
            pem = ssl.get_server_certificate((parts.hostname, parts.port), timeout=CERTIFICATE_SECONDS).encode()
        except OSError as error:
            raise EnvironmentMissing(f"{url}: no certificate: {(error.strerror or str(error)).lower()}") from None
        if _plain(fingerprint(pem)) != self._pinned:
            raise InputError(f"{url}: the door has another certificate: its fingerprint is {fingerprint(pem)}")
        reason = expired(pem)
        if reason:
            raise EnvironmentMissing(f"{url}: {reason}; `tocsin keygen --door` makes another")
        return flight.FlightClient(url, tls_root_certs=pem, override_hostname=name_in(pem))


def _plain(text: str) -> str:
    """A fingerprint, however it was written: with or without colons, in either case."""
    digits = text.removeprefix("sha256:").replace(":", "").strip().lower()
    if len(digits) != 64 or any(each not in "0123456789abcdef" for each in digits):
        raise InputError("fingerprint: expected 64 hexadecimal digits, as `tocsin keygen --door` prints them")
    return digits
