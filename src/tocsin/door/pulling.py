"""What comes from a door, taken by a thread, so that who waits for it can wait for a time only."""

import queue
import threading
from collections.abc import Callable
from typing import Any, Final

from tocsin.live.errors import TimedOut

AHEAD: Final = 4  # items that are taken before they are asked for


class Pulling:
    """`take` gives the next item; None, or an error (StopIteration, too), is the last."""

    def __init__(self, take: Callable[[], Any], cancel: Callable[[], None]) -> None:
        self._take = take
        self._cancel = cancel
        self._items: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(AHEAD)
        self._ended = False
        self._thread = threading.Thread(target=self._run, name="tocsin-door-client", daemon=True)
        self._thread.start()

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

    def has_ended(self, seconds: float) -> bool:
        """Whether the thread has, at the latest after so long."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
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
            if item[1] is not None or item[0] is None:
                return
