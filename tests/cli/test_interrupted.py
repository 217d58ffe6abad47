"""Ctrl-C in the middle of a simulation leaves a valid, shorter trace, and says so."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

from tocsin.properties import check
from tocsin.traces.reader import read_rows

LONG = """\
protocol = "ack_all"
sites = 5
duration_us = 1_000_000_000_000
[workload]
messages = 100_000_000
every_us = 100
"""


def interrupt(folder: Path) -> tuple[int, str]:
    """Start a long simulation on a terminal, press Ctrl-C once its bar is drawn; exit code and what was shown."""
    scenario = folder / "long.toml"
    scenario.write_text(LONG)
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "tocsin.cli.main", "simulate", str(scenario), "--trace", str(folder / "out")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    os.set_blocking(master, False)
    shown = b""
    deadline = time.monotonic() + 120
    while b"simulating" not in shown and time.monotonic() < deadline:
        time.sleep(0.05)
        shown += _read(master)
    process.send_signal(signal.SIGINT)
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
        shown += _read(master)
    shown += _read(master)
    os.close(master)
    return process.wait(1), shown.decode(errors="replace")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # nothing there now, or the other end is closed
        return b""


def test_ctrl_c_leaves_a_valid_shorter_trace(tmp_path: Path) -> None:
    code, shown = interrupt(tmp_path)
    assert code == 130
    assert "simulating" in shown and "events" in shown, "a progress bar was drawn"
    assert "interrupted: the answer and the trace end there" in shown and "Traceback" not in shown
    report = check(read_rows([tmp_path / "out"]), properties=["integrity", "fifo"])
    assert report.rows > 1_000 and report.properties["integrity"].verdict == "pass"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["trace.parquet"]
