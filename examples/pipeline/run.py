"""A pipeline one can take: a live group of orders, Spark on it, and the proof that nothing is lost or counted twice.

Three members run here, each with a door. A shop publishes orders; Spark joins, aggregates and writes them, and
publishes alerts back (`job.py`); meanwhile a member and the driver are killed with kill -9 and started again. In the
end the tables equal the same questions asked of the journal as a whole, and `tocsin watch` says which guarantees the
group kept.

    python examples/pipeline/run.py                      two minutes
    python examples/pipeline/run.py --kills 10           the driver, at ten moments
"""

import argparse
import json
import os
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

import tocsin

HERE = Path(__file__).parent
SITES = ("a", "b", "c")
BEGAN = 1_750_000_000  # event time of the first order, in seconds
WORDS = ("ann", "bob", "cho", "dee")


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Group:
    """Three processes of `tocsin join`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "group.toml"
        self.data = folder / "data"
        self.token = secrets.token_hex(16)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        ports = free_ports(6)
        (folder / "door.tokens").write_text(f"pipeline {self.token} write\n")
        subprocess.run([*TOCSIN, "keygen", str(folder / "group.key")], check=True, stdout=subprocess.DEVNULL)
        lines = ['name = "orders"', 'protocol = "counter_token"', 'key_file = "group.key"', "[sites]"]
        lines += [f'{site} = "127.0.0.1:{port}"' for site, port in zip(SITES, ports, strict=False)]
        lines += ["[journal]", 'durability = "process"', "segment_bytes = 262_144", "[door]"]
        lines += [f'{site} = "127.0.0.1:{port}"' for site, port in zip(SITES, ports[3:], strict=True)]
        lines += ["[door_access]", 'token_file = "door.tokens"']
        self.path.write_text("\n".join(lines) + "\n")
        self.doors = ",".join(f"grpc://127.0.0.1:{port}" for port in ports[3:])

    def start(self, site: str) -> None:
        with open(self.folder / f"{site}.out", "ab") as out:
            words = [*TOCSIN, "join", str(self.path), "--as", site]
            self._processes[site] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    def kill(self, site: str) -> None:
        self._processes[site].kill()
        self._processes[site].wait()

    def stop(self) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait(60)

    def end(self) -> None:
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()


TOCSIN = (sys.executable, "-m", "tocsin")


def order(number: int) -> bytes:
    draw = random.Random(number)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(BEGAN + number // 50))
    found = {"order_id": number, "customer": draw.choice(WORDS), "amount": draw.randrange(100_000) / 100, "at": at}
    return json.dumps(found).encode()


def publish(group: Group, count: int, done: threading.Event) -> None:
    """All orders, each with its number; then one far in the future, which closes the last window."""
    with tocsin.connect(group.doors, token=group.token, timeout=120) as client:
        for first in range(0, count, 100):
            messages = [order(number) for number in range(first, min(first + 100, count))]
            client.publish(messages, producer="shop", number=first)
            time.sleep(0.02)
        last = {"order_id": count, "customer": "shut", "amount": 0.0, "at": "2030-01-01T00:00:00Z"}
        client.publish([json.dumps(last).encode()], producer="shop", number=count)
    done.set()


class Driver:
    """A process of job.py, with its JVM."""

    def __init__(self, group: Group, out: Path, log: IO[bytes], *more: str) -> None:
        words = [sys.executable, str(HERE / "job.py"), "--door", group.doors, "--token", group.token]
        words += ["--data", str(group.data), "--out", str(out), *more]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, start_new_session=True)

    def wait_started(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line.strip() != b"started":
            raise SystemExit(f"the driver did not start: {line!r}")

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def answer(self) -> dict[str, Any]:
        out, _ = self.process.communicate(timeout=600)
        lines = out.decode().splitlines()
        found: dict[str, Any] = json.loads(lines[-1]) if lines and lines[-1].startswith("{") else {"failed": lines}
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=5_000)
    parser.add_argument("--kills", type=int, default=1, help="of the driver")
    parser.add_argument("--no-watch", action="store_true", help="without `tocsin watch` in the end")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="tocsin-pipeline-") as name:
        group = Group(Path(name))
        try:
            return run(group, Path(name), draw, arguments)
        finally:
            group.end()


def run(group: Group, folder: Path, draw: random.Random, arguments: argparse.Namespace) -> int:
    for site in SITES:
        group.start(site)
    done = threading.Event()
    threading.Thread(target=publish, args=(group, arguments.orders, done), daemon=True).start()
    with open(folder / "job.err", "wb") as log:
        for number in range(arguments.kills):
            driver = Driver(group, folder / "out", log)
            driver.wait_started()
            time.sleep(draw.uniform(0.5, 8))
            if number == 0:
                print("kill -9 of member b")
                group.kill("b")
                time.sleep(draw.uniform(0, 2))
                group.start("b")
            print("kill -9 of the driver")
            driver.kill()
        if not done.wait(300):
            print("the orders could not be published in five minutes", file=sys.stderr)
            return 1
        answer = Driver(group, folder / "out", log, "--finish").answer()
    print(json.dumps(answer))
    group.stop()
    code = 0 if answer.get("orders") == arguments.orders and False not in answer.values() else 1
    if code:
        print((folder / "job.err").read_text()[-3000:], file=sys.stderr)
    if not arguments.no_watch:
        subprocess.run([*TOCSIN, "watch", str(group.data), "--once"], check=False)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
