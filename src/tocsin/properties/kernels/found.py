"""What one property finds in one run or slice; slices of a run are added up."""

from dataclasses import dataclass, field

from tocsin.properties.kernels.facts import Spot


@dataclass(slots=True)
class Found:
    """`parts`: where violations are streams, groups or pairs of groups, their names, so that no two slices
    count one.
    """

    checked: int = 0
    violations: int = 0
    witness: tuple[Spot, ...] | None = None  # the fewest rows that show a violation
    why: str | None = None  # the witness in words
    parts: set[tuple[str, ...]] = field(default_factory=set)
    at_least: bool = False  # there may be more violations
    unasked: int = 0  # what would have been examined, if anybody could be asked for it

    def add(self, other: "Found") -> None:
        self.checked += other.checked
        self.unasked += other.unasked
        self.parts |= other.parts
        self.violations = len(self.parts) if self.parts else self.violations + other.violations
        if other.witness is not None and (self.witness is None or len(other.witness) < len(self.witness)):
            self.witness, self.why = other.witness, other.why
