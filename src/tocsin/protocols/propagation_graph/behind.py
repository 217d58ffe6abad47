"""A site whose tree has ended, and whose Close has not come (section 5.1, atomic): perhaps its parent has not heard."""

from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup
from tocsin.protocols.propagation_graph.edges import BACKOFF_MAX
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.messages import Decided
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.successor import ends_tree

BEHIND: Final = "BEHIND"  # this site's tree has ended, and its Close has not come


class Behind:
    """Tells the parent of the newest graph, until the Close comes."""

    def __init__(self, setup: Setup, options: PropagationGraphOptions, graphs: Graphs, outbox: Outbox) -> None:
        self._site = setup.site
        self._resend_us: int = options.resend_us
        self._graphs = graphs
        self._outbox = outbox
        self._armed = False  # BEHIND is set
        self._times = 0  # that it came

    def is_behind(self) -> bool:
        """Whether the tree that this site is in has ended."""
        newest = self._graphs.newest
        return newest.number > self._graphs.present.number and ends_tree(newest, self._graphs.decision(), self._site)

    def watch(self, now: Micros) -> None:
        if self.is_behind() and not self._armed:
            self._armed = True
            self._outbox.set_timer(BEHIND, 0, now + (4 * self._resend_us << min(self._times, BACKOFF_MAX)))

    def on_timer(self, now: Micros) -> None:
        """Perhaps the parent has not heard, and the manager is down."""
        self._armed = False
        parent = self._graphs.present.parent
        if self.is_behind():
            self._times += 1
            if parent >= 0:
                self._outbox.send(parent, Decided(self._graphs.newest))
            self.watch(now)

    def start_graph(self) -> None:
        self._times = 0
