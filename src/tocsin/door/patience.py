"""How long a client looks for a door that can do what is asked: from door to door, then with pauses, up to a limit."""

import time
from typing import Final

from tocsin.core.errors import TocsinError
from tocsin.door.doors import Doors
from tocsin.door.told_errors import ELSEWHERE, PERHAPS_ELSEWHERE

PAUSE_SECONDS_MIN: Final = 0.05  # after every door has failed; doubled up to …
PAUSE_SECONDS_MAX: Final = 1.0


class Patience:
    """Of one call. `seconds`: without a success."""

    def __init__(self, doors: Doors, seconds: float) -> None:
        self._doors = doors
        self._seconds = seconds
        self.on_success()

    def on_success(self) -> None:
        self._since = time.monotonic()
        self._failures = 0
        self._refusals = 0  # by doors that work, one after the other
        self._pause = PAUSE_SECONDS_MIN

    def on_failure(self, at: int, error: TocsinError) -> None:
        """Go on at the next door; raises the error where no other will do better, or time is over."""
        if isinstance(error, PERHAPS_ELSEWHERE):
            self._refusals += 1
            if self._refusals >= len(self._doors):
                raise error
            self._doors.move_on(at)
            return
        if not isinstance(error, ELSEWHERE) or time.monotonic() - self._since > self._seconds:
            raise error
        self._refusals = 0
        self._failures += 1
        self._doors.leave(at)
        if self._failures % len(self._doors) == 0:
            time.sleep(self._pause)
            self._pause = min(2 * self._pause, PAUSE_SECONDS_MAX)
