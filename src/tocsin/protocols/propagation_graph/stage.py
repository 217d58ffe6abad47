"""One graph at one site: the messages it has taken there, in order, and how far everybody has them.

Stability travels on the edges' acknowledgements. Upwards: a child says below which number its whole subtree has
everything (`settled`). Downwards: a parent says below which number everybody has everything (`stable`). A message that
a site ordered itself concerns only its own subtree, so what is settled there is stable.

    settled_index   all below the site have the entries before it
    stable_index    everybody has the entries before it; they are not kept

A graph is open here until it is closed (atomic: the Close is in the log, as its last entry) or the site has stopped
(non-atomic: it has reported what it has, and the next graph is being decided).
"""

from tocsin.core.machine import GroupId, SiteId
from tocsin.protocols.propagation_graph.edges import TreeEdge
from tocsin.protocols.propagation_graph.graph import Graph
from tocsin.protocols.propagation_graph.in_edge import InEdge
from tocsin.protocols.propagation_graph.messages import Decision
from tocsin.protocols.propagation_graph.records import Closed, Passed, Staged


def final_of(finals: tuple[int, ...], group: GroupId) -> int:
    """How many messages of the group count."""
    return finals[group] if group < len(finals) else 0


class Stage:
    """The log of one graph, and its edges."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.number: int = graph.number
        self.parent: SiteId = graph.parent
        self.first = 0  # place of log[0]; everything before is stable
        self.log: list[Passed | None] = []  # None: the Close
        self.closing: Decision | None = None  # the next graph, once this one is closed
        self.stopped = False  # non-atomic: this site has reported, and takes nothing more in this graph
        self.ended = False  # non-atomic: the next graph is decided; the edges mean nothing any more
        self.inward = InEdge(0)  # of a root: nothing comes
        self.edges: dict[SiteId, TreeEdge] = {child: TreeEdge(0) for child in graph.children}
        self.ranks: dict[GroupId, int] = {}  # next rank, by group whose messages come here
        self.own = 0  # messages ordered here
        self.last_key: tuple[int, ...] = ()  # of the last message from the parent

    def end(self) -> int:
        return self.first + len(self.log)

    def is_open(self) -> bool:
        return self.closing is None and not self.stopped

    def entry(self, index: int) -> Passed | None:
        return self.log[index - self.first]

    def oldest(self) -> Passed | None:
        """The first message that is kept, if that is one."""
        return self.log[0] if self.log else None

    def rank(self, group: GroupId) -> int:
        """The next rank in the group: so many of its messages are here."""
        return self.ranks.get(group, 0)

    def next_key(self, site: SiteId, sites: int) -> tuple[int, ...]:
        """The place of the next message ordered here in the one order of the graph (see order.py)."""
        return (*self.last_key, sites - self.graph.level, site, self.own)

    # What happens to a graph

    def take(self, record: Passed) -> int:
        """Append a message; its place in the log. It is put on the edges to the children concerned."""
        index = self.end()
        self.log.append(record)
        if record.inward:
            self.inward.put(index)
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
            self.inward.put(index)
        for child in self.graph.children:
            self.edges[child].put(index)
        self.inward.forget_early()

    def stop(self) -> None:
        self.stopped = True

    def take_back(self, finals: tuple[int, ...]) -> list[Passed]:
        """The next graph is decided: remove everything from the first message that does not count on; what was removed,
        newest first."""
        self.stopped = True
        self.ended = True
        start = len(self.log)
        for place in range(len(self.log)):
            record = self.log[place]
            if record is not None and record.rank >= final_of(finals, record.group):
                start = place
                break
        removed = [record for record in self.log[start:] if record is not None]
        removed.reverse()
        del self.log[start:]
        for record in removed:
            self.ranks[record.group] = record.rank
        return removed

    # Who has what

    def settled_index(self) -> int:
        found = self.end()
        for child in self.graph.children:
            found = min(found, self.edges[child].first_unsettled(self.end()))
        return found

    def settled_inward(self) -> int:
        """Numbers on the parent's edge below this: the whole subtree has them."""
        return self.inward.settled(self.settled_index())

    def stable_index(self) -> int:
        found = self.settled_index()
        return min(found, self.inward.first_unstable(found)) if self.parent >= 0 else found

    def trim(self) -> list[Passed]:
        """Forget what everybody has; the messages forgotten."""
        stable = self.stable_index()
        gone = [record for record in self.log[: stable - self.first] if record is not None]
        del self.log[: stable - self.first]
        self.first = stable
        self.inward.forget(stable)
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

    # Checkpoints

    def fold(self) -> Staged:
        """What a checkpoint keeps beside the messages in the log, which follow it and are taken again."""
        floors = [(child, self.edges[child].floor) for child in self.graph.children]
        own = self.own
        for entry in self.log:
            if entry is not None and not entry.inward:
                own -= 1
        ranks = tuple(sorted(self.ranks.items()))
        return Staged(self.graph.decision, ranks, own, self.last_key, self.inward.floor, tuple(floors))

    def recall_closed(self, record: Closed) -> None:
        if record.is_kept:
            self.close(record.decision)
        else:
            self.closing = record.decision

    def recall(self, record: Staged) -> None:
        """Go back to what `fold` kept; what the other ends of the edges have is heard again from them."""
        self.own = record.own
        self.last_key = record.last_key
        self.inward = InEdge(record.inward)
        for group, rank in record.ranks:
            self.ranks[group] = rank
        for child, floor in record.floors:
            self.edges[child] = TreeEdge(floor)
