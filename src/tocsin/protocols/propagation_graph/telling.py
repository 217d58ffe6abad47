"""Who brought a graph about tells everybody until all have heard (section 5.1, atomic)."""

from typing import Final

from tocsin.core.machine import Micros, Outbox, SiteId
from tocsin.protocols.propagation_graph.edges import BACKOFF_MAX
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.messages import Decided

MANAGE: Final = "MANAGE"  # somebody has not heard of the newest graph


class Telling:
    """Repeats the newest decision."""

    def __init__(self, resend_us: int, graphs: Graphs, outbox: Outbox) -> None:
        self._resend_us = resend_us
        self._graphs = graphs
        self._outbox = outbox
        self._unheard: list[SiteId] = []  # who has not confirmed the newest graph
        self._times = 0  # that MANAGE came
        self._armed = False  # MANAGE is set

    def is_settled(self) -> bool:
        return not self._unheard

    def start(self, now: Micros, sites: list[SiteId]) -> None:
        """Tell these, and nobody else any more."""
        self._unheard = list(sites)
        self._times = 0
        self._tell(now)

    def _tell(self, now: Micros) -> None:
        if self._unheard:
            self._outbox.multicast(self._unheard, Decided(self._graphs.newest))
            if not self._armed:
                self._armed = True
                delay = 2 * self._resend_us << min(self._times, BACKOFF_MAX)
                self._outbox.set_timer(MANAGE, 0, now + delay)

    def on_heard(self, site: SiteId) -> None:
        """The site knows of the newest graph."""
        if site in self._unheard:
            self._unheard.remove(site)
            if not self._unheard and self._armed:
                self._armed = False
                self._outbox.cancel_timer(MANAGE, 0)

    def on_timer(self, now: Micros) -> None:
        self._armed = False
        self._times += 1
        self._tell(now)
