"""Passing the token, or the commit token, on: again until there is a sign that it arrived, and not for ever."""

from typing import Final

from tocsin.core.machine import Micros, Outbox, SiteId
from tocsin.core.message import Message

RETRY: Final = "RETRY"  # no sign that the token, or commit token, arrived
LOST: Final = "LOST"  # the token, or commit token, did not come back

RETRIES_A_MEMBER: Final = 4  # a token may be sent so often at each member before it is taken for lost


class Passing:
    """The token that this site has passed on last."""

    def __init__(self, retry_us: int, loss_us: int, outbox: Outbox) -> None:
        self._retry_us = retry_us
        self._loss_us = loss_us
        self._outbox = outbox
        self._target: SiteId = -1  # to whom it was passed …
        self._message: Message | None = None  # … and what; None: it has arrived, or does not matter any more
        self._held_us = 0  # so long the others may hold it, all together, before there is a sign of it

    def pass_on(self, now: Micros, target: SiteId, message: Message, held_us: int) -> None:
        """`held_us`: so long the others may hold it, all together."""
        self._target = target
        self._message = message
        self._held_us = held_us
        self._outbox.send(target, message)
        self.retry_later(now)

    def retry_later(self, now: Micros) -> None:
        self._outbox.set_timer(RETRY, 0, now + self._retry_us + self._held_us)

    def retry(self, now: Micros) -> None:
        """Send it again, if there was no sign of it."""
        if self._message is not None:
            self._outbox.send(self._target, self._message)
            self.retry_later(now)

    def arrived(self) -> None:
        """Somebody after us has the token, or had it."""
        self.forget()
        self._outbox.cancel_timer(RETRY, 0)

    def forget(self) -> None:
        """What was passed on does not matter any more."""
        self._message = None

    def expect_return(self, now: Micros, members: int, held_us: int) -> None:
        """The token must be here again in time: so long after it was seen, the more members the longer."""
        again_us = self._retry_us + held_us  # as `retry_later` waits at each member
        self._outbox.set_timer(LOST, 0, now + self._loss_us + RETRIES_A_MEMBER * again_us * members)

    def expect_nothing(self) -> None:
        self._outbox.cancel_timer(LOST, 0)

    def stop(self) -> None:
        """There is no ring to pass a token on."""
        self.forget()
        self._outbox.cancel_timer(RETRY, 0)
        self.expect_nothing()
