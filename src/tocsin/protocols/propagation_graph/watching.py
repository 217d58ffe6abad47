"""Signs of life, and what others say of themselves and wish for: section 5.2.1, before a new graph is begun.

| paper                                           | here                                        |
|-------------------------------------------------|---------------------------------------------|
| sites constantly monitor one another            | `on_beat`; detector.py                      |
| the manager is informed of the failure          | `on_wish`, `on_change`; wishes.py           |
| a failed site revives                           | `on_hello`; standing.py                     |
"""

from tocsin.core.machine import Micros, Setup, SiteId
from tocsin.protocols.propagation_graph.decided import DecidedGraphs
from tocsin.protocols.propagation_graph.detector import Detector
from tocsin.protocols.propagation_graph.message_passing import MessagePassing
from tocsin.protocols.propagation_graph.messages import Anew, Change, Hello, Wish
from tocsin.protocols.propagation_graph.standing import Standing
from tocsin.protocols.propagation_graph.wishes import Wishes


class Watching:
    """Hands what is heard to the parts that own it."""

    def __init__(
        self,
        setup: Setup,
        passing: MessagePassing,
        detector: Detector,
        wishes: Wishes,
        decided: DecidedGraphs,
        standing: Standing,
    ) -> None:
        self._graphs = passing.graphs
        self._children = passing.children
        self._detector = detector
        self._wishes = wishes
        self._decided = decided
        self._standing = standing

    def on_beat(self, now: Micros) -> None:
        """Say that this site is alive, and look who is."""
        self._detector.on_beat(now)
        if self._decided.learned is not None:
            return
        if self._standing.is_away() or self._standing.is_waiting():
            self._standing.say_to_all()
            self._wishes.consider(now)
            return
        stranger = self._detector.stranger(self._graphs.present.stopped)
        if stranger >= 0:
            self._standing.say(stranger)
        self._children.say_alive(self._graphs.present)
        self._detector.look()
        self._wishes.consider(now)

    def ask(self, now: Micros) -> None:
        """Changes were asked for here."""
        self._wishes.note_own_changes()
        self._wishes.consider(now)

    def on_change(self, now: Micros, asker: SiteId, change: Change) -> None:
        if self._wishes.note_change(asker, change):
            self._wishes.consider(now)

    def on_wish(self, now: Micros, source: SiteId, wish: Wish) -> None:
        self._decided.send_after(source, wish.number)  # perhaps it has not heard
        if wish.number == self._standing.base().number:
            self._detector.believe(wish.suspects)
        self._wishes.consider(now)

    def on_anew(self, now: Micros, site: SiteId, anew: Anew) -> None:
        """A site has begun anew: wish for a graph without it; then it is back like others."""
        if self._wishes.note_anew(site, anew.incarnation):
            self._wishes.consider(now)

    def on_hello(self, now: Micros, source: SiteId, hello: Hello) -> None:
        """Tell a site that is back what it has missed, and wish for a graph with it, once it is here."""
        self._decided.send_after(source, max(hello.number, hello.known))
        if hello.ranks:
            self._decided.send_ends(source, [group for group, _ in hello.ranks], hello.number)
            if self._wishes.note_revival(hello):
                self._wishes.consider(now)
        base = self._standing.base()
        if source in base.away and hello.number == base.number:
            self._wishes.note_return(source)
            self._wishes.consider(now)
        elif hello.number == base.number:
            self._children.answer(source)  # it has no neighbours to hear from
