"""The broadcasts of one root to one group: its tree, what this site has of them, and those not known to be complete."""

from bisect import bisect_left
from typing import Final

from tocsin.core.machine import RENEWAL_GAP, GroupId, SiteId
from tocsin.planning.strategies import Strategy
from tocsin.protocols.tree_ack.instance import Instance
from tocsin.protocols.tree_ack.messages import Data

BACKOFF_MAX: Final = 3  # doublings of the time between two resends

NEVER: Final = -(1 << 62)
NO_JUMP: Final = (-1, 0, -1)


class Stream:
    """Numbers of a stream increase; with several groups they have gaps, so each message names the one before it."""

    def __init__(
        self, group: GroupId, origin: SiteId, participants: list[SiteId], members: list[SiteId], plan: Strategy
    ) -> None:
        self.group = group
        self.origin = origin
        self.participants = participants  # sorted: the members, and the root
        self.members = members  # sorted
        self.last = -1  # newest number delivered (or missed) here without a gap (at a root outside the group: sent)
        self.count = 0  # the stream's messages up to `last`
        self.done = 0  # all smaller numbers are known to be complete
        self.stable = 0  # all smaller numbers are at every member; at most `done`
        self.floor = -1  # newest number trimmed from our log; below `stable`
        self.floor_count = 0  # the stream's messages up to `floor`
        self.void = (-1, 0)  # numbers between these are nobody's: their origin has lost them, and those before them
        self.jump = NO_JUMP  # where its origin had begun anew: newest number here and count before that, number after
        self.instances: dict[int, Instance] = {}  # by number, all at least `done`
        self.held: dict[int, Data] = {}  # received, durable, waiting for an earlier one; all above `last`
        self.behind: dict[SiteId, int] = {}  # at the root: members that may lack messages, from this number on
        self.said: dict[
            SiteId, int
        ] = {}  # at the root: of those, who has said since then what it has, the newest number
        self.untold: set[SiteId] = set()  # at the root: members that have not confirmed what was announced last …
        self.announced = (-1, -1)  # … the newest complete number, and what is stable
        self.told_at = NEVER  # at the root: when that was last announced …
        self.is_stray_known = False  # at the root: that somebody has what comes after a message that is lost
        self.tellings = 0  # … and how often, since it is so or somebody is back
        self.resend_armed = False
        self.backoff = 0  # doublings of the resend time since the last progress
        self._plan = plan
        self._root_index = bisect_left(participants, origin)
        self._below: dict[SiteId, set[SiteId]] = {}  # by site that was asked for

    def successors(self, site: SiteId) -> list[SiteId]:
        """The paper's SUCC({site}), in sending order."""
        count = len(self.participants)
        name = (bisect_left(self.participants, site) - self._root_index) % count + 1
        return [self.participants[(other - 1 + self._root_index) % count] for other in self._plan.successors(name)]

    def is_below(self, site: SiteId, above: SiteId) -> bool:
        """Whether a site is in SUCC+ of another one."""
        below = self._below.get(above)
        if below is None:
            below = set()
            ahead = self.successors(above)
            while ahead:
                other = ahead.pop()
                below.add(other)
                ahead.extend(self.successors(other))
            self._below[above] = below
        return site in below

    def has(self, seqno: int) -> bool:
        """The paper's rec(i, m)."""
        return seqno <= self.last or seqno in self.held

    def step_to(self, seqno: int) -> None:
        """The next message is here."""
        if seqno - self.last > RENEWAL_GAP // 2:
            self.jump = (self.last, self.count, seqno)
        self.last = seqno
        self.count += 1

    def before_jump(self) -> tuple[int, int]:
        """The newest number before the origin began anew, if we have messages from after that, and the count there."""
        return (self.last, self.count) if self.jump == NO_JUMP else (self.jump[0], self.jump[1])

    def skip_in_jump(self, before: int, count: int) -> int:
        """A member had more of an origin that has begun anew since, and neither it nor we knew of it: how many messages
        we went on without."""
        lost = count - self.jump[1]
        if not self.jump[0] < before < self.jump[2] or not 0 < lost <= before - self.jump[0]:
            return 0
        self.jump = (before, count, self.jump[2])
        self.count += lost
        return lost

    def is_void(self, seqno: int) -> bool:
        return self.void[0] < seqno < self.void[1]

    def numbers(self) -> list[int]:
        """The open instances' numbers, in increasing order."""
        return sorted(self.instances)

    def missing_complete(self) -> int:
        """The newest number that is complete, that we lack, and without which we hold others back; -1 if none."""
        if not self.held:
            return -1
        previous = self.held[min(self.held)].previous
        return previous if self.last < previous < self.done else -1

    def leave_behind(self, site: SiteId, first: int) -> None:
        """At the root: a member may lack messages from this number on."""
        self.behind[site] = min(self.behind.get(site, first), first)
        self.said.pop(site, None)

    def note_said(self, site: SiteId, last: int) -> None:
        """At the root: a member that may lack messages says that it has all up to this one."""
        if last + 1 >= self.done:
            del self.behind[site]
            self.said.pop(site, None)
        else:
            self.behind[site] = max(self.behind[site], last + 1)
            self.said[site] = last

    def lost(self, last: int) -> tuple[int, int] | None:
        """At a root outside the group, for a member that has all up to `last`: the newest complete message after it,
        and the stream's messages up to that, if no member has one of those any more; None unless all have said so."""
        newest = self.done - 1
        if last >= newest or len(self.said) < len(self.members) or max(self.said.values()) > last:
            return None
        return newest, self.count - len([seqno for seqno in self.instances if seqno > newest])

    def settle_stable(self, retain: int) -> None:
        """At the root: what is complete is stable up to the first number that somebody may lack, and nobody is waited
        for with more than `retain` numbers."""
        stable = self.done
        for first in self.behind.values():
            if first < stable:
                stable = first
        stable = max(stable, min(self.done, self.last + 1 - retain))
        if stable > self.stable:
            self.stable = stable
