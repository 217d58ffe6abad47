"""One graph at one site: the messages it has taken there, in order, and how far everybody has them.

Stability travels on the edges' acknowledgements. Upwards: a child says below which number its whole subtree has
everything (`settled`). Downwards: a parent says below which number everybody has everything (`stable`). A message that
a site ordered itself concerns only its own subtree, so what is settled there is stable.

    settled_index   all below the site have the entries before it
    stable_index    everybody has the entries before it; they are not kept
"""

from bisect import bisect_left

from tocsin.core.machine import GroupId, SiteId
from tocsin.protocols.propagation_graph.edges import TreeEdge
from tocsin.protocols.propagation_graph.graph import Graph
from tocsin.protocols.propagation_graph.messages import Close, Decision, Pass
from tocsin.protocols.propagation_graph.record_messages import Passed


def final_of(finals: tuple[int, ...], group: GroupId) -> int:
    """How many messages of the group count."""
    return finals[group] if group < len(finals) else 0


class Stage:
    """A graph is open here until its `closing` is in the log, as the last entry."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.number: int = graph.number
        self.parent: SiteId = graph.parent
        self.first = 0  # place of log[0]; everything before is stable
        self.log: list[Passed | None] = []  # None: the Close
        self.closing: Decision | None = None  # the next graph, once this one is closed
        self.inward: list[int] = []  # places in the log of what came from the parent and is kept
        self.inward_first = 0  # number on the parent's edge of inward[0]
        self.parent_stable = 0  # numbers on the parent's edge below are stable, says the parent
        self.early: dict[int, Pass | Close] = {}  # the wait queue, by number on the parent's edge
        self.edges: dict[SiteId, TreeEdge] = {child: TreeEdge(0) for child in graph.children}
        self.ranks: dict[GroupId, int] = {}  # next rank, by group whose messages come here
        self.own = 0  # messages ordered here
        self.last_key: tuple[int, ...] = ()  # of the last message from the parent
        self.said: tuple[int, int] = (0, 0)  # what was last acknowledged to the parent: all here, all below
        self.ended = False  # non-atomic: the next graph is decided; the edges mean nothing any more
        self.news = False  # there is something to acknowledge to the parent

    def end(self) -> int:
        return self.first + len(self.log)

    def next_inward(self) -> int:
        """The next number expected on the parent's edge."""
        return self.inward_first + len(self.inward)

    def entry(self, index: int) -> Passed | None:
        return self.log[index - self.first]

    def next_key(self, site: SiteId, sites: int) -> tuple[int, ...]:
        """The place of the next message ordered here in the one order of the graph (see passing.py)."""
        return (*self.last_key, sites - self.graph.level, site, self.own)

    def take(self, record: Passed) -> int:
        """Append a message; its place in the log. It is put on the edges to the children concerned."""
        index = self.end()
        self.log.append(record)
        if record.inward:
            self.inward.append(index)
            self.last_key = record.key
        else:
            self.own += 1
        self.ranks[record.group] = record.rank + 1
        for child in self.graph.routes.get(record.group, []):
            self.edges[child].put(index)
        return index

    def close(self, decision: Decision) -> None:
        """No more of this graph: the Close goes to all children."""
        index = self.end()
        self.log.append(None)
        self.closing = decision
        if self.parent >= 0:
            self.inward.append(index)
        for child in self.graph.children:
            self.edges[child].put(index)
        self.early = {}

    def take_back(self, finals: tuple[int, ...]) -> list[Passed]:
        """Remove everything from the first message that does not count on; what was removed, in order."""
        self.ended = True
        start = len(self.log)
        for place in range(len(self.log)):
            record = self.log[place]
            if record is not None and record.rank >= final_of(finals, record.group):
                start = place
                break
        removed = [record for record in self.log[start:] if record is not None]
        del self.log[start:]
        for place in range(len(removed) - 1, -1, -1):
            self.ranks[removed[place].group] = removed[place].rank
        return removed

    def settled_index(self) -> int:
        found = self.end()
        for child in self.graph.children:
            found = min(found, self.edges[child].first_unsettled(self.end()))
        return found

    def settled_inward(self) -> int:
        """Numbers on the parent's edge below this: the whole subtree has them."""
        return self.inward_first + bisect_left(self.inward, self.settled_index())

    def stable_index(self) -> int:
        found = self.settled_index()
        if self.parent >= 0 and self.parent_stable < self.next_inward():
            found = min(found, self.inward[max(0, self.parent_stable - self.inward_first)])
        return found

    def trim(self) -> list[Passed]:
        """Forget what everybody has; the messages forgotten."""
        stable = self.stable_index()
        gone = [record for record in self.log[: stable - self.first] if record is not None]
        del self.log[: stable - self.first]
        self.first = stable
        known = bisect_left(self.inward, stable)
        del self.inward[:known]
        self.inward_first += known
        for child in self.graph.children:
            self.edges[child].forget(stable)
        return gone

    def is_settled(self) -> bool:
        """Whether all below the site have everything."""
        return self.settled_index() == self.end()

    def is_over(self) -> bool:
        """Whether the graph is closed and everybody has all of it, and the children know."""
        if self.closing is None or self.log:
            return False
        for child in self.graph.children:  # noqa: SIM110  (a generator would not compile to plain code)
            if not self.edges[child].is_done():
                return False
        return True
