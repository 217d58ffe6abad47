"""Members as real processes (`tocsin join`), to be killed, stopped, cut and healed; their data folders are checked
as they are."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from tests.live.live_groups import free_ports
from tests.live.namespaces import Namespaces
from tocsin.core.errors import TocsinError
from tocsin.live.operations.status_server import ask
from tocsin.live.storage.data_folders import opened
from tocsin.live.wire.keys import new_key, write_keys
from tocsin.properties import check
from tocsin.protocols.registry import REGISTRY
from tocsin.traces.calm import Calm
from tocsin.traces.reader import read_rows

POLL_SECONDS = 0.02
WAIT_SECONDS_MAX = 60.0  # beyond it a test has failed
JOIN = (sys.executable, "-W", "error", "-m", "tocsin.cli.main", "join")


def wait_until(what: str, condition: Callable[[], bool], seconds: float = WAIT_SECONDS_MAX) -> None:
    """Look again and again until the condition holds; say what did not happen otherwise."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}")
        time.sleep(POLL_SECONDS)


class LiveGroup:
    """A group's file, key and data below one folder, and the processes of its members."""

    def __init__(
        self,
        folder: Path,
        protocol: str,
        sites: str = "abc",
        head: str = "",
        tail: str = "",
        namespaces: Namespaces | None = None,
    ) -> None:
        self.folder = folder
        self.path = folder / "group.toml"
        self.data = folder / "data"
        self.protocol = protocol
        self.sites = sites
        self.namespaces = namespaces
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.program: tuple[str, ...] = JOIN
        self.sent = 0  # lines given to members
        self._files: list[IO[bytes]] = []
        write_keys(folder / "group.key", [new_key()], replace=False)
        if namespaces is None:
            addresses = [f"127.0.0.1:{port}" for port in free_ports(len(sites))]
        else:
            addresses = [f"{address}:7400" for address in namespaces.addresses]
        lines = [f'{name} = "{address}"' for name, address in zip(sites, addresses, strict=True)]
        head = f'name = "live"\nprotocol = "{protocol}"\nkey_file = "group.key"\n{head}'
        self.path.write_text("\n".join([head, "[sites]", *lines, tail]) + "\n")

    def __enter__(self) -> "LiveGroup":
        return self

    def __exit__(self, *_: object) -> None:
        for name, process in self.processes.items():
            if process.poll() is None:
                self.kill(name)
        for file in self._files:
            file.close()

    def start(self, name: str, *options: str) -> None:
        """Start a member and wait until it answers; what it prints goes to files."""
        self.start_program(name, str(self.path), "--as", name, *options)

    def start_program(self, name: str, *words: str) -> None:
        command = [*self.program, *words]
        if self.namespaces is not None:
            command = self.namespaces.command(self.sites.index(name), *command)
        out = open(self.folder / f"{name}.out", "ab")  # noqa: SIM115  (closed in __exit__)
        err = open(self.folder / f"{name}.err", "ab")  # noqa: SIM115
        self._files += [out, err]
        self.processes[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=err)

    def start_all(self, *options: str) -> None:
        for name in self.sites:
            self.start(name, *options)
        self.wait_answering(self.sites)

    def wait_answering(self, names: str) -> None:
        wait_until(f"{names} answer", lambda: all(self.status(name) is not None for name in names))

    def send(self, name: str, lines: list[str]) -> None:
        stdin = self.processes[name].stdin
        assert stdin is not None
        stdin.write("".join(f"{line}\n" for line in lines).encode())
        stdin.flush()
        self.sent += len(lines)

    def signal(self, name: str, number: int) -> None:
        """To the member itself, which may run behind `ip netns exec` (that replaces itself by the member)."""
        os.kill(self.processes[name].pid, number)

    def kill(self, name: str) -> None:
        """kill -9."""
        self.signal(name, signal.SIGKILL)
        self.wait_gone(name)

    def stop(self, name: str) -> None:
        """SIGTERM: leaves in order."""
        self.signal(name, signal.SIGTERM)
        assert self.wait_gone(name) == 0, self.errors(name)

    def wait_gone(self, name: str) -> int:
        process = self.processes[name]
        code = process.wait(30)
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # what it had no time to read
                process.stdin.close()
        return code

    def status(self, name: str) -> dict[str, Any] | None:
        try:
            return ask(self.data / name, {"ask": "status"})
        except (TocsinError, OSError, ValueError):
            return None

    def inject(self, name: str, faults: str) -> None:
        ask(self.data / name, {"ask": "inject", "faults": faults})

    def delivered(self, name: str) -> int:
        status = self.status(name)
        return -1 if status is None else sum(status["journal"]["positions"].values())

    def wait_delivered(self, count: int, names: str | None = None, seconds: float = WAIT_SECONDS_MAX) -> None:
        for name in names or self.sites:
            wait_until(
                f"{name} delivers {count}; has {self.delivered(name)}",
                lambda name=name: self.delivered(name) >= count,  # type: ignore[misc]
                seconds,
            )

    def wait_together(self) -> None:
        """Wait until every site sees every site."""

        def sees_all(name: str) -> bool:
            status = self.status(name)
            return status is not None and len((status["view"] or {"members": ()})["members"]) == len(self.sites)

        wait_until("all see all", lambda: all(sees_all(name) for name in self.sites))

    def wait_quiet(self, names: str | None = None) -> None:
        def is_quiet(name: str) -> bool:
            status = self.status(name)
            return status is not None and status["queues"]["quiet"] and status["queues"]["to_broadcast"] == 0

        wait_until("all are quiet", lambda: all(is_quiet(name) for name in names or self.sites))

    def errors(self, name: str) -> str:
        return (self.folder / f"{name}.err").read_text()

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / f"{name}.out").read_text().splitlines()]

    def verdicts(self, promised: tuple[str, ...], down: str = "") -> dict[str, str]:
        """The verdict of each promised property, by the journals of all members as they stand; none may fail. Faults
        are over, and the group has had its time: all is owed, but to members that are `down` for good."""
        calm = Calm(time.time_ns() // 1000, down=frozenset(down), parts_alone=REGISTRY[self.protocol].parts_alone)
        with opened([str(self.data)]) as files:
            report = check(read_rows(map(Path, files)), one_clock=False, calm=calm)
        failed = {
            name: verdict.why
            for name, verdict in report.properties.items()
            if verdict.verdict == "fail" and name in promised
        }
        assert not failed, f"{failed}; the journals are in {self.data}"
        return {name: report.properties[name].verdict for name in promised}
