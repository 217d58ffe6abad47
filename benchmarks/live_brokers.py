"""Live throughput against what a Python developer takes today: NATS JetStream and Redis streams, by their Python
clients.

Three members in three network namespaces on one bridge with MTU 1500, all sending, each reading everything in one
order. The broker runs in the first namespace. It keeps its defaults (one server, no replica: less than we give), and
its clients have 256 own messages on their way, in pipelines. Everything runs with the same real-time priority.

Needs root, the Debian packages nats-server and redis-server, and the Python packages nats-py and redis.
Run: python -m benchmarks.live_brokers [--seconds 5] [--json]
"""

import argparse
import contextlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.live import WARM_SECONDS, Ours, ceiling
from benchmarks.live_peers import cpu_of, measure_members
from tests.live import namespaces

BAR = 10.0  # messages a second, at least so many times the peer's
SIZES = (100, 1024, 8192)
BROKERS = {"nats": "NATS JetStream", "redis": "Redis streams"}


def missing() -> str:
    for program in ("nats-server", "redis-server"):
        if shutil.which(program) is None:
            return f"no `{program}` (Debian package of that name)"
    for module, package in (("nats", "nats-py"), ("redis", "redis")):
        if importlib.util.find_spec(module) is None:
            return f"no Python package `{package}`: pip install {package}"
    return "" if namespaces.available() else namespaces.WHY_NOT


@contextlib.contextmanager
def broker(name: str, folder: Path, spaces: namespaces.Namespaces) -> Iterator["subprocess.Popen[bytes]"]:
    """The server, in the first namespace."""
    host = spaces.addresses[0]
    if name == "nats":
        words = ["nats-server", "-a", host, "-p", "4390", "-js", "-sd", str(folder)]
    else:
        words = ["redis-server", "--bind", host, "--port", "6390", "--protected-mode", "no", "--dir", str(folder)]
    command = spaces.command(0, "chrt", "-r", "1", *words)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1.0)
        yield process
    finally:
        process.terminate()
        process.wait(30)


def measure(name: str, size: int, folder: Path, spaces: namespaces.Namespaces, seconds: float) -> dict[str, Any]:
    folder.mkdir()
    program = ("chrt", "-r", "1", sys.executable, str(Path(__file__).parent / "live_broker_member.py"))
    options = ("--size", str(size), "--seconds", str(seconds), "--warm", str(WARM_SECONDS))
    commands = [
        spaces.command(index, *program, name, spaces.addresses[0], *options) for index in range(len(spaces.names))
    ]
    with broker(name, folder, spaces) as server:
        before = cpu_of(server.pid)
        answer = measure_members(commands)
        answer["server_cpu_s"] = cpu_of(server.pid) - before
    return answer


def run(seconds: float, sizes: tuple[int, ...]) -> dict[int, dict[str, Any]]:
    results: dict[int, dict[str, Any]] = {}
    with namespaces.Namespaces(3) as spaces, tempfile.TemporaryDirectory() as name:
        ours = Ours(Path(name), spaces, 'multicast = "239.192.7.1:7401"', "process")
        for size in sizes:
            found = {"ours": ours.measure(size, 0.0, seconds)}
            for each in BROKERS:
                found[each] = measure(each, size, Path(name) / f"{each}{size}", spaces, seconds)
            results[size] = found
        sealed = ceiling(spaces, seconds, "--sealed")
        for size in sizes:
            results[size]["sealed"] = {"messages_per_s": sealed / size}
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--size", type=int, action="append", help="of a message; may be repeated")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    reason = missing()
    if reason:
        print(f"benchmarks/live_brokers: cannot run here: {reason}", file=sys.stderr)
        return 3
    results = run(arguments.seconds, tuple(arguments.size or SIZES))
    if arguments.json:
        print(json.dumps(results))
        return 0
    print(f"{'':>8}{'ours, msg/s':>14}" + "".join(f"{title + ', msg/s':>22}{'ratio':>8}" for title in BROKERS.values()))
    for size, found in results.items():
        rate = found["ours"]["messages_per_s"]
        peers = "".join(
            f"{found[each]['messages_per_s']:>22,.0f}{rate / max(1.0, found[each]['messages_per_s']):>8.1f}"
            for each in BROKERS
        )
        sealed = found["sealed"]["messages_per_s"]
        print(f"{size:>6} B{rate:>14,.0f}{peers}  (bar: {BAR:g}; sealed UDP without protocol: {sealed:,.0f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
