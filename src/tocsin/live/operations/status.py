"""The status socket: a local Unix socket that answers one JSON line with another; and numbers for Prometheus.

`{"ask": "status"}`, `{"ask": "inject", "faults": "loss=0.05"}`, `{"ask": "rekey"}`. Only the folder's owner can open
it.
"""

import asyncio
import json
import os
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tocsin.core.errors import EnvironmentMissing, TocsinError
from tocsin.live.group_config import Address

if TYPE_CHECKING:
    from tocsin.live.member import Member

SOCKET_NAME: Final = "status.sock"
REQUEST_BYTES_MAX: Final = 64 * 1024


def peak_memory_bytes() -> int:
    """The most memory that this process has had. Where Linux tells, not by `getrusage`: that begins with the peak of
    the process that started this one."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def status_of(member: "Member") -> dict[str, Any]:
    """Everything an operator asks for, by plain names."""
    driver = member._driver
    wire = member._wire
    endpoint = wire.endpoint
    view = member.view
    usage = resource.getrusage(resource.RUSAGE_SELF)
    journal = driver.closed_files.journal
    return {
        "group": member.group.name,
        "protocol": member.group.protocol.name,
        "site": member.name,
        "time_us": time.time_ns() // 1000,
        "life": driver.log.life,
        "view": None if view is None else {"view": view.view, "members": list(view.members), "primary": view.primary},
        "queues": {
            "to_broadcast": member._queued(),
            "outstanding": member._receipts.outstanding,
            "room": driver.machine.room(),
            "quiet": driver.machine.quiet(),
            "backlog_events": len(member._backlog),
            "backlog_bytes": member._backlog.waiting_bytes,
            "timers": len(driver._timers),
        },
        "totals": {
            "messages_broadcast": member.stat_broadcast,
            "messages_delivered": member.stat_delivered,
            "steps": driver.stat_steps,
            "commits": driver.commits.stat_commits,
            # People's dashboards read these names: `frames` and `segments` stay for what the code calls packets and
            # datagrams.
            "frames_sent": wire.stat_packets_sent,
            "frames_received": wire.stat_packets_received,
            "datagrams_sent": endpoint.stat_datagrams_sent,
            "bytes_sent": endpoint.stat_bytes_sent,
            "bytes_received": wire.stat_bytes_received,
            "send_calls": endpoint.stat_calls_sent,
            "segments_asked": wire.stat_asked,
            "segments_repaired": wire.stat_repaired,
            "send_errors": endpoint.stat_send_errors,
            "backlog_dropped": endpoint.stat_backlog_dropped,
            "unfinished_evicted": wire._assembler.stat_evicted,
            "blocked": member._backlog.stat_blocked,
            "spilled": member._backlog.stat_spilled,
            "slow_left": member.stat_slow_left,
            "broken_messages": sum(stream.stat_broken for stream in driver._streams),
        },
        "drops": {**wire.drops_now(), **({"message": driver.stat_decode_drops} if driver.stat_decode_drops else {})},
        "injected": {
            "faults": wire.injector.text,
            "lost": wire.injector.stat_lost,
            "duplicated": wire.injector.stat_duplicated,
            "delayed": wire.injector.stat_delayed,
        },
        "socket": {
            "offload": endpoint.offload,
            "kernel_filter": wire.filtered,
            "receive_buffer": endpoint.receive_buffer,
            "send_buffer": endpoint.send_buffer,
            "multicast": None if endpoint.multicast_address is None else ":".join(map(str, endpoint.multicast_address)),
        },
        "journal": {
            "durability": member.group.journal.durability,
            "log_bytes": driver.log.size_bytes(),
            "records": len(driver.log.records),
            "next_number": driver.log.next_number,
            "archived_files": 0 if journal is None else journal.next_file,
            "files_dropped": 0 if journal is None else journal.stat_dropped,
            "torn_bytes_cut": driver.log.cut_bytes,
            "positions": {
                member._naming.group(index): group.position for index, group in enumerate(driver.log.frames.groups)
            },
        },
        "process": {
            "pid": os.getpid(),
            "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 3),
            "memory_bytes_max": peak_memory_bytes(),
        },
        "failed": None if driver.failed is None else str(driver.failed),
    }


def prometheus(status: dict[str, Any]) -> str:
    """The same numbers as Prometheus text."""
    labels = f'group="{status["group"]}",site="{status["site"]}"'
    lines: list[str] = []
    for name, value in status["totals"].items():
        lines += [f"# TYPE tocsin_{name}_total counter", f"tocsin_{name}_total{{{labels}}} {value}"]
    for name, value in {**status["queues"], "log_bytes": status["journal"]["log_bytes"]}.items():
        lines += [f"# TYPE tocsin_{name} gauge", f"tocsin_{name}{{{labels}}} {int(value)}"]
    lines.append("# TYPE tocsin_dropped_total counter")
    for reason, count in sorted(status["drops"].items()):
        lines.append(f'tocsin_dropped_total{{{labels},reason="{reason}"}} {count}')
    view = status["view"]
    lines.append("# TYPE tocsin_view_members gauge")
    lines.append(f"tocsin_view_members{{{labels}}} {0 if view is None else len(view['members'])}")
    lines.append("# TYPE tocsin_primary gauge")
    lines.append(f"tocsin_primary{{{labels}}} {int(view is not None and view['primary'])}")
    lines.append("# TYPE tocsin_process_cpu_seconds_total counter")
    lines.append(f"tocsin_process_cpu_seconds_total{{{labels}}} {status['process']['cpu_seconds']}")
    return "\n".join(lines) + "\n"


class StatusServer:
    """Listens in the member's folder, and, if asked, on a port for Prometheus."""

    def __init__(self, member: "Member", site_dir: Path) -> None:
        self._member = member
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
                return self._member.status()
            if ask == "inject":
                self._member.inject(str(request.get("faults", "")))
                return {"injected": request.get("faults", "")}
            if ask == "rekey":
                self._member.reload_keys()
                return {"rekeyed": True}
            return {"error": f"unknown request {ask!r}; known: status, inject, rekey"}
        except (ValueError, AttributeError, TocsinError) as error:
            return {"error": str(error)}

    async def _serve_metrics(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            async with asyncio.timeout(5):
                request = await reader.readuntil(b"\r\n\r\n")
            found = request.startswith((b"GET /metrics ", b"GET / "))
            body = prometheus(self._member.status()).encode() if found else b"not found\n"
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
    import socket

    path = site_dir / SOCKET_NAME
    with socket.socket(socket.AF_UNIX) as sock, _short(path) as short:
        sock.settimeout(10)
        try:
            sock.connect(short)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise EnvironmentMissing(f"{path}: no running member answers ({reason}); start it: tocsin join") from None
        sock.sendall(json.dumps(request).encode() + b"\n")
        with sock.makefile("rb") as file:
            answer: dict[str, Any] = json.loads(file.readline() or b"{}")
    if "error" in answer:
        raise TocsinError(str(answer["error"]))
    return answer
