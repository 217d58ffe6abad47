"""Whether the orderer answers: how often it was asked in vain, and how long to wait before asking again."""

from typing import Final

BACKOFF_MAX: Final = 4  # waiting grows up to 2^4 times: an election must be slower than the slowest network


class Contact:
    """What was heard of the orderer of this term."""

    def __init__(self, resend_us: int, suspect_after: int) -> None:
        self._resend_us = resend_us
        self._suspect_after = suspect_after
        self.heard = True  # the orderer was heard since the last look
        self.in_step = True  # False after a restart or in a new term, until the orderer was heard
        self._tries = 0  # questions without an answer

    def patience_us(self) -> int:
        """Before the next question: those in vain come ever more slowly, the network may be slow."""
        return self._resend_us << min(self._tries, BACKOFF_MAX)

    def answered(self) -> None:
        self.heard = True
        self._tries = 0

    def get_in_step(self) -> None:
        self.in_step = True

    def lead(self) -> None:
        """This site is the orderer."""
        self.in_step = True
        self._tries = 0

    def look_away(self) -> None:
        """What is heard from now on is news at the next look."""
        self.heard = False

    def count_try(self) -> bool:
        """A question had no answer; whether these were too many."""
        self._tries += 1
        return self._tries > self._suspect_after

    def forget_term(self) -> None:
        self._tries = 0
        self.in_step = False
        self.heard = False
