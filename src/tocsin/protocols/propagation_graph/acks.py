"""When acknowledgements go out: each receiver of them gets at most one in `ack_us`."""

from typing import Final

from tocsin.core.machine import Micros, Outbox
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions

ACK: Final = "ACK"  # key: TO_PARENTS, or FIRST_SOURCE + source

TO_PARENTS: Final = 0
FIRST_SOURCE: Final = 1


class AckTimers:
    """What is to be acknowledged is known to whoever set the timer."""

    def __init__(self, options: PropagationGraphOptions, outbox: Outbox) -> None:
        self._ack_us: int = options.ack_us
        self._outbox = outbox
        self._armed: set[int] = set()  # keys of ACK timers that are set

    def arm(self, now: Micros, key: int) -> None:
        if key not in self._armed:
            self._armed.add(key)
            self._outbox.set_timer(ACK, key, now + self._ack_us)

    def on_timer(self, key: int) -> None:
        self._armed.discard(key)
