"""Failure detection: who is alive, as far as a site can tell (section 5.2.1 of the paper).

| paper                                              | here                                        |
|----------------------------------------------------|---------------------------------------------|
| a child has not heard from its parent              | `look`; parents watch children, too         |
| sources detect that their primary has failed       | `look`: submissions in vain                 |
| null messages, if there is nothing else to send    | BEAT, `Children.say_alive`                  |

A suspicion may be wrong; a word from the suspected site ends it. Nothing but the wish for a new graph rests on it.
"""

from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.protocols.propagation_graph.edges import BACKOFF_MAX
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.outlets import Outlets

BEAT: Final = "BEAT"  # time to say that one is alive, and to look who is


class Detector:
    """Watches the neighbours in the present graph, and the primary destinations that this site sends to."""

    def __init__(
        self, setup: Setup, options: PropagationGraphOptions, graphs: Graphs, outlets: Outlets, outbox: Outbox
    ) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._null_us: int = options.null_us
        self._suspect_after: int = options.suspect_after
        self._graphs = graphs
        self._outlets = outlets
        self._outbox = outbox
        self._silence: dict[SiteId, int] = {}  # parent and children: periods without a word
        self.suspects: set[SiteId] = set()  # they do not answer
        self._turn = 0  # whom a site without neighbours asks next

    def watch(self, now: Micros) -> None:
        """Begin to watch the neighbours in the present graph."""
        stage = self._graphs.present
        self._silence = {}
        if stage.parent >= 0:
            self._silence[stage.parent] = 0
        for child in stage.graph.children:
            self._silence[child] = 0
        self.await_beat(now)

    def await_beat(self, now: Micros) -> None:
        self._outbox.set_timer(BEAT, 0, now + self._null_us)

    def stranger(self) -> SiteId:
        """A site without neighbours hears of no graph: whom it asks now, one after another; -1 if it has some."""
        if self._silence or self._sites == 1:
            return -1
        self._turn = (self._turn + 1) % self._sites
        return self._turn if self._turn != self._site else (self._turn + 1) % self._sites

    def hear(self, source: SiteId) -> None:
        """A site has said something."""
        if source in self._silence:
            self._silence[source] = 0
        self.suspects.discard(source)

    def look(self) -> None:
        """A period is over: suspect who was silent for too long."""
        for peer in sorted(self._silence):
            self._silence[peer] += 1
            if self._silence[peer] > self._suspect_after:
                self.suspects.add(peer)
        for outlet in self._outlets.by_group.values():
            if outlet.tries >= BACKOFF_MAX and outlet.acked < outlet.end:
                primary = self._graphs.present.graph.primary_of(outlet.group)
                if primary >= 0 and primary != self._site:
                    self.suspects.add(primary)

    def believe(self, suspects: tuple[SiteId, ...]) -> None:
        """Another site suspects these; a neighbour that was heard in this period is alive."""
        for suspect in suspects:
            if suspect < self._sites and suspect != self._site and self._silence.get(suspect, 1) > 0:
                self.suspects.add(suspect)

    def start_graph(self) -> None:
        """A new graph leaves out who failed; suspicions begin anew."""
        self.suspects = set()
