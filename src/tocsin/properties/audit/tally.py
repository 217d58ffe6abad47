"""Verdicts over many runs, added up in any order: sums, the smallest witness, the first obstacle: one that has a
cure before what the trace lacks, then by name of the run.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tocsin.properties.kernels.facts import RunFacts, Spot
from tocsin.properties.kernels.found import Found
from tocsin.properties.report import FAIL, NOT_CHECKABLE, PROPERTIES, Verdict, without_violation
from tocsin.traces.rows import Row

AT_LEAST = "there are at least so many violations: a run was too large to be opened at once"


@dataclass(slots=True)
class Evidence:
    """The smallest witness so far, and the run it is of."""

    run: str
    spots: tuple[Spot, ...]
    why: str

    def rank(self) -> tuple[int, str]:
        return len(self.spots), self.run


@dataclass(slots=True)
class PropertyTally:
    checked: int = 0
    violations: int = 0
    evidence: Evidence | None = None
    obstacle: tuple[bool, str, str] | None = None  # whether the trace lacks something, run, what stood in the way
    at_least: bool = False  # there may be more violations
    unasked: int = 0  # what nobody was asked for

    def add(self, other: "PropertyTally") -> None:
        self.checked += other.checked
        self.violations += other.violations
        self.at_least |= other.at_least
        self.unasked += other.unasked
        if other.evidence is not None:
            if self.evidence is None or other.evidence.rank() < self.evidence.rank():
                self.evidence = other.evidence
        if other.obstacle is not None:
            self.obstacle = other.obstacle if self.obstacle is None else min(self.obstacle, other.obstacle)


@dataclass(slots=True)
class Tally:
    """What some runs together say of every property."""

    properties: dict[str, PropertyTally] = field(default_factory=lambda: {name: PropertyTally() for name in PROPERTIES})

    def note(self, facts: RunFacts, found: Mapping[str, Found], obstacles: Mapping[str, str] | None = None) -> None:
        """Add one run. What it lacks only matters for properties without a violation.

        `obstacles`: what else stood in the way, by property.
        """
        for name, each in found.items():
            tally = PropertyTally(each.checked, at_least=each.at_least, unasked=each.unasked)
            too_much, lacking = (obstacles or {}).get(name), facts.obstacle(name)
            if too_much is not None:
                tally.obstacle = (False, facts.run, too_much)
            elif lacking is not None:
                tally.obstacle = (True, facts.run, lacking)
            if each.witness is not None and not facts.is_unknowable(name):
                tally.violations = each.violations
                tally.evidence = Evidence(facts.run, each.witness, each.why or "")
            self.properties[name].add(tally)

    def add(self, other: "Tally") -> None:
        for name, tally in other.properties.items():
            self.properties[name].add(tally)

    def verdicts(self, rows: Mapping[tuple[str, Spot], Row], lost: Mapping[str, str]) -> dict[str, Verdict]:
        """`rows`: those of all witnesses. `lost`: by property, why nothing can be known of it."""
        return {name: _verdict(tally, rows, lost.get(name)) for name, tally in self.properties.items()}

    def wanted_rows(self) -> dict[str, list[Spot]]:
        """By run: the rows of all witnesses."""
        wanted: dict[str, list[Spot]] = {}
        for tally in self.properties.values():
            if tally.evidence is not None:
                wanted.setdefault(tally.evidence.run, []).extend(tally.evidence.spots)
        return wanted


def _verdict(tally: PropertyTally, rows: Mapping[tuple[str, Spot], Row], lost: str | None) -> Verdict:
    if lost is not None:
        return Verdict(NOT_CHECKABLE, 0, 0, None, lost)
    if tally.evidence is not None:
        evidence = tuple(rows[tally.evidence.run, spot] for spot in tally.evidence.spots)
        why = f"{tally.evidence.why} ({AT_LEAST})" if tally.at_least else tally.evidence.why
        return Verdict(FAIL, tally.checked, tally.violations, evidence, why)
    return without_violation(tally.checked, None if tally.obstacle is None else tally.obstacle[2], tally.unasked)
