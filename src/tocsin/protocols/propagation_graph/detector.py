"""Failure detection: who is alive, as far as a site can tell (section 5.2.1 of the paper).

| paper                                              | here                                        |
|----------------------------------------------------|---------------------------------------------|
| a child has not heard from its parent              | `look`; parents watch children, too         |
| sources detect that their primary has failed       | `look`: submissions in vain                 |
| null messages, if there is nothing else to send    | BEAT, `Children.say_alive`                  |

A suspicion may be wrong; a word from the suspected site ends it. Nothing but the wish for a new graph rests on it.

Whether all is well is another question: a site that was left out may not know it. So it is sure of its graph only as
long as it hears from its neighbours there, or from anybody if it has none; and after a restart, after a pause, and in a
new graph, not before it does. Who is left out and silent for so long that it must have noticed is not waited for.
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
        self._doubts: dict[
            SiteId, int
        ] = {}  # as `_silence`, from the largest on; by itself: of a site without neighbours
        self._beats = 0  # in the present graph, as far as it matters
        self._beat_due: Micros = 0

    def watch(self, now: Micros) -> None:
        """Begin to watch the neighbours in the present graph."""
        stage = self._graphs.present
        self._silence = {}
        if stage.parent >= 0:
            self._silence[stage.parent] = 0
        for child in stage.graph.children:
            self._silence[child] = 0
        self._beats = 0
        self._doubt()
        self.await_beat(now)

    def await_beat(self, now: Micros) -> None:
        self._beat_due = now + self._null_us
        self._outbox.set_timer(BEAT, 0, self._beat_due)

    def on_beat(self, now: Micros) -> None:
        """A period is over. If it was a long one, this process was stopped, and the others may have gone on without."""
        if now >= self._beat_due + self._null_us:
            self._doubt()
        self.await_beat(now)

    def _doubt(self) -> None:
        """Whether the others are still in this graph is not known."""
        peers = sorted(self._silence) if self._silence or self._sites == 1 else [self._site]
        self._doubts = dict.fromkeys(peers, self._suspect_after + 1)

    def is_sure(self) -> bool:
        """Whether this site is in one graph with its neighbours, and who is left out has had time to notice."""
        for silence in self._doubts.values():
            if 2 * silence > self._suspect_after + 1:
                return False
        return self._beats > self._suspect_after or not self._graphs.decision().away

    def stranger(self, has_stopped: bool) -> SiteId:
        """A site without neighbours hears of no graph, nor may one that has stopped: whom it asks now, one by one;
        -1: nobody."""
        if (self._silence and not has_stopped) or self._sites == 1:
            return -1
        self._turn = (self._turn + 1) % self._sites
        return self._turn if self._turn != self._site else (self._turn + 1) % self._sites

    def hear(self, source: SiteId) -> None:
        """A site has said something."""
        if source in self._silence:
            self._silence[source] = 0
            self._doubts[source] = 0
        elif self._site in self._doubts:
            self._doubts[self._site] = 0
        self.suspects.discard(source)

    def look(self) -> None:
        """A period is over: suspect who was silent for too long."""
        self._beats = min(self._beats + 1, self._suspect_after + 1)
        for peer in sorted(self._doubts):
            self._doubts[peer] = min(self._doubts[peer] + 1, self._suspect_after + 1)
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
