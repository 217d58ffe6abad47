"""A site's own messages: their numbers, and those that somebody has not acknowledged."""

from typing import Final, Generic, TypeVar

from tocsin.core.machine import Micros, Outbox, SiteId
from tocsin.core.message import Message

RESEND: Final = "RESEND"  # key: the message's number

M = TypeVar("M", bound=Message)


class OwnNumbers:
    """The numbers of this site's broadcasts: they increase, and none is used twice, over crashes too."""

    def __init__(self, first: int = 0) -> None:
        """`first`: the smallest number that this incarnation may use (`Setup.first_seqno`)."""
        self.following = first  # next to assign; every smaller number is on stable storage, or was never visible

    def take(self) -> int:
        """The next number; the caller makes it durable in the same step."""
        number = self.following
        self.following = number + 1
        return number

    def recall(self, number: int) -> None:
        """A record shows that this number was taken."""
        if number >= self.following:
            self.following = number + 1

    def resume(self, following: int) -> None:
        """A checkpoint says which number is next."""
        self.following = max(self.following, following)


class Outstanding(Generic[M]):
    """A message that somebody has not acknowledged."""

    def __init__(self, data: M, waiting: list[SiteId]) -> None:
        self.data = data
        self.waiting = waiting  # sorted, never empty; sites that have not acknowledged


class Resending(Generic[M]):
    """Own messages are sent again to those who have not acknowledged them, until there is nobody left."""

    def __init__(self, outbox: Outbox, resend_us: int) -> None:
        self._outbox = outbox
        self._resend_us = resend_us
        self.outstanding: dict[int, Outstanding[M]] = {}  # by number, in increasing order

    def add(self, seqno: int, data: M, waiting: list[SiteId]) -> None:
        """These sites owe an acknowledgement; nothing is sent yet."""
        self.outstanding[seqno] = Outstanding(data, waiting)

    def drop(self, seqno: int) -> None:
        """A record shows that everybody has acknowledged."""
        self.outstanding.pop(seqno, None)

    def arm(self, now: Micros, seqno: int) -> None:
        """It was sent: look again in a while."""
        self._outbox.set_timer(RESEND, seqno, now + self._resend_us)

    def send_again(self, now: Micros, seqno: int) -> None:
        outstanding = self.outstanding.get(seqno)
        if outstanding is not None:
            for target in outstanding.waiting:
                self._outbox.send(target, outstanding.data)
            self.arm(now, seqno)

    def send_all_again(self, now: Micros) -> None:
        for seqno in self.outstanding:
            self.send_again(now, seqno)

    def acknowledge(self, seqno: int, site: SiteId) -> bool:
        """A site has the message; whether it was the last one to say so."""
        outstanding = self.outstanding.get(seqno)
        if outstanding is None or site not in outstanding.waiting:
            return False  # it came twice, or late
        outstanding.waiting.remove(site)
        if outstanding.waiting:
            return False
        del self.outstanding[seqno]
        self._outbox.cancel_timer(RESEND, seqno)
        return True
