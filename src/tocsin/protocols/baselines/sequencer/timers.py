"""The timers of a site that are set: setting one again does not move it."""

from tocsin.core.machine import Micros, Outbox


class Timers:
    """Timers by name, each once."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._names: list[str] = []  # sorted; those that are set and have not come due

    def is_set(self, timer: str) -> bool:
        return timer in self._names

    def set(self, timer: str, deadline: Micros) -> None:
        """Set a timer, unless it is set."""
        if timer not in self._names:
            self._names.append(timer)
            self._names.sort()
            self._outbox.set_timer(timer, 0, deadline)

    def unset(self, timer: str) -> None:
        if timer in self._names:
            self._names.remove(timer)
            self._outbox.cancel_timer(timer, 0)

    def fired(self, timer: str) -> None:
        """It came due."""
        if timer in self._names:
            self._names.remove(timer)
