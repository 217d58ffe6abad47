"""Time for the driver: monotonic microseconds, and one alarm that is precise to microseconds where Linux has timerfd.

Event loops round their timers up to a millisecond, which is an eternity for a circulating token.
"""

import asyncio
import ctypes
import os
import struct
import time
from collections.abc import Callable
from typing import Any, Final

from mypy_extensions import mypyc_attr

_CLOCK_MONOTONIC: Final = 1
_NONBLOCK_CLOEXEC: Final = 0o4000 | 0o2000000
_ABSOLUTE: Final = 1
_TIMES: Final = struct.Struct("qqqq")  # interval, value: seconds and nanoseconds of each


def now_us() -> int:
    return time.monotonic_ns() // 1000


@mypyc_attr(allow_interpreted_subclasses=True)
class Alarm:
    """Calls back once at (or just after) the deadline that was set last."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None
        self._times: Any = ctypes.create_string_buffer(_TIMES.size)
        self._times_at = ctypes.addressof(self._times)
        self._descriptor = -1
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            self._set_time: Any = libc.timerfd_settime
            self._set_time.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
            self._descriptor = libc.timerfd_create(_CLOCK_MONOTONIC, _NONBLOCK_CLOEXEC)
        except (OSError, AttributeError):
            self._descriptor = -1
        if self._descriptor >= 0:
            loop.add_reader(self._descriptor, self._on_readable)

    def set(self, deadline_us: int) -> None:
        if self._descriptor >= 0:
            deadline = max(deadline_us, 1)
            _TIMES.pack_into(self._times, 0, 0, 0, deadline // 1_000_000, deadline % 1_000_000 * 1000)
            self._set_time(self._descriptor, _ABSOLUTE, self._times_at, None)
            return
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._loop.call_later(max(0, deadline_us - now_us()) / 1e6, self._ring)

    def _on_readable(self) -> None:
        try:
            os.read(self._descriptor, 8)
        except BlockingIOError:
            return
        self._ring()

    def close(self) -> None:
        if self._descriptor >= 0:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
        if self._handle is not None:
            self._handle.cancel()
