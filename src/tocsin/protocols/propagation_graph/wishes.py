"""Who wants a new graph, and who is to see to it: the manager and its backups (section 5.2.1 of the paper).

| paper                        | here                                                     |
|------------------------------|----------------------------------------------------------|
| the manager is informed      | `Wish`, `Change`                                         |
| a backup manager             | WISH: the next live site prepares with a higher ballot   |

The manager is the first live site. Who wants a graph tells it, and becomes manager itself if nothing comes, one site
after another. Several managers at once do no harm: deciding.py.
"""

from typing import Final

from tocsin.core.machine import Micros, Outbox, Setup, SiteId
from tocsin.protocols.propagation_graph.asked import AskedChanges
from tocsin.protocols.propagation_graph.decided import DecidedGraphs
from tocsin.protocols.propagation_graph.detector import Detector
from tocsin.protocols.propagation_graph.edges import BACKOFF_MAX
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.messages import Change, Decision, Hello, Wish
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.soundness import is_sound_change
from tocsin.protocols.propagation_graph.standing import Standing
from tocsin.protocols.propagation_graph.successor import incarnation_of
from tocsin.protocols.propagation_graph.votes import Revival, Revivals, is_dead

WISH: Final = "WISH"  # a new graph is wanted and has not come: be the manager

CHANGES_MAX: Final = 64  # changes of others that a manager remembers


class Wishes:
    """The reasons for a new graph, and how long this site waits for another to make one."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        graphs: Graphs,
        detector: Detector,
        decided: DecidedGraphs,
        standing: Standing,
        asked: AskedChanges,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._resend_us: int = options.resend_us
        self._grace_us: int = options.grace_us
        self._graphs = graphs
        self._detector = detector
        self._decided = decided
        self._standing = standing
        self._asked = asked
        self._outbox = outbox
        self.returning: set[SiteId] = set()  # left out of the present graph, and back
        self.revivals: Revivals = {}  # dead groups of the present graph of which somebody is back
        self.changes: dict[tuple[SiteId, int], Change] = {}  # asked for, by asker and its number; none is in a graph
        self.anew: dict[SiteId, int] = {}  # incarnations of sites that have begun anew and are not left out yet
        self._armed = False  # WISH is set
        self._tries = 0  # times this site was manager in vain

    # Reasons

    def note_return(self, site: SiteId) -> None:
        self.returning.add(site)

    def note_revival(self, hello: Hello) -> bool:
        """Whether a site is back that knows the end of a dead group."""
        dead = dict(self._standing.base().dead)
        is_news = False
        for group, rank in hello.ranks:
            if dead.get(group, -1) == hello.number:
                known = self.revivals.get(group)
                if known is None or known.rank < rank:
                    self.revivals[group] = Revival(rank, [found for found in hello.places if found[1] < self._sites])
                    is_news = True
        return is_news

    def note_anew(self, site: SiteId, incarnation: int) -> bool:
        """Whether a site has begun anew, and the present graph does not know it: it has to be left out, and what its
        earlier incarnation asked for is gone."""
        if incarnation <= incarnation_of(self._standing.base(), site):
            return False
        self.anew[site] = incarnation
        for asker, number in sorted(self.changes):
            if asker == site:
                del self.changes[(asker, number)]
        return True

    def note_own_changes(self) -> None:
        for change in self._asked.changes():
            self.changes[(self._site, change.number)] = change

    def note_change(self, asker: SiteId, change: Change) -> bool:
        """Whether another site's change is sound, and remembered."""
        if not is_sound_change(change, self._standing.base(), self._sites) or len(self.changes) >= CHANGES_MAX:
            return False
        self.changes[(asker, change.number)] = change
        return True

    def wants_graph(self) -> bool:
        decision = self._standing.base()
        for suspect in self._detector.suspects:
            if suspect not in decision.away and _is_needed(suspect, decision):
                return True
        for site in self.returning:
            if site in decision.away:
                return True
        if self.anew:
            return True
        applied = dict(decision.applied)
        for asker, number in self.changes:
            if number == applied.get(asker, 0):  # a later one waits for those before it
                return True
        for group in self.revivals:
            if is_dead(decision, group):
                return True
        return self._graphs.present.stopped and not self._standing.is_waiting()

    def _is_next_decided(self) -> bool:
        return self._decided.find(self._standing.base().number + 1) is not None

    # Whose turn it is

    def _live_before(self) -> list[SiteId]:
        """The live sites with smaller numbers: the manager, and the backups before this one."""
        away = self._standing.base().away
        return [site for site in range(self._site) if site not in self._detector.suspects and site not in away]

    def consider(self, now: Micros) -> None:
        """If a new graph is wanted, tell the manager, and be it if nothing comes."""
        if self._armed or self._is_next_decided() or not self.wants_graph():
            return
        before = self._live_before()
        if before:
            self._tell(before[0])
        self._wait(now, len(before))

    def _tell(self, manager: SiteId) -> None:
        self._outbox.send(manager, Wish(self._standing.base().number, tuple(sorted(self._detector.suspects))))
        for change in self._asked.changes():
            self._outbox.send(manager, change)

    def _wait(self, now: Micros, turns: int) -> None:
        """Let so many managers try first."""
        self._armed = True
        patience = self._resend_us + turns * (self._grace_us + 2 * self._resend_us)
        self._outbox.set_timer(WISH, 0, now + (patience << min(self._tries, BACKOFF_MAX)))

    def wait_for_all(self, now: Micros) -> None:
        """Let everybody try before it is this site's turn again."""
        self._wait(now, len(self._live_before()) + 1)

    def on_manager(self, now: Micros) -> None:
        """Another site is manager. Who was one in vain waits longer each time, so that they do not go on overruling one
        another where a ballot takes longer than that (a slow disk)."""
        self.wait_for_all(now)

    def on_timer(self) -> bool:
        """Whether it is this site's turn to be manager."""
        self._armed = False
        if self._is_next_decided() or not self.wants_graph():
            self._tries = 0
            return False
        self._tries += 1
        return True

    def cancel_timer(self) -> None:
        """A new graph comes."""
        self._outbox.cancel_timer(WISH, 0)

    def start_graph(self, decision: Decision) -> None:
        """The present graph is what was wanted, or is to be judged anew."""
        self.returning = set()
        for site in sorted(self.anew):
            if self.anew[site] <= incarnation_of(decision, site):
                del self.anew[site]
        for group in sorted(self.revivals):
            if not is_dead(decision, group):
                del self.revivals[group]
        self._armed = False
        self._tries = 0
        applied = dict(decision.applied)
        for asker, number in sorted(self.changes):
            if number < applied.get(asker, 0):
                del self.changes[(asker, number)]


def _is_needed(site: SiteId, decision: Decision) -> bool:
    """Whether the site is in a group."""
    for members in decision.groups:  # noqa: SIM110  (a generator would not compile to plain code)
        if site in members:
            return True
    return False
