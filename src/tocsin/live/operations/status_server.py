"""The status socket: a local Unix socket that answers one JSON line with another; and numbers for Prometheus.

`{"ask": "status"}`, `{"ask": "inject", "faults": "loss=0.05"}`, `{"ask": "rekey"}`, `{"ask": "groups"}` (with `group`
and `members`: a change is asked for), `{"ask": "members"}` (with `change`, `name`, `address`: likewise). Only the
folder's owner can open it.
"""

import asyncio
import json
import os
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Protocol

from tocsin.core.errors import EnvironmentMissing, InputError, TocsinError
from tocsin.live.group_config import Address
from tocsin.live.operations.status import prometheus

SOCKET_NAME: Final = "status.sock"
REQUEST_BYTES_MAX: Final = 64 * 1024
ANSWER_SECONDS: Final = 10


class Asked(Protocol):
    """Who answers: a member."""

    def status(self) -> dict[str, Any]: ...

    def inject(self, faults: str) -> None: ...

    def reload_keys(self) -> None: ...

    def ask_for_group(self, group: str, members: Iterable[str]) -> None: ...

    def groups(self) -> dict[str, list[str]]: ...

    def ask_for_members(self, change: str, name: str, address: str) -> dict[str, Any]: ...


class StatusServer:
    """Listens in the member's folder, and, if asked, on a port for Prometheus."""

    def __init__(self, asked: Asked, site_dir: Path) -> None:
        self._asked = asked
        self._path = site_dir / SOCKET_NAME
        self._servers: list[asyncio.Server] = []
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self, metrics: Address | None) -> None:
        self._path.unlink(missing_ok=True)
        with _short(self._path) as path:
            self._servers.append(await asyncio.start_unix_server(self._serve, path, limit=REQUEST_BYTES_MAX))
        os.chmod(self._path, 0o600)
        if metrics is not None:
            try:
                self._servers.append(await asyncio.start_server(self._serve_metrics, metrics[0], metrics[1]))
            except OSError as error:
                await self.stop()
                reason = (error.strerror or str(error)).lower()
                raise EnvironmentMissing(
                    f"`metrics`: {metrics[0]}:{metrics[1]}: {reason}; choose another port"
                ) from None

    async def stop(self) -> None:
        for server in self._servers:
            server.close()
        for writer in list(self._writers):
            writer.close()
        self._path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while line := await reader.readline():
                writer.write(json.dumps(self._answer(line)).encode() + b"\n")
                await writer.drain()
        except (OSError, ValueError, asyncio.LimitOverrunError):
            pass  # the other end went away, or does not speak our language
        finally:
            self._writers.discard(writer)
            writer.close()

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            ask = request.get("ask")
            if ask == "status":
                return self._asked.status()
            if ask == "inject":
                self._asked.inject(str(request.get("faults", "")))
                return {"injected": request.get("faults", "")}
            if ask == "rekey":
                self._asked.reload_keys()
                return {"rekeyed": True}
            if ask == "groups":
                if "group" in request:
                    self._asked.ask_for_group(str(request["group"]), [str(name) for name in request.get("members", [])])
                return {"groups": self._asked.groups()}
            if ask == "members":
                words = [str(request.get(key, "")) for key in ("change", "name", "address")]
                return self._asked.ask_for_members(*words)
            return {"error": f"unknown request {ask!r}; known: status, inject, rekey, groups, members"}
        except TocsinError as error:
            return {"error": str(error), "exit_code": error.exit_code}
        except (ValueError, AttributeError, RecursionError) as error:
            return {"error": str(error)}

    async def _serve_metrics(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            async with asyncio.timeout(5):
                request = await reader.readuntil(b"\r\n\r\n")
            found = request.startswith((b"GET /metrics ", b"GET / "))
            body = prometheus(self._asked.status()).encode() if found else b"not found\n"
            head = "200 OK" if found else "404 Not Found"
            writer.write(
                f"HTTP/1.1 {head}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {len(body)}\r\n"
                "Connection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the other end went away, or is not a client of ours
        finally:
            self._writers.discard(writer)
            writer.close()


class _short:  # noqa: N801  (a function in all but its name)
    """A path short enough for a Unix socket (108 bytes), by way of an open descriptor of its folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor = -1

    def __enter__(self) -> str:
        if len(os.fsencode(self._path)) < 100:
            return str(self._path)
        self._descriptor = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        return f"/proc/self/fd/{self._descriptor}/{self._path.name}"

    def __exit__(self, *_: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


def ask(site_dir: Path, request: dict[str, Any]) -> dict[str, Any]:
    """Ask a running member; for the command line and for tests."""
    path = site_dir / SOCKET_NAME
    with socket.socket(socket.AF_UNIX) as sock, _short(path) as short:
        sock.settimeout(ANSWER_SECONDS)
        try:
            sock.connect(short)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise EnvironmentMissing(f"{path}: no running member answers ({reason}); start it: tocsin join") from None
        try:
            sock.sendall(json.dumps(request).encode() + b"\n")
            with sock.makefile("rb") as file:
                answer: dict[str, Any] = json.loads(file.readline())
        except TimeoutError:
            raise EnvironmentMissing(
                f"{path}: the member does not answer within {ANSWER_SECONDS} s; is it paused, or very busy?"
            ) from None
        except (OSError, ValueError):
            raise EnvironmentMissing(f"{path}: the member stopped before it had answered") from None
    if "error" in answer:
        kind = {kind.exit_code: kind for kind in (InputError, EnvironmentMissing)}
        raise kind.get(answer.get("exit_code", 1), TocsinError)(str(answer["error"]))
    return answer
