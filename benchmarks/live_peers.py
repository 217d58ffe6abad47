"""What the live benchmark compares with: Corosync's CPG (three daemons), and plain UDP sockets without a protocol."""

import contextlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.live.namespaces import Namespaces

HERE = Path(__file__).parent
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
FORM_SECONDS_MAX = 60.0


def corosync_missing() -> str:
    """Why Corosync cannot be measured here; "" if it can."""
    for program in ("corosync", "gcc", "nsenter"):
        if shutil.which(program) is None:
            return f"no `{program}` (Debian packages: corosync libcpg-dev gcc util-linux)"
    return ""


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


class Corosync:
    """A daemon in each namespace, with private /dev/shm, /run and /var/lib/corosync; knet, no encryption."""

    def __init__(self, folder: Path, spaces: Namespaces) -> None:
        self._folder = folder
        self._spaces = spaces
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._client = folder / "cpg"

    def __enter__(self) -> "Corosync":
        source = HERE / "live_cpg.c"
        subprocess.run(["gcc", "-O2", "-o", str(self._client), str(source), "-lcpg"], check=True)
        (self._folder / "authkey").write_bytes(os.urandom(256))
        mounts = "mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /var/lib/corosync"
        for index in range(len(self._spaces.names)):
            config = self._configure(index)
            script = f"{mounts} && exec corosync -f -c {config}"
            command = self._spaces.command(index, "sh", "-c", script)
            self._daemons.append(
                subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            )
        self._wait_formed()
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in self._daemons:
            daemon.terminate()
        for daemon in self._daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()

    def _configure(self, index: int) -> Path:
        folder = self._folder / f"corosync{index}"
        (folder / "state").mkdir(parents=True)
        nodes = "".join(
            f"  node {{\n    ring0_addr: {address}\n    nodeid: {number}\n    name: n{number}\n  }}\n"
            for number, address in enumerate(self._spaces.addresses, 1)
        )
        path = folder / "corosync.conf"
        path.write_text(
            f"totem {{\n  version: 2\n  cluster_name: bench\n  transport: knet\n  crypto_cipher: none\n"
            f"  crypto_hash: none\n  keyfile: {self._folder}/authkey\n}}\nnodelist {{\n{nodes}}}\n"
            f"logging {{\n  to_stderr: no\n  to_syslog: no\n  to_logfile: yes\n  logfile: {folder}/log\n}}\n"
            f"system {{\n  state_dir: {folder}/state\n  sched_rr: yes\n  move_to_root_cgroup: no\n}}\n"
        )
        return path

    def _wait_formed(self) -> None:
        count = len(self._daemons)
        deadline = time.monotonic() + FORM_SECONDS_MAX
        while time.monotonic() < deadline:
            logs = [self._folder / f"corosync{index}" / "log" for index in range(count)]
            texts = [log.read_text() if log.exists() else "" for log in logs]
            if all(f"Sync members[{count}]" in text for text in texts):
                time.sleep(1.0)
                return
            time.sleep(0.2)
        raise RuntimeError("Corosync's ring did not form")

    def measure(self, size: int, rate: float, window: int, warm: float, seconds: float) -> dict[str, Any]:
        """All three send; the lowest rate of the three, and the CPU of daemons and clients."""
        clients = []
        for index, daemon in enumerate(self._daemons):
            enter = ["nsenter", "-t", str(daemon.pid), "-m", "-n", "chrt", "-r", "1", str(self._client)]
            numbers = (len(self._daemons), index, size, rate, warm, seconds, window)
            clients.append(_client([*enter, *map(str, numbers)]))
        start = _begin(clients)
        _sleep_until(start + warm)
        before = sum(cpu_of(daemon.pid) for daemon in self._daemons)
        _sleep_until(start + warm + seconds)
        daemons_cpu = sum(cpu_of(daemon.pid) for daemon in self._daemons) - before
        answers = [_answer(client) for client in clients]
        return _together(answers, daemons_cpu)


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))


def _client(command: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _begin(clients: list["subprocess.Popen[str]"]) -> float:
    """When all are ready, tell all the same moment to start at."""
    for client in clients:
        assert client.stdout is not None
        line = client.stdout.readline()
        if not line.startswith("READY"):
            raise RuntimeError(f"a member did not start: {line!r}")
    start = time.monotonic() + 0.5
    for client in clients:
        assert client.stdin is not None
        client.stdin.write(f"{start}\n")
        client.stdin.flush()
    return start


def _answer(client: "subprocess.Popen[str]") -> dict[str, Any]:
    out, _ = client.communicate(timeout=120)
    answer: dict[str, Any] = json.loads(out.splitlines()[-1])
    return answer


def _together(answers: list[dict[str, Any]], more_cpu: float) -> dict[str, Any]:
    slowest = min(answers, key=lambda answer: answer["messages_per_s"])
    cpu = sum(answer["cpu_s"] for answer in answers) + more_cpu
    return {
        "messages_per_s": slowest["messages_per_s"],
        "p50_ms": sorted(answer["p50_ms"] or 0.0 for answer in answers)[len(answers) // 2],
        "cpu_s_per_million": cpu / max(1, slowest["messages"]) * 1e6,
        "members": answers,
    }


def measure_members(commands: list[list[str]]) -> dict[str, Any]:
    """Run processes that speak the same way: READY, a starting time, one JSON line."""
    clients = [_client(command) for command in commands]
    try:
        _begin(clients)
        return _together([_answer(client) for client in clients], 0.0)
    finally:
        for client in clients:
            with contextlib.suppress(ProcessLookupError):
                client.kill()
            client.wait()
