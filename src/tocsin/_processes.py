"""Child processes that do not outlive their parent."""

import contextlib
import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1  # prctl's


def die_with(parent: int) -> None:
    """Let the kernel kill this process when its parent dies, however it dies (Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
