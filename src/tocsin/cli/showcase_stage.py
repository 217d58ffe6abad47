"""The showcase's stage: a live group of five processes, what they are fed, and what is done to them."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

from tocsin.core.errors import EnvironmentMissing, TocsinError
from tocsin.live.operations.status_server import ask
from tocsin.live.wire.keys import new_key, write_keys

PROTOCOL = "counter_token"
SITES = "abcde"
LOSS = 0.05
START_SECONDS_MAX = 60.0
_FAULTS = f"loss={LOSS}"


class Sample:
    """How far a member was at a moment of the run."""

    def __init__(self, at: float, site: str, delivered: int, members: tuple[str, ...]) -> None:
        self.at = at
        self.site = site
        self.delivered = delivered
        self.members = members


class Stage:
    """As a context: at its end every process that it started is gone."""

    def __init__(self, folder: Path, messages: int) -> None:
        self.messages = messages
        self.data = folder / "data"
        self.samples: list[Sample] = []
        self.calm_us = 0  # when the network was whole again, by the clock that the members note times by
        self._path = folder / "group.toml"
        self._shares = {
            name: messages // len(SITES) + (index < messages % len(SITES)) for index, name in enumerate(SITES)
        }
        self._fed = dict.fromkeys(SITES, 0)  # lines written to each member in its present life, and before
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._files: list[IO[bytes]] = []
        self._folder = folder
        if self.data.exists():
            raise EnvironmentMissing(f"{self.data}: holds an earlier run; remove it or choose another folder")
        write_keys(folder / "group.key", [new_key()], replace=(folder / "group.key").exists())
        ports = _free_ports(len(SITES))
        lines = [f'{name} = "127.0.0.1:{port}"' for name, port in zip(SITES, ports, strict=True)]
        head = ['name = "showcase"', f'protocol = "{PROTOCOL}"', 'key_file = "group.key"', "[sites]", *lines]
        self._path.write_text("\n".join([*head, "[journal]", "receives = true", 'durability = "process"']) + "\n")

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:  # else interrupted, say: nobody waits for a group to part in order
                for process in self._processes.values():
                    _end(process)
        finally:  # an interrupt may also come while they part
            for process in self._processes.values():
                process.kill()
            for process in self._processes.values():
                _end(process)
            for file in self._files:
                file.close()

    def start(self) -> None:
        for name in SITES:
            self._start(name)
        deadline = time.monotonic() + START_SECONDS_MAX
        while not all(self._is_member(name) for name in SITES):
            if time.monotonic() > deadline:
                raise TocsinError(f"the members did not come together; see {self._folder}/*.err")
            time.sleep(0.05)

    def _start(self, name: str) -> None:
        command = (sys.executable, "-m", "tocsin.cli.main", "join", str(self._path), "--as", name, "--inject", _FAULTS)
        errors = open(self._folder / f"{name}.err", "ab")  # noqa: SIM115  (closed with the stage)
        self._files.append(errors)
        self._processes[name] = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors
        )

    def _is_member(self, name: str) -> bool:
        status = self._status(name)
        return status is not None and status["view"] is not None and len(status["view"]["members"]) == len(SITES)

    def _status(self, name: str) -> dict[str, Any] | None:
        try:
            return ask(self.data / name, {"ask": "status"})
        except (TocsinError, OSError, ValueError):
            return None

    def feed(self, part: float) -> None:
        """Write messages to the members, up to this part of their shares."""
        for name, share in self._shares.items():
            process = self._processes[name]
            wanted = int(share * part)
            if process.poll() is not None or process.stdin is None or self._fed[name] >= wanted:
                continue
            lines = [f"{name} says {number}" for number in range(self._fed[name], wanted)]
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write("".join(f"{line}\n" for line in lines).encode())
                process.stdin.flush()
                self._fed[name] = wanted

    # What is done to them

    def kill_c(self) -> None:
        os.kill(self._processes["c"].pid, signal.SIGKILL)
        _end(self._processes["c"])

    def restart_c(self) -> None:
        """It goes on after the last message that it had numbered: what was in its pipe is written again."""
        self._start("c")
        deadline = time.monotonic() + START_SECONDS_MAX
        while (status := self._status("c")) is None:
            if time.monotonic() > deadline:
                raise TocsinError(f"c did not come back; see {self._folder}/c.err")
            time.sleep(0.05)
        self._fed["c"] = status["journal"]["next_number"]

    def cut(self) -> None:
        """Two on one side, three on the other: only the three can go on."""
        for name in "ab":
            ask(self.data / name, {"ask": "inject", "faults": f"{_FAULTS},cut=c+d+e"})
        for name in "cde":
            ask(self.data / name, {"ask": "inject", "faults": f"{_FAULTS},cut=a+b"})

    def heal(self) -> None:
        for name in SITES:
            ask(self.data / name, {"ask": "inject", "faults": _FAULTS})
        self.calm_us = time.time_ns() // 1000

    # How far they are

    def sample(self, at: float) -> dict[str, tuple[int, str]]:
        """What each member has delivered, and whom it sees."""
        state: dict[str, tuple[int, str]] = {}
        for name in SITES:
            status = self._status(name)
            if status is None:
                state[name] = (-1, "down")
                self.samples.append(Sample(at, name, -1, ()))
                continue
            view = status["view"]
            members = tuple(view["members"]) if view is not None and view["primary"] else ()
            delivered = sum(status["journal"]["positions"].values())
            state[name] = (delivered, "sees " + " ".join(members) if members else "cut off, waits")
            self.samples.append(Sample(at, name, delivered, members))
        return state

    def is_done(self) -> bool:
        statuses = [self._status(name) for name in SITES]
        return all(
            status is not None
            and status["queues"]["quiet"]
            and sum(status["journal"]["positions"].values()) == self.messages
            for status in statuses
        )


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Let a process leave in order if it still runs; then let go of it."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for sock in sockets:
        sock.bind(("127.0.0.1", 0))
    ports = [int(sock.getsockname()[1]) for sock in sockets]
    for sock in sockets:
        sock.close()
    return ports
