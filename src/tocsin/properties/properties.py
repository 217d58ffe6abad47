"""All properties, in the order in which they are reported, and the one call that checks them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from tocsin.core.config import suggestion
from tocsin.core.errors import InputError
from tocsin.properties.agreement import check_agreement, check_uniform_agreement
from tocsin.properties.case import Case
from tocsin.properties.causal import check_causal
from tocsin.properties.collect import collect
from tocsin.properties.fifo import check_fifo
from tocsin.properties.finding import Finding
from tocsin.properties.integrity import check_integrity
from tocsin.properties.report import Report, Verdict, merge_findings
from tocsin.properties.safe import check_safe
from tocsin.properties.total_order import (
    check_acyclic,
    check_multiple_group,
    check_multiple_source,
    check_single_source,
)
from tocsin.properties.validity import check_validity
from tocsin.properties.view_synchrony import check_view_synchrony
from tocsin.traces.rows import Row

PROPERTIES: Final[dict[str, Callable[[Case], Finding]]] = {
    "integrity": check_integrity,
    "validity": check_validity,
    "agreement": check_agreement,
    "uniform_agreement": check_uniform_agreement,
    "fifo": check_fifo,
    "causal": check_causal,
    "single_source": check_single_source,
    "multiple_source": check_multiple_source,
    "multiple_group": check_multiple_group,
    "acyclic": check_acyclic,
    "safe": check_safe,
    "view_synchrony": check_view_synchrony,
}

# what is owed at the end of a run; the other properties hold at every moment of it, and may be checked at any
AT_THE_END: Final = ("validity", "agreement", "uniform_agreement")


def check(
    rows: Iterable[Row],
    groups: Mapping[str, Sequence[str]] | None = None,
    *,
    one_clock: bool = False,
    properties: Iterable[str] | None = None,
) -> Report:
    """Check the properties (all, or those named) of a trace.

    The rows of each (run, site) come in their `order`. `groups`: the members of groups, where no view says it.
    `one_clock`: whether times of different sites can be compared, as in the simulator.
    """
    names = list(PROPERTIES) if properties is None else list(properties)
    for name in names:
        if name not in PROPERTIES:
            raise InputError(f"properties: unknown property `{name}`{suggestion(name, list(PROPERTIES))}")
    collection = collect(rows)
    runs, sites = len(collection.histories), collection.site_count()
    findings: dict[str, list[Finding]] = {name: [] for name in names}
    for run in sorted(collection.histories):
        case = Case(collection.histories.pop(run), groups or {}, one_clock)  # popped: one run's work at a time
        for name in names:
            findings[name].append(PROPERTIES[name](case))
    verdicts: dict[str, Verdict] = {name: merge_findings(findings[name]) for name in names}
    return Report(collection.rows, runs, sites, verdicts)
