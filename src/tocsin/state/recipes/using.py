"""One named object at this member: calls to it, and waiting for what becomes of it."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

from tocsin.state.recipes.listeners import Listeners
from tocsin.state.recipes.objects import Objects, decode_answer, encode_call
from tocsin.state.replica import Replica


class Using:
    def __init__(self, replica: Replica[Objects], kind: str, name: str) -> None:
        self.replica = replica
        self.name = name
        self._kind = kind
        replica.state.get(kind, name)  # a bad name is told here

    async def call(self, operation: str, *arguments: object, timeout: float | None = None) -> Any:
        return decode_answer(await self.replica.call(self.encoded(operation, *arguments), timeout))

    def encoded(self, operation: str, *arguments: object) -> bytes:
        return encode_call(self._kind, self.name, operation, *arguments)

    def call_later(self, operation: str, *arguments: object) -> None:
        """Nobody waits for it; it comes after what was called before."""
        self.replica.call_later(self.encoded(operation, *arguments))

    async def until(self, listeners: Listeners[None], condition: Callable[[], bool]) -> None:
        """Wait until the condition holds; it is looked at whenever the object tells something."""
        while not condition():
            told: asyncio.Future[None] = asyncio.get_running_loop().create_future()

            def tell(_: None, told: "asyncio.Future[None]" = told) -> None:
                if not told.done():
                    told.set_result(None)

            listeners.add(tell)
            try:
                await self.replica.wait(told)
            finally:
                listeners.remove(tell)


def new_ticket() -> int:
    return int.from_bytes(os.urandom(7), "big")
