"""Every property of a run, or of a slice of its messages, decided exactly; and the slices of a run put together."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.causal import find_causal
from tocsin.properties.kernels.encode import LogPart
from tocsin.properties.kernels.facts import RunFacts, join_facts, part_facts
from tocsin.properties.kernels.found import Found
from tocsin.properties.kernels.integrity import find_integrity
from tocsin.properties.kernels.members import Members
from tocsin.properties.kernels.orders import (
    Orders,
    find_acyclic,
    find_fifo,
    find_multiple_group,
    find_multiple_source,
    find_single_source,
)
from tocsin.properties.kernels.owed import find_agreement, find_uniform_agreement, find_validity
from tocsin.properties.kernels.passages import (
    Sums,
    add_sums,
    explain_difference,
    find_view_synchrony,
    passage_sums,
)
from tocsin.properties.kernels.safe import find_safe
from tocsin.properties.kernels.settled import find_settled_messages, find_settled_views
from tocsin.properties.report import PROPERTIES
from tocsin.properties.terms import Terms

VIEW_SYNCHRONY = "view_synchrony"
SETTLED = "settled"  # of slices, as far as messages go; what views say is known without them

_BY_MESSAGE: dict[str, Callable[[Case], Found]] = {
    "integrity": find_integrity,
    "validity": find_validity,
    "agreement": find_agreement,
    "uniform_agreement": find_uniform_agreement,
    "safe": find_safe,
    "settled": find_settled_messages,
}
_BY_ORDER: dict[str, Callable[[Orders], Found]] = {
    "fifo": find_fifo,
    "causal": find_causal,
    "single_source": find_single_source,
    "multiple_source": find_multiple_source,
    "multiple_group": find_multiple_group,
    "acyclic": find_acyclic,
}


@dataclass(slots=True)
class Solved:
    """What a run or a slice has of each property. View synchrony is known only when all slices are put together."""

    found: dict[str, Found] = field(default_factory=dict)
    sums: Sums = field(default_factory=dict)


def solve(case: Case, properties: Collection[str] = PROPERTIES) -> Solved:
    orders = Orders(case)
    found = {name: find(case) for name, find in _BY_MESSAGE.items() if name in properties}
    found |= {name: find(orders) for name, find in _BY_ORDER.items() if name in properties}
    return Solved(found, passage_sums(case) if VIEW_SYNCHRONY in properties else {})


def put_together(slices: Iterable[Solved]) -> Solved:
    total = Solved()
    for each in slices:
        for name, found in each.found.items():
            total.found.setdefault(name, Found()).add(found)
        total.sums = add_sums((total.sums, each.sums))
    return total


def solve_run(
    run: str,
    parts: Sequence[LogPart],
    terms: Terms,
    properties: Collection[str] = PROPERTIES,
) -> tuple[RunFacts, dict[str, Found]]:
    """A whole run at once."""
    parts = sorted(parts, key=lambda part: (part.log, part.first_order))
    facts = join_facts(run, map(part_facts, parts), terms)
    whole = [part for part in parts if part.log in facts.logs]
    case = Case(facts, sorted(whole, key=lambda part: facts.logs[part.log]))
    solved = solve(case, properties)
    if VIEW_SYNCHRONY in properties:
        found, difference = find_view_synchrony(facts, Members(facts), solved.sums)
        if difference is not None:
            explained = explain_difference(case, difference)
            if explained is not None:
                found.witness, found.why = explained
        solved.found[VIEW_SYNCHRONY] = found
    if SETTLED in properties:
        solved.found[SETTLED].add(find_settled_views(facts, case.members))
    return facts, solved.found
