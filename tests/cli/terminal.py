"""A command on a terminal of a given width: what a person would see, and in which colours."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

TOCSIN = [sys.executable, "-m", "tocsin"]
RED = "\x1b[1;31m"


def on_terminal(words: list[str], columns: int = 80) -> tuple[int, str]:
    """Exit code, and everything written to a terminal, with its colours."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [*TOCSIN, *words], stdout=slave, stderr=slave, env={**environment, "TERM": "xterm-256color"}
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            data = os.read(master, 65_536)
        except OSError:  # the other end is closed
            break
        shown += data
    os.close(master)
    return process.wait(), shown.decode().replace("\r\n", "\n")


def plain(shown: str) -> str:
    """Without colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
