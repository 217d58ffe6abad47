"""The papers' three orders, single source (a), multiple source (b) and multiple group (c), and no cycle over any sites.

docs/guarantees.md, section 4.
"""

from collections.abc import Collection

from tocsin.properties.case import Case
from tocsin.properties.cycles import Link, find_short_cycle
from tocsin.properties.finding import Finding
from tocsin.properties.inversions import Inversion


def check_single_source(case: Case) -> Finding:
    return _order_finding(case, case.order.inverted_streams.values())


def check_multiple_source(case: Case) -> Finding:
    return _order_finding(case, case.order.inverted_groups.values())


def check_multiple_group(case: Case) -> Finding:
    return _order_finding(case, case.order.inverted_pairs.values())


def check_acyclic(case: Case) -> Finding:
    order = case.order
    tangled = sum(len({message for strand in tangle for message in strand.messages}) for tangle in order.tangles)
    if tangled == 0:
        return Finding(case.delivered, obstacle=case.truncation)
    if order.inversion is not None:
        links = _links(order.inversion)
    else:
        links = min((find_short_cycle(tangle) for tangle in order.tangles), key=len)
    rows = [case.delivery_row(link.owner, message) for link in links for message in (link.message, link.after)]
    words = ", ".join(
        f"site {case.logs[link.owner].site} delivered {case.text(link.message)} before {case.text(link.after)}"
        for link in links
    )
    return Finding(case.delivered, tangled, tuple(rows), words, case.truncation)


def _order_finding(case: Case, inversions: Collection[Inversion]) -> Finding:
    if not inversions:
        return Finding(case.delivered, obstacle=case.truncation)
    inversion = next(iter(inversions))
    links = _links(inversion)
    rows = [case.delivery_row(link.owner, message) for link in links for message in (link.message, link.after)]
    why = (
        f"site {rows[0].site} delivered {case.text(inversion.message)} before {case.text(inversion.other)}, "
        f"site {rows[2].site} the other way round"
    )
    return Finding(case.delivered, len(inversions), tuple(rows), why, case.truncation)


def _links(inversion: Inversion) -> list[Link]:
    """An inversion as a cycle over two sites, the site with the smaller name first."""
    links = [
        Link(inversion.first_owner, inversion.message, inversion.other),
        Link(inversion.second_owner, inversion.other, inversion.message),
    ]
    return sorted(links)
