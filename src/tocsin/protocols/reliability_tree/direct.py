"""What a process sees of one neighbour by its heartbeats (Algorithm 4, events 1 and 2).

A heartbeat that arrives is a success of the link, a number that was left out a failure; line 19 of the paper as
printed counts the arrival itself as a loss (ERRATA, and docs/protocols/reliability_tree.md). Suspicions count as
failures only until the neighbour is heard again: then the numbers say what was lost, and suspicions are taken back
exactly.

Time is counted in our own heartbeats, not in microseconds: the neighbour's come at the same rate.

The way to the neighbour is what it says of it. Whoever has just begun a life, we or it, cannot have been heard, or have
heard, in it: then the way counts as it was before, with a loss for each heartbeat of ours that is not answered, until
the neighbour says that it hears us, or has had `vanish_after` of them without saying so.
"""

from typing import Final

from tocsin.core.machine import SiteId
from tocsin.protocols.reliability_tree.beliefs import Evidence

TIMEOUT_FIRST: Final = 1  # heartbeats of ours without one of theirs before we suspect; the paper's delta
TIMEOUT_MAX: Final = 64
WINDOW: Final = 60  # numbers below the greatest of which we know whether they arrived: late is not lost
ALL_ARRIVED: Final = (1 << WINDOW) - 1
LOST_MAX: Final = 4_096  # losses that one arrival can tell of; a neighbour silent for longer has vanished before


class Direct:
    """A neighbour, and the link to it."""

    def __init__(self, site: SiteId, index: int, memory: int, vanish_after: int) -> None:
        self.site = site
        self.index = index  # its place among the neighbours
        self.evidence = Evidence(memory)  # of the way from it to us, without suspicions
        self.heard = False  # since the start, or since it vanished
        self.expected = False  # it was there before our crash, and was not yet heard after it
        self.suspected = 0  # suspicions since it was last heard (the paper's `suspected`)
        self.timeout = TIMEOUT_FIRST  # grows when suspicions prove false
        self.peer_successes = 0  # what it says of the way from us to it; 0: it does not hear us
        self.peer_failures = 0
        self._before = (0, 0)  # successes and failures of the way to it as it was before one of us began a life
        self._unanswered = 0  # our heartbeats since then, while it was heard
        self.have = 0  # its changes that we hold, of its present life
        self.acknowledged = 0  # our changes that it holds
        self._life = 0  # the greatest it was heard in; 0 before
        self._seqno = 0  # the greatest heard in that life
        self._arrived = 0  # bit i: number _seqno - i arrived
        self._silent = 0  # our heartbeats since it was heard, or last suspected
        self._unheard = 0  # our heartbeats since it was heard; up to when it vanished
        self._gone_with = (0, 0)  # successes and failures of the way from it, when it vanished
        self._vanish_after = vanish_after

    def life(self) -> int:
        return self._life

    def is_newest(self, life: int, seqno: int) -> bool:
        return life == self._life and seqno == self._seqno

    def on_heartbeat(self, life: int, seqno: int) -> bool:
        """Event 1: number `seqno` of that life arrived. False for one that tells nothing: a repeat, or too old."""
        if life < 1 or seqno < 1:
            return False  # no process of ours counts like that
        if life < self._life or (life == self._life and seqno <= self._seqno):
            return self._maybe_late(life, seqno)
        lost = seqno - self._seqno - 1 if life == self._life else seqno - 1
        if life > self._life:
            self._begin_again()
            self.have = 0
            self.acknowledged = 0
        if not self.heard:  # what was before we cannot tell, and late ones of it are not ours to count
            lost = self._lost_before_it_vanished(lost) if life == self._life else 0
            self._arrived = ALL_ARRIVED
        lost = min(lost, LOST_MAX)
        self._arrived = ((self._arrived << (lost + 1)) | 1) & ALL_ARRIVED if lost < WINDOW else 1
        if self.suspected - lost > 1 and self.timeout < TIMEOUT_MAX:
            self.timeout += 1  # line 23: we were hasty
        self.evidence.add(1, lost)
        self.suspected = 0
        self.heard = True
        self.expected = False
        self._life = life
        self._seqno = seqno
        self._silent = 0
        self._unheard = 0
        return True

    def _lost_before_it_vanished(self, lost: int) -> int:
        """It was taken for gone, and went on all the time. Was it cut off, or does the link lose so much? What was not
        heard until it was taken for gone counts as lost; what came later is not, or a cut would be held against it."""
        self.evidence.add(self._gone_with[0], self._gone_with[1])
        return min(lost, self._unheard)

    def _begin_again(self) -> None:
        """The neighbour begins a life: what it says of the way to it, it says when it has heard us in it."""
        if self.works():
            self._before = (self.peer_successes, self.peer_failures)
            self._unanswered = 0

    def recall(self, successes: int, failures: int) -> None:
        """We begin a life. A link that was there before is there still, until its silence shows that it is not; of the
        way to the neighbour counts what was seen of the way back."""
        self.evidence.add(successes, failures)
        self.expected = successes > 0
        self._before = (successes, failures)

    def on_answer(self, successes: int, failures: int, has_heard_us: bool) -> None:
        """What the neighbour says of the way to it, and whether it says so after it heard us in our present life."""
        self.peer_successes = successes
        self.peer_failures = failures
        if successes > 0 or has_heard_us:
            self._before = (0, 0)

    def _maybe_late(self, life: int, seqno: int) -> bool:
        """Count one that was overtaken as arrived, once."""
        behind = self._seqno - seqno
        if life != self._life or behind >= WINDOW or not self.heard:
            return False
        bit = 1 << behind
        if self._arrived & bit:
            return False
        self._arrived |= bit
        self.evidence.take_back_failure()
        self.evidence.add(1, 0)
        return True

    def on_tick(self) -> bool:
        """Event 2: a heartbeat of ours passes. Whether the neighbour is (again) suspected."""
        if not self.is_there():
            return False
        if self.heard and self._before[0] > 0:
            self._unanswered += 1
            if self._unanswered >= self._vanish_after:
                self._before = (0, 0)
        self._silent += 1
        self._unheard += 1
        if self._silent <= self.timeout:
            return False
        self._silent = 0
        self.suspected += 1
        return True

    def maybe_vanish(self) -> bool:
        """Take a neighbour that was suspected too often for gone; if it comes back in another life, its link is a new
        one."""
        if self.suspected < self._vanish_after:
            return False
        self._gone_with = (self.evidence.successes, self.evidence.failures)
        self.evidence.clear()
        self.heard = False
        self.expected = False
        self.suspected = 0
        self.timeout = TIMEOUT_FIRST
        self.peer_successes = 0
        self.peer_failures = 0
        self._before = (0, 0)
        return True

    def is_there(self) -> bool:
        """Whether it was heard, or is expected to be soon."""
        return self.heard or self.expected

    def works(self) -> bool:
        """Whether both hear each other."""
        return self.heard and self.peer_successes > 0

    def way_to(self) -> tuple[int, int]:
        """Successes and failures of the way to it, as it says or as they were before; no successes: there is none."""
        if self.works():
            return self.peer_successes, self.peer_failures
        successes, failures = self._before
        return (successes, failures + self.suspected + self._unanswered) if successes > 0 else (0, 0)

    def failures(self) -> int:
        """Of the way from it to us: losses, and what we suspect to be lost."""
        return self.evidence.failures + self.suspected
