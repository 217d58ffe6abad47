"""Standard output, written by a thread of its own: who reads it slowly, or not at all, does not stop the event loop.

The thread writes to the descriptor itself. It holds nothing that the end of the program would wait for, so a program
whose output nobody reads can still end.
"""

import asyncio
import os
import queue
import sys
import threading


class StdoutThread:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._texts: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        self._descriptor = sys.stdout.fileno()
        threading.Thread(target=self._run, daemon=True, name="stdout").start()

    async def write(self, text: str) -> None:
        """Returns when it is written, as UTF-8 whatever the locale: JSON is for programs. Raises what writing raised,
        `BrokenPipeError` say."""
        written: asyncio.Future[None] = self._loop.create_future()
        self._texts.put((text.encode(), written))
        await written

    def _run(self) -> None:
        while True:
            data, written = self._texts.get()
            error: OSError | None = None
            try:
                left = memoryview(data)
                while left:
                    left = left[os.write(self._descriptor, left) :]
            except OSError as found:
                error = found
            try:
                self._loop.call_soon_threadsafe(_tell, written, error)
            except RuntimeError:
                return  # the loop is closed: nobody waits any more


def _tell(written: "asyncio.Future[None]", error: OSError | None) -> None:
    if written.done():  # its waiter was cancelled
        return
    if error is None:
        written.set_result(None)
    else:
        written.set_exception(error)
