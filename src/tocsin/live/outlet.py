"""Lets out what has become durable: first to the peers, who wait for it, then to the application."""

from tocsin.core.codec import Codec
from tocsin.core.effects import Multicast, Send
from tocsin.core.machine import SiteId
from tocsin.core.message import Message
from tocsin.live.heard import Delivered
from tocsin.live.incoming import Incoming
from tocsin.live.outgoing import Outgoing
from tocsin.live.staging import Visible
from tocsin.live.wire.sending import Sender


class Outlet:
    """The last station of a step."""

    def __init__(self, site: SiteId, codec: Codec, sender: Sender, outgoing: Outgoing, incoming: Incoming) -> None:
        self.has_told = False  # the application was told something; reset by who gives it its turn
        self._site = site
        self._codec = codec
        self._sender = sender
        self._outgoing = outgoing
        self._incoming = incoming

    def send(self, visible: list[Visible]) -> None:
        """Send, in order; one packet for the same message to several sites."""
        message: Message | None = None
        targets: list[SiteId] = []
        for item in visible:
            if isinstance(item, Send):
                more = [item.target]
            elif isinstance(item, Multicast):
                more = item.targets
            else:
                continue
            if item.message is message:
                targets = targets + more
            else:
                self._send(targets, message)
                targets = more
                message = item.message
        self._send(targets, message)
        self._sender.flush()

    def _send(self, targets: list[SiteId], message: Message | None) -> None:
        if message is not None and targets:
            self._sender.send(targets, self._codec.encode(message), message.kind == "data")

    def tell(self, visible: list[Visible], time_us: int) -> None:
        """Let the application hear, in order. `time_us` is that of the batch which has its deliveries."""
        told = False
        for item in visible:
            if isinstance(item, (Send, Multicast)):
                continue
            if isinstance(item, Delivered):
                item.time_us = time_us
                if item.op.origin == self._site and item.answers is not None:
                    self._outgoing.receipts.on_answers(item.op.group, item.op.frame, item.answers)
                elif item.op.origin == self._site and item.messages:
                    self._outgoing.receipts.on_own_delivery(item.op.group, item.op.frame, item.op.position)
            self._incoming.tell(item)
            told = True
        if told:
            self.has_told = True
            self._incoming.on_told()
