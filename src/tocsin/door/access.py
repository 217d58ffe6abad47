"""Before a call is looked at: whose token it has, what that one may do, and whether there is room for one more call."""

import threading
from typing import Any

import pyarrow.flight as flight

from tocsin.door.limits import CALLS_MAX
from tocsin.door.tokens import Holder, Tokens

WRITES = {flight.FlightMethod.DO_PUT}
MIDDLEWARE = "tocsin"


class Call(flight.ServerMiddleware):  # type: ignore[misc]
    """One call that was let in."""

    def __init__(self, entrance: "Entrance", holder: Holder) -> None:
        self.holder = holder
        self._entrance = entrance

    def call_completed(self, exception: Any) -> None:
        self._entrance.on_completed()


class Entrance(flight.ServerMiddlewareFactory):  # type: ignore[misc]
    """Of one door."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._lock = threading.Lock()
        self._calls = 0

    def calls(self) -> int:
        return self._calls

    def start_call(self, info: Any, headers: dict[str, list[str | bytes]]) -> Call:
        with self._lock:
            if self._calls >= CALLS_MAX:
                raise flight.FlightUnavailableError(
                    f"TooMany: expected at most {CALLS_MAX} calls at a time (CALLS_MAX)"
                )
            self._calls += 1
        try:
            return Call(self, self._holder(info, headers))
        except BaseException:
            self.on_completed()
            raise

    def _holder(self, info: Any, headers: dict[str, list[str | bytes]]) -> Holder:
        values = next((found for name, found in headers.items() if name.lower() == "authorization"), [])
        value = values[0] if values else ""
        text = value.decode(errors="surrogateescape") if isinstance(value, bytes) else value
        scheme, _, token = text.partition(" ")
        holder = self._tokens.find(token.strip() if scheme.lower() == "bearer" else "")
        if holder is None:
            raise flight.FlightUnauthenticatedError("Unauthenticated: expected a token that this door knows")
        if info.method in WRITES and not holder.may_write:
            raise flight.FlightUnauthorizedError(f"Unauthorized: the token of `{holder.name}` may read, not write")
        return holder

    def on_completed(self) -> None:
        with self._lock:
            self._calls -= 1
