"""Doors: rows per second and bytes, published and read, against the member's own interface and against brokers.

    python -m benchmarks.door [place|volume|latency|peers …]

`place`: what a door beside the member, and one inside its process, do to the member's own loop. `volume`: publish and
read, one and four clients, with TLS and without. `latency`: one message until ordered. `peers`: NATS JetStream and
Redis streams, where they are installed. Figures are of one run on whatever machine this is; docs/door.md has ours.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tocsin
from benchmarks import door_peers
from tests.door.door_groups import WRITER, door_tables, wait_open
from tests.live.live_groups import write_group
from tocsin.door.certificates import fingerprint, new_pair

SIZES = {100: 400_000, 8192: 16_000}  # bytes: how many messages
PLACE_SECONDS = 8
PEER_COUNTS = {100: 51_200, 8192: 10_240}


class Process:
    """A child that answers lines with lines."""

    def __init__(self, *words: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.answer_line()

    def answer_line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended")
        return line

    def go(self, line: str = "") -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def ask(self, line: str) -> Any:
        self.go(line)
        return json.loads(self.answer_line())

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class Group:
    def __init__(self, folder: Path, tls: bool, *how: str) -> None:
        cert, key = new_pair(["127.0.0.1"])
        (folder / "door.pem").write_bytes(cert)
        (folder / "door.key").write_bytes(key)
        tables, self.urls = door_tables(folder, tls=tls)
        self.fingerprint = fingerprint(cert) if tls else ""
        path = write_group(folder, "counter_token", tail=tables + '\n[journal]\ndurability = "process"')
        starting = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.door_member", str(path), name, *how],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
            )
            for name in "bc"
        ]
        self._others = starting
        self.member = Process("benchmarks.door_member", str(path), "a", *how)
        wait_open(self.urls, fingerprint=self.fingerprint or None)

    def client(self, *words: object) -> Process:
        return Process("benchmarks.door_client", self.urls[0], WRITER, self.fingerprint, *map(str, words))

    def end(self) -> None:
        for process in self._others:
            process.kill()
            process.wait()
        self.member.end()


@contextlib.contextmanager
def group(tls: bool = False, *how: str) -> Iterator[Group]:
    with tempfile.TemporaryDirectory() as folder:
        found = Group(Path(folder), tls, *how)
        try:
            yield found
        finally:
            found.end()


def say(**figures: object) -> None:
    print(json.dumps(figures), flush=True)


def place() -> None:
    for where in ("beside", "inside"):
        with group(False, *(["inside"] if where == "inside" else [])) as live:
            live.member.ask("own 400000 100")
            say(door=where, clients=0, **live.member.ask(f"probe {PLACE_SECONDS}"))
            clients = [live.client("read_on", PLACE_SECONDS + 1) for _ in range(2)]
            for client in clients:
                client.go()
            figures = live.member.ask(f"probe {PLACE_SECONDS}")
            read = [json.loads(client.answer_line()) for client in clients]
            say(
                door=where, clients=2, **figures, rows_per_s=round(sum(each["rows"] / each["seconds"] for each in read))
            )
            for client in clients:
                client.end()


def volume() -> None:
    for tls in (False, True):
        for size, count in SIZES.items():
            for clients in (1, 4):
                with group(tls) as live:
                    own = live.member.ask(f"own {count // 4096 * 4096} {size}")["per_second"]
                    per = count // clients
                    published = _together([live.client("publish", per, size) for _ in range(clients)], per * clients)
                    first = tocsin.connect(live.urls[0], token=WRITER, fingerprint=live.fingerprint or None)
                    after = first.groups()[0]["next"] - per - 1
                    first.close()
                    read = _together([live.client("read", after, per) for _ in range(clients)], per * clients)
                    say(
                        size=size,
                        clients=clients,
                        tls=tls,
                        publish_per_s=published,
                        publish_mb_s=round(published * size / 1e6, 1),
                        read_per_s=read,
                        read_mb_s=round(read * size / 1e6, 1),
                        own_per_s=own,
                        publish_of_own=round(published / own, 2),
                    )


def _together(clients: list[Process], rows: int) -> int:
    began = time.monotonic()
    for client in clients:
        client.go()
    for client in clients:
        client.answer_line()
    took = time.monotonic() - began
    for client in clients:
        client.end()
    return round(rows / took)


def latency() -> None:
    with group() as live:
        own = live.member.ask("probe 5")["ordered_p50_ms"]
        client = live.client("latency", 500)
        through = client.ask("")["p50_ms"]
        client.end()
        say(own_p50_ms=own, door_p50_ms=through, ratio=round(through / own, 2))


def peers() -> None:
    lacking = door_peers.missing()
    for peer, run in (("nats", door_peers.nats), ("redis", door_peers.redis)):
        if peer in lacking:
            say(peer=peer, missing=lacking[peer])
            continue
        for size, count in PEER_COUNTS.items():
            say(peer=peer, size=size, **run(count, size))


if __name__ == "__main__":
    parts = {"place": place, "volume": volume, "latency": latency, "peers": peers}
    for name in sys.argv[1:] or list(parts):
        parts[name]()
