"""Verdicts over all runs, and the levels of service that they add up to (docs/guarantees.md, section 7)."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from tocsin.core.config import suggestion
from tocsin.core.errors import InputError
from tocsin.properties.finding import Finding
from tocsin.traces.rows import Row, row_object

PASS: Final = "pass"
FAIL: Final = "fail"
NOT_CHECKABLE: Final = "not checkable"

LEVELS: Final[dict[str, tuple[str, ...]]] = {}  # level: its properties, those of the levels before it included
_ADDED: Final = {
    "basic": ("integrity", "validity", "agreement"),
    "fifo": ("fifo", "single_source"),
    "causal": ("causal",),
    "agreed": ("multiple_source", "multiple_group", "acyclic", "view_synchrony"),
    "safe": ("uniform_agreement", "safe"),
}
for _level, _properties in _ADDED.items():
    LEVELS[_level] = (*next(reversed(LEVELS.values()), ()), *_properties)


class Verdict(NamedTuple):
    verdict: str  # PASS, FAIL or NOT_CHECKABLE
    checked: int
    violations: int
    witness: tuple[Row, ...] | None  # on a fail: the fewest rows that show it
    why: str | None  # on a fail: the witness in words; if not checkable: what is missing

    def to_json_object(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "checked": self.checked,
            "violations": self.violations,
            "witness": None if self.witness is None else [row_object(row) for row in self.witness],
            "why": self.why,
        }


class Report(NamedTuple):
    rows: int
    runs: int
    sites: int
    properties: dict[str, Verdict]

    def to_json_object(self) -> dict[str, Any]:
        """The answer of `tocsin check` and `tocsin audit`, as docs/formats.md has it."""
        return {
            "rows": self.rows,
            "runs": self.runs,
            "sites": self.sites,
            "properties": {name: verdict.to_json_object() for name, verdict in self.properties.items()},
        }


def merge_findings(findings: Iterable[Finding]) -> Verdict:
    """The verdict over all runs; findings come by name of the run."""
    checked = violations = 0
    smallest: Finding | None = None
    obstacle: str | None = None
    for finding in findings:
        checked += finding.checked
        violations += finding.violations
        obstacle = obstacle or finding.obstacle
        if finding.witness is not None:
            if smallest is None or len(finding.witness) < len(smallest.witness or ()):
                smallest = finding
    if smallest is not None:
        return Verdict(FAIL, checked, violations, smallest.witness, smallest.why)
    if obstacle is not None:
        return Verdict(NOT_CHECKABLE, checked, 0, None, obstacle)
    if checked == 0:
        return Verdict(NOT_CHECKABLE, 0, 0, None, "there is nothing to check in this trace")
    return Verdict(PASS, checked, 0, None, None)


def level_properties(level: str) -> tuple[str, ...]:
    if level not in LEVELS:
        raise InputError(f"level: unknown level `{level}`{suggestion(level, list(LEVELS))}")
    return LEVELS[level]


def failed_properties(report: Report, level: str) -> list[str]:
    """The properties of a level that fail."""
    return [name for name in level_properties(level) if _verdict(report, name) == FAIL]


def unchecked_properties(report: Report, level: str) -> list[str]:
    """The properties of a level that the trace says too little about."""
    return [name for name in level_properties(level) if _verdict(report, name) == NOT_CHECKABLE]


def level_holds(report: Report, level: str) -> bool:
    """Whether no property of a level fails; see `unchecked_properties` for what that leaves open."""
    return not failed_properties(report, level)


def _verdict(report: Report, name: str) -> str:
    verdict = report.properties.get(name)
    return NOT_CHECKABLE if verdict is None else verdict.verdict
