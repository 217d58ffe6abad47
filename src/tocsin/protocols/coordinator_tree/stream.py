"""The broadcasts of one origin to one group, as one site sees them.

Messages are numbered 0, 1, 2, … within a stream. `Stream` holds what this site has and knows; `Seat` holds its place in
the stream's coordinator tree.
"""

from typing import Final

from tocsin.core.machine import GroupId, SiteId
from tocsin.core.rangeset import RangeSet
from tocsin.protocols.coordinator_tree.fills import Fills

NIL: Final = -1  # the paper's NIL


class Kept:
    """A message that can be sent again."""

    def __init__(self, seqno: int, payload: bytes, position: int) -> None:
        self.seqno = seqno
        self.payload = payload
        self.position = position  # in the group's delivery log; NIL while it is not there


class Descendant:
    """A host below this one in the tree: the paper's M_j."""

    def __init__(self) -> None:
        self.have = RangeSet()  # only grows
        self.age = 0  # periods since its last report


class Seat:
    """A site's place in the coordinator tree of one stream."""

    def __init__(self) -> None:
        self.alarm = False  # a failure was detected and is not over: silence of the source, or a gap
        self.coordinator: SiteId = NIL  # the paper's COORD(i)
        self.parent: SiteId = NIL  # the host of our list that answered, NIL for a root; an edge of the tree
        self.confirmed = False  # the coordinator, another host, has announced itself to us
        self.unheard = 0  # periods since then, at most `patience`
        self.probing = False
        self.fresh = False  # the last probe is younger than the running PROBE timer
        self.order: list[SiteId] = []  # the priority list in the order of this search
        self.next_probe = 0  # place in `order`; wraps around
        self.below: dict[SiteId, Descendant] = {}  # the paper's DESC(i) without i itself
        self.fills = Fills()
        self.filling = False  # the FILL timer runs
        self.gap_at = NIL  # the number that was missing when the GAP timer was set; NIL while it does not run
        self.requested = RangeSet()  # asked for in this period …
        self.requested_before = RangeSet()  # … and in the one before
        self.ask_window = 0  # so many numbers may be asked for and not be here; 0: not yet known
        self.alone = 0  # periods without a coordinator and without the source


class Stream:
    """What one site has and knows of a stream."""

    def __init__(
        self,
        group: GroupId,
        origin: SiteId,
        key: int,
        hosts: list[SiteId],
        members: list[SiteId],
        priorities: list[SiteId],
    ) -> None:
        self.group = group
        self.origin = origin
        self.key = key  # of its timers
        self.hosts = hosts  # sorted; the members of the group and the origin
        self.members = members  # of the group
        self.priorities = priorities  # the paper's PL(i), in its static order; its members never change
        self.above: frozenset[SiteId] = frozenset(priorities)
        self.received = RangeSet()  # numbers; persisted. Missed ones count as received
        self.height = 0  # messages known to exist: all numbers below it
        self.kept: dict[int, Kept] = {}
        self.kept_numbers = RangeSet()  # the keys of `kept`
        self.edges: dict[int, int] = {}  # by number that is no longer kept, and after which one is lacking: its seqno
        self.next_delivery = 0  # FIFO: every smaller number was delivered or missed
        self.stable = 0  # everybody has the messages below
        self.told_stable = 0  # what the source said last; lower after it has crashed
        self.floor = 0  # messages below are no longer kept here
        self.silent = 0  # periods without a word from the source, at most `silence`
        self.spoken = False  # own stream: data was sent in this period
        self.has: dict[SiteId, int] = {}  # own stream, by member: the prefix it reported
        self.overdue: dict[
            SiteId, int
        ] = {}  # own stream, by member: periods since it reported, while it lacks something
        self.reported = 0  # the prefix that we reported last
        self.seat = Seat()

    def prefix(self) -> int:
        """Every message below is here."""
        return self.received.next_missing(0)

    def has_gaps(self) -> bool:
        return self.received.next_missing(0) < self.height

    def learn_height(self, height: int) -> None:
        if height > self.height:
            self.height = height

    def keep(self, number: int, kept: Kept) -> None:
        self.kept[number] = kept
        self.kept_numbers.add(number)

    def drop_below(self, bound: int) -> None:
        """Forget messages below a number, those too that came only after others as old as they were forgotten; work in
        proportion to what is forgotten."""
        if bound > self.floor:
            self.floor = bound
        elif not self.kept or self.kept_numbers.first() >= bound:
            return
        for start, end in self.kept_numbers.ranges():
            if start >= bound:
                break
            for number in range(start, min(end, bound)):
                self.note_edge(number, self.kept.pop(number).seqno)
        self.kept_numbers.remove_range(0, bound)

    def note_edge(self, number: int, seqno: int) -> None:
        """Should what comes after it be missed, the application is told from which of the source's numbers on."""
        if not self.received.contains(number + 1):
            self.edges[number] = seqno

    def seqno_before(self, number: int) -> int:
        """The seqno of the message before one that is lacking; NIL if there was none or it is not known."""
        before = self.kept.get(number - 1)
        return before.seqno if before is not None else self.edges.get(number - 1, NIL)

    def forget_edges(self) -> None:
        """Those that are none any more: what came after them has come or was missed, or they are kept."""
        for number in sorted(self.edges):
            if number in self.kept or self.received.contains(number + 1):
                del self.edges[number]

    def forget(self, number: int) -> None:
        if self.kept_numbers.remove(number):
            del self.kept[number]

    def drop_oldest(self, retain: int, limit: int) -> bool:
        """Keep at most `retain` messages, and all from number `limit` on; whether any had to go."""
        excess = len(self.kept) - retain
        if excess <= 0:
            return False
        bound = 0
        for start, end in self.kept_numbers.ranges():
            bound = min(end, start + excess)
            excess -= bound - start
            if excess == 0:
                break
        self.drop_below(min(bound, limit))
        return True
