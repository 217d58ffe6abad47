"""How `coordinator_tree` words a message that is passed on."""

from tocsin.core.links import RelayingOutbox
from tocsin.core.machine import FIRST_INCARNATION, SiteId
from tocsin.core.message import Message
from tocsin.protocols.coordinator_tree.messages import (
    Anew,
    CoordinatorIs,
    Data,
    Desc,
    Have,
    IAmCoordinator,
    Known,
    Null,
    Ping,
    Pong,
    Probe,
    Relay,
    Request,
    Tidings,
)

DIRECT = (Data, Null, Tidings, Probe, CoordinatorIs, Desc, IAmCoordinator, Request, Have, Ping, Pong, Anew, Known)


class CoordinatorTreeOutbox(RelayingOutbox):
    incarnation = FIRST_INCARNATION

    def wrap(self, path: tuple[SiteId, ...], place: int, message: Message) -> Message:
        assert isinstance(message, DIRECT)
        return Relay(path, place, self.incarnation, message)
