"""What a site was told that it will never get: the range of a `missed` row (docs/guarantees.md, section 7)."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple


class Gap(NamedTuple):
    """Numbers of one origin, or places in the group's sequence (of one origin's messages, if there is one)."""

    group: str
    origin: str | None
    by_position: bool
    first: int
    end: int  # one more than the last, where no number between belongs to another group

    def covers(self, origin: str, seqno: int, position: int | None, numbers: Sequence[int] = ()) -> bool:
        """Whether it names this message of its group; `numbers`: those of its stream, in order."""
        if self.origin is not None and self.origin != origin:
            return False
        if self.by_position:
            return position is not None and self.first <= position < self.end
        return self.first <= seqno < self.end_among(numbers)

    def end_among(self, numbers: Sequence[int]) -> int:
        """One more than the last number that is meant: so many messages of a stream, whose numbers may have holes."""
        behind = bisect_left(numbers, self.first) + self.end - self.first
        return self.end if behind == 0 or behind > len(numbers) else max(self.end, numbers[behind - 1] + 1)


def gap_of(
    group: str | None, origin: str | None, seqno: int | None, position: int | None, size: int | None
) -> Gap | None:
    """The range that a `missed` row names; None if it names none, and so excuses nothing."""
    if group is None or size is None or size < 1:
        return None
    if origin is not None and seqno is not None:
        return Gap(group, origin, False, seqno, seqno + size)
    return None if position is None else Gap(group, origin, True, position, position + size)
