"""A number that all members add to."""

from tocsin.state.recipes.counter_state import CounterState
from tocsin.state.recipes.objects import Objects
from tocsin.state.recipes.using import Using
from tocsin.state.replica import Replica


class Counter:
    """Of 64 bits, with sign."""

    def __init__(self, replica: Replica[Objects], name: str) -> None:
        self._using = Using(replica, "counter", name)
        state = replica.state.get("counter", name)
        assert isinstance(state, CounterState)
        self._state = state

    @property
    def value(self) -> int:
        """As it is here."""
        return self._state.value

    async def add(self, amount: int = 1, timeout: float | None = None) -> int:
        """The number after that."""
        return int(await self._using.call("add", amount, timeout=timeout))
