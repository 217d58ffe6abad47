"""All properties by their plain definitions: `check_rows`."""

from collections.abc import Callable, Iterable
from typing import Final

from tocsin.properties.plain.causal import find_causal
from tocsin.properties.plain.finding import Finding
from tocsin.properties.plain.history import Run, gather
from tocsin.properties.plain.integrity import find_integrity
from tocsin.properties.plain.members import Members
from tocsin.properties.plain.order import (
    find_acyclic,
    find_fifo,
    find_multiple_group,
    find_multiple_source,
    find_single_source,
)
from tocsin.properties.plain.owed import find_agreement, find_uniform_agreement, find_validity
from tocsin.properties.plain.safe import find_safe
from tocsin.properties.plain.settled import find_settled
from tocsin.properties.plain.view_synchrony import find_view_synchrony
from tocsin.properties.report import FAIL, Report, Verdict, chosen_properties, without_violation
from tocsin.properties.terms import Groups, Patience, Terms
from tocsin.traces.calm import Calm
from tocsin.traces.rows import Row

_OF_ROWS: Final[dict[str, Callable[[Run], Finding]]] = {
    "integrity": find_integrity,
    "fifo": find_fifo,
    "causal": find_causal,
    "single_source": find_single_source,
    "multiple_source": find_multiple_source,
    "multiple_group": find_multiple_group,
    "acyclic": find_acyclic,
}
_OF_MEMBERS: Final[dict[str, Callable[[Run, Members], Finding]]] = {
    "validity": find_validity,
    "agreement": find_agreement,
    "uniform_agreement": find_uniform_agreement,
    "safe": find_safe,
    "view_synchrony": find_view_synchrony,
    "settled": find_settled,
}


def check_rows(
    rows: Iterable[Row],
    groups: Groups | None = None,
    *,
    one_clock: bool = False,
    properties: Iterable[str] | None = None,
    calm: Calm | None = None,
    patience: Patience | None = None,
) -> Report:
    """Check the properties (all, or those named) of a trace.

    The rows of each log come in their `order`. `groups`: the members of groups, where no view says it. `one_clock`:
    whether times of different sites can be compared, as in the simulator. `calm`: since when faults were over.
    `patience`: what is not owed yet, because members are running.
    """
    return judge_rows(rows, Terms(groups or {}, one_clock, patience, calm), properties)


def judge_rows(rows: Iterable[Row], terms: Terms, properties: Iterable[str] | None = None) -> Report:
    """The same, by these terms."""
    names = chosen_properties(properties)
    gathered = gather(rows)
    findings: dict[str, list[Finding]] = {name: [] for name in names}
    for name in sorted(gathered.runs):
        run = Run(name, gathered.runs[name].values(), terms)
        members = Members(run)
        for each in names:
            found = _OF_ROWS[each](run) if each in _OF_ROWS else _OF_MEMBERS[each](run, members)
            findings[each].append(found)
    verdicts = {name: _merge(findings[name]) for name in names}
    return Report(gathered.rows, len(gathered.runs), gathered.sites(), verdicts)


def _merge(findings: Iterable[Finding]) -> Verdict:
    """The verdict over all runs; findings come by name of the run."""
    checked = violations = unasked = 0
    smallest: Finding | None = None
    obstacle: str | None = None
    for finding in findings:
        checked += finding.checked
        violations += finding.violations
        unasked += finding.unasked
        obstacle = obstacle or finding.obstacle
        if finding.evidence is not None:
            if smallest is None or len(finding.evidence) < len(smallest.evidence or ()):
                smallest = finding
    if smallest is None:
        return without_violation(checked, obstacle, unasked)
    return Verdict(FAIL, checked, violations, smallest.evidence, smallest.why)
