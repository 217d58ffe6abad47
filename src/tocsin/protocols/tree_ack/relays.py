"""How `tree_ack` words a message that is passed on."""

from tocsin.core.links import RelayingOutbox
from tocsin.core.machine import SiteId
from tocsin.core.message import Message
from tocsin.protocols.tree_ack.messages import (
    Ack,
    Batch,
    Complete,
    Data,
    Hello,
    Noted,
    Probe,
    Relay,
    Request,
    Welcome,
)


class TreeAckOutbox(RelayingOutbox):
    life = 0  # of this start

    def wrap(self, path: tuple[SiteId, ...], place: int, message: Message) -> Message:
        assert isinstance(message, (Data, Ack, Complete, Hello, Welcome, Request, Batch, Probe, Noted))
        return Relay(path, place, self.life, message)
