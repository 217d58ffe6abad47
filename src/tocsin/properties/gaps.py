"""What a site was told that it will never get: the range of a `missed` row (docs/guarantees.md, section 7)."""

from typing import NamedTuple


class Gap(NamedTuple):
    """Numbers of one origin, or places in the group's sequence (of one origin's messages, if there is one)."""

    group: str
    origin: str | None
    by_position: bool
    first: int
    end: int  # one more than the last

    def covers(self, origin: str, seqno: int, position: int | None) -> bool:
        """Whether it names this message of its group."""
        if self.origin is not None and self.origin != origin:
            return False
        number = position if self.by_position else seqno
        return number is not None and self.first <= number < self.end


def gap_of(
    group: str | None, origin: str | None, seqno: int | None, position: int | None, size: int | None
) -> Gap | None:
    """The range that a `missed` row names; None if it names none, and so excuses nothing."""
    if group is None or size is None:
        return None
    if origin is not None and seqno is not None:
        return Gap(group, origin, False, seqno, seqno + size)
    return None if position is None else Gap(group, origin, True, position, position + size)
