"""Ballots: a voter's part in a decision by majority (Paxos: promise, then vote).

Anybody may try to bring a decision about, each time in a new ballot. It asks the voters for a promise to vote in no
smaller ballot, and to say what they have voted for. If a majority has promised, it proposes what was voted for in the
largest ballot among them, or, if nobody has voted, what it likes. What a majority votes for in one ballot is decided,
and any later ballot can only propose the same again.

Ballots are compared as numbers, and each belongs to one site: no two sites ask in the same one.
"""

from typing import Final, Generic, TypeVar

from tocsin.core.machine import SiteId

V = TypeVar("V")

EPOCH_BALLOTS: Final = 1 << 40  # of one epoch


class Ballots(Generic[V]):
    """What one voter has promised and voted for. The caller makes each change durable before anybody hears of it."""

    def __init__(self, sites: int) -> None:
        self._sites = sites
        self.promised = 0  # no vote in a smaller ballot; 0: nothing promised
        self.voted_in = 0  # the largest ballot with a vote from here, at most `promised`; 0: none
        self.voted: V | None = None  # what that vote was for

    def ballot(self, attempt: int, site: SiteId) -> int:
        """The ballot of a site's attempt; attempts are counted from 1."""
        return attempt * self._sites + site

    def attempt(self, ballot: int) -> int:
        return ballot // self._sites

    def owner(self, ballot: int) -> SiteId:
        return ballot % self._sites

    def promise(self, ballot: int) -> None:
        """Vote in no smaller ballot from here on."""
        self.promised = ballot

    def vote(self, ballot: int, value: V) -> None:
        """A vote promises, too; one read back from a checkpoint takes no larger promise back."""
        if ballot > self.promised:
            self.promised = ballot
        self.voted_in = ballot
        self.voted = value

    def start_over(self) -> None:
        """The decision is taken; the next one begins without promises and votes."""
        self.promised = 0
        self.voted_in = 0
        self.voted = None


def epoch_of(ballot: int) -> int:
    """Ballots of a later epoch, which a recovery that accepts losses begins, are above all of those before."""
    return ballot // EPOCH_BALLOTS
