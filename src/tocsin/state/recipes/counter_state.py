"""A number to which anybody adds."""

from typing import Any

from tocsin.core.errors import InputError
from tocsin.state.states import Caller


class CounterState:
    def __init__(self) -> None:
        self.value = 0

    def apply(self, operation: str, arguments: list[Any], caller: Caller) -> object:
        if operation != "add":
            raise InputError(f"counter: no operation `{operation}`")
        [amount] = arguments
        if not isinstance(amount, int) or not -(1 << 63) <= self.value + amount < 1 << 63:
            raise InputError(f"counter: expected to stay within 64 bits, found {self.value} and {amount!r} to add")
        self.value += amount
        return self.value

    def on_gone(self, site: str, life: int) -> None:
        """A counter has no holders."""

    def rows(self) -> object:
        return self.value

    def restore(self, rows: Any) -> None:
        self.value = rows
