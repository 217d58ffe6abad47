"""What one property finds in one run."""

from typing import NamedTuple

from tocsin.traces.rows import Row


class Finding(NamedTuple):
    """How much was examined, how much of it offends, the smallest evidence, and what stood in the way."""

    checked: int
    violations: int = 0
    evidence: tuple[Row, ...] | None = None  # with violations: the fewest rows that show one
    why: str | None = None  # with violations: the evidence in words
    obstacle: str | None = None  # what the run lacks for a verdict, violations aside
    unasked: int = 0  # what would have been examined, if anybody could be asked for it
