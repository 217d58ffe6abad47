"""Garcia-Molina and Kogan, section 4.2: lists that are acyclic and jointly complete give one coordinator."""

from papers.common.paper import Claim, Section, verdict
from papers.common.table import Table


def theorem(table: Table) -> Section:
    return Section(
        title="Section 4.2: one coordinator",
        text="Random networks of switches with links of different costs; partitions are the hosts behind one failed "
        "link, or any hosts without the source. Lists of Shortest-Distance-First and random legal ones.",
        claims=[_exactly_one(table), _only_if(table)],
    )


def _exactly_one(table: Table) -> Claim:
    cells = table.combinations()
    one = sum(
        table.point(f"coordinators.{name}", where).mean == 1.0 == table.point(f"coordinators.{name}.most", where).mean
        for name in ("sdf", "random")
        for where in cells
    )
    low, _ = table.replications()
    return Claim(
        where="Theorem 4.1",
        says="all hosts of a partition configure into one tree if the lists are acyclic and jointly complete",
        measured=f"exactly one coordinator in every partition of every network in {one} of {2 * len(cells)} settings "
        f"({low} networks each; running, see section 6)",
        verdict=verdict(one == 2 * len(cells)),
    )


def _only_if(table: Table) -> Claim:
    cells = table.combinations()
    incomplete = sum(table.point("coordinators.incomplete", where).mean == 2.0 for where in cells)
    cyclic = sum(table.point("coordinators.cyclic", where).mean == 0.0 for where in cells)
    return Claim(
        where="Theorem 4.1",
        says="… and only if",
        measured=f"one entry removed: two coordinators in the partition of those two hosts, always, in {incomplete} of "
        f"{len(cells)} settings; two hosts on each other's lists: no coordinator, in {cyclic}",
        verdict=verdict(incomplete == cyclic == len(cells)),
    )
