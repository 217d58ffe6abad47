"""One broadcast at one site: the variables of Figure 3.2 for one message."""

from tocsin.core.machine import SiteId
from tocsin.protocols.tree_ack.messages import Data


class Instance:
    """The paper's m, r, sendto, ackfrom and ackto, and what restarts need besides."""

    def __init__(self, message: Data, sender: SiteId) -> None:
        self.message = message
        self.sender = sender  # the paper's m.sender: whom we have it from; -1 when we no longer know
        self.whole = False  # the paper's r = b: seeing to everybody, not only to our own subtree
        self.waiting = False  # restored after a restart; what the others have is not known yet
        self.orphaned = False  # whom we watch has failed since: take over as soon as our subtree is served
        self.resent = False  # nothing was sent for the first time since the resend timer was last set
        self.sendto: list[SiteId] = []  # sites that must be sent the message, in order; empty between two steps
        self.ackfrom: set[SiteId] = set()  # sites that were sent it and have not acknowledged; none has failed
        self.acked: set[SiteId] = set()  # sites that were sent it by us and have acknowledged
        self.ackto: set[SiteId] = set()  # sites that sent it and wait for our acknowledgement
        self.skipped: set[SiteId] = set()  # sites left out because they had failed; their successors were sent it

    def served(self) -> bool:
        """Whether B(i, m) holds: everybody in our subtree has it or has failed."""
        return not self.waiting and (self.whole or (not self.ackfrom and not self.sendto))
