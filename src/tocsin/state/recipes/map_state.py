"""A map from bytes to bytes, as every member has it."""

from typing import Any

from tocsin.core.errors import InputError
from tocsin.state.recipes.listeners import Listeners
from tocsin.state.states import Caller


class MapState:
    """Told to listeners: keys with their new values, None where they are gone."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.listeners: Listeners[tuple[bytes, bytes | None]] = Listeners()

    def apply(self, operation: str, arguments: list[Any], caller: Caller) -> object:
        if operation == "set":
            key, value = arguments
            self._put(key, value)
            return None
        if operation == "delete":
            [key] = arguments
            return self._put(key, None)
        if operation == "compare_and_set":
            key, old, new = arguments
            if self.values.get(key) != old:
                return False
            self._put(key, new)
            return True
        raise InputError(f"map: no operation `{operation}`")

    def _put(self, key: bytes, value: bytes | None) -> bool:
        """Whether there was a value."""
        if not isinstance(key, bytes) or not isinstance(value, bytes | None):
            raise InputError("map: expected bytes as key and value")
        was = self.values.pop(key, None)
        if value is not None:
            self.values[key] = value
        if was != value:
            self.listeners.tell((key, value))
        return was is not None

    def on_gone(self, site: str, life: int) -> None:
        """A map has no holders."""

    def rows(self) -> object:
        return sorted(self.values.items())

    def restore(self, rows: Any) -> None:
        before, self.values = self.values, dict(rows)
        for key in sorted(before.keys() | self.values.keys()):
            if before.get(key) != self.values.get(key):
                self.listeners.tell((key, self.values.get(key)))
