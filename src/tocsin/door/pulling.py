"""What comes from a door, taken by a thread, so that who waits for it can wait for a time only."""

import queue
import threading
from collections.abc import Callable
from typing import Any, Final

from tocsin.live.errors import TimedOut

AHEAD: Final = 4  # items that are taken before they are asked for


class Pulling:
    """`take` gives the next item, and raises StopIteration at the end."""

    def __init__(
        self, take: Callable[[], Any], cancel: Callable[[], None], finish: Callable[[], None] | None = None
    ) -> None:
        """`cancel`: nobody wants more. `finish`: the thread's last call."""
        self._take = take
        self._cancel = cancel
        self._finish = finish
        self._items: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(AHEAD)
        self._ended = False
        threading.Thread(target=self._run, name="tocsin-door-client", daemon=True).start()

    def next(self, seconds: float) -> Any:
        """The next item; StopIteration at the end, TimedOut if nothing comes."""
        try:
            item, error = self._items.get(timeout=seconds)
        except queue.Empty:
            raise TimedOut(f"nothing came from the door for {seconds:g} s") from None
        if error is not None:
            raise error
        return item

    def close(self) -> None:
        """Nobody wants more."""
        self._ended = True
        self._cancel()
        while not self._items.empty():
            try:
                self._items.get_nowait()
            except queue.Empty:
                return

    def _run(self) -> None:
        self._pull()
        if self._finish is not None:
            self._finish()

    def _pull(self) -> None:
        while not self._ended:
            item: tuple[Any, BaseException | None]
            try:
                item = (self._take(), None)
            except BaseException as error:
                item = (None, error)
            while not self._ended:
                try:
                    self._items.put(item, timeout=0.2)
                    break
                except queue.Full:
                    continue
            if item[1] is not None:
                return
