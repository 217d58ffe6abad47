"""A site's own broadcasts while their priorities are not final."""

from typing import Final as Constant

from tocsin.core.machine import GroupId, Outbox, SiteId
from tocsin.protocols.baselines.two_phase.messages import Data

RESEND: Constant = "RESEND"  # key: the number of the own message whose proposals are missing


class Outgoing:
    """A broadcast of this site whose priority is not yet final."""

    def __init__(self, group: GroupId, seqno: int, place: int, payload: bytes) -> None:
        self.group = group
        self.seqno = seqno
        self.place = place
        self.payload = payload
        self.started = False  # phase one has begun
        self.data: Data | None = None  # set when started
        self.tries = 0  # how often it was sent again
        self.proposals: dict[SiteId, int] = {}


class Outgoings:
    """All of them, by number, in increasing order."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self.waiting: dict[int, Outgoing] = {}

    def add(self, outgoing: Outgoing) -> None:
        self.waiting[outgoing.seqno] = outgoing

    def settle(self, seqno: int) -> None:
        """Its priority is final."""
        self.waiting.pop(seqno, None)
        self._outbox.cancel_timer(RESEND, seqno)

    def next_to_start(self) -> Outgoing | None:
        """The oldest that has not begun, as long as the group does not change: causal order over groups."""
        group = -1
        for outgoing in self.waiting.values():
            if group < 0:
                group = outgoing.group
            if outgoing.group != group:
                return None
            if not outgoing.started:
                return outgoing
        return None
