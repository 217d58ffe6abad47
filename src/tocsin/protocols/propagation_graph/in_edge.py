"""The receiving end of the edge from the parent: what has come over it, what has come too early, what was answered."""

from bisect import bisect_left

from tocsin.protocols.propagation_graph.messages import Close, Pass


class InEdge:
    """Messages are taken in the order of their numbers; those that come early wait."""

    def __init__(self, start: int) -> None:
        self.items: list[int] = []  # places in the log of what came and is kept, increasing
        self.floor = start  # number of the message at items[0]; those below are stable and not kept
        self.stable = start  # everybody has the messages below, says the parent; never above `following()`
        self.early: dict[int, Pass | Close] = {}  # the wait queue, by number; none below `following()`
        self.said: tuple[int, int] = (0, 0)  # what was last acknowledged: all here, all below
        self.owes_ack = False  # there is something to acknowledge

    def following(self) -> int:
        """The next number expected."""
        return self.floor + len(self.items)

    def put(self, index: int) -> None:
        """The message with the number `following()` was taken, at this place in the log."""
        self.items.append(index)

    def put_early(self, number: int, message: Pass | Close) -> None:
        self.early[number] = message

    def pop_early(self, number: int) -> None:
        del self.early[number]

    def forget_early(self) -> None:
        self.early = {}

    def hear_stable(self, stable: int) -> None:
        """What the parent says of stability; it cannot know of more than has come."""
        if stable <= self.following():
            self.stable = max(self.stable, stable)

    def settled(self, index: int) -> int:
        """The number below which all messages are before this place in the log."""
        return self.floor + bisect_left(self.items, index)

    def first_unstable(self, log_end: int) -> int:
        """The place in the log of the first message that somebody elsewhere may lack."""
        return self.items[max(0, self.stable - self.floor)] if self.stable < self.following() else log_end

    def forget(self, index: int) -> None:
        """Entries of the log below this place are stable."""
        drop = bisect_left(self.items, index)
        del self.items[:drop]
        self.floor += drop

    def has_news(self, settled: int) -> bool:
        """Whether more is here, or all below have more, than was last acknowledged."""
        return self.said != (self.following(), settled)

    def owe_ack(self) -> None:
        self.owes_ack = True

    def acknowledge(self, settled: int) -> None:
        """An acknowledgement goes out, of all that is here."""
        self.owes_ack = False
        self.said = (self.following(), settled)
