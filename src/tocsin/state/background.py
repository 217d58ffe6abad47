"""The one event loop, in a thread of its own, behind everything that is used without async."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from tocsin.core.errors import InputError

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_process = 0  # in which the loop runs: a fork copies the memory, and no thread


def in_background(work: Coroutine[Any, Any, T]) -> T:
    """Let the loop do this, and wait for it."""
    try:
        loop = _running()
    except InputError:
        work.close()
        raise
    future = asyncio.run_coroutine_threadsafe(work, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()  # Ctrl-C while waiting; otherwise it is done
        raise


def _running() -> asyncio.AbstractEventLoop:
    global _loop, _process
    with _lock:
        if _loop is None:
            _loop, _process = asyncio.new_event_loop(), os.getpid()
            threading.Thread(target=_loop.run_forever, name="tocsin-sync", daemon=True).start()
        elif _process != os.getpid():
            raise InputError(
                "tocsin.sync: this process was forked from one that uses it, and has no part in its group: "
                "start processes by `spawn` (multiprocessing.set_start_method), or fork before the first use"
            )
        elif threading.current_thread().name == "tocsin-sync":
            raise InputError("tocsin.sync: called from its own loop, for which it would wait for ever; use async there")
        return _loop
