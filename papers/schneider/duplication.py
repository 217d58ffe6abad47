"""Section 4.1 of Schneider, Gries and Schlichting: what is done twice after a failure."""

from papers.common.judging import about
from papers.common.paper import Chart, Claim, Line, Listing, Section, verdict
from papers.common.table import Table
from papers.schneider.completion import SHAPES

AS_MUCH = 2.0  # "about as much": neither is more than twice the other


def duplication(table: Table) -> Section:
    rows = [
        [name, str(sites), *[_told(table, metric, shape, sites) for metric in ("attempts", "again", "data")]]
        for shape, name in SHAPES.items()
        for sites in table.values("sites")
    ]
    return Section(
        title="Section 4.1: work done twice after a failure",
        text="One processor, each as likely, fails at a moment drawn uniformly from twice the completion time; its "
        "failure is noticed after D. An attempt is a processor that begins to send outside the tree; received again "
        "is every message to a processor that had it already.",
        claims=[_attempts(table), _messages_again(table)],
        charts=[
            Chart(
                name=f"schneider-{metric}",
                title=title,
                x_label="processors N",
                y_label=f"{title.lower()}, mean",
                lines=[Line(name, table.series(metric, "sites", {"shape": shape})) for shape, name in SHAPES.items()],
                x_log=True,
            )
            for metric, title in (("attempts", "Attempts after one failure"), ("again", "Messages received again"))
        ],
        listings=[Listing("After one failure", ["strategy", "N", "attempts", "received again", "data messages"], rows)],
    )


def _told(table: Table, metric: str, shape: str, sites: int) -> str:
    return table.point(metric, {"shape": shape, "sites": sites}).told(3)


def _attempts(table: Table) -> Claim:
    largest = max(table.values("sites"))
    bush, chain = (table.point("attempts", {"shape": shape, "sites": largest}) for shape in ("bush", "chain"))
    return Claim(
        where="section 4.1",
        says="if each processor is as likely to fail, about as much work is begun again in a chain as in a bush",
        measured=f"N = {largest}: {bush.told(3)} attempts a failure in a bush, {chain.told(3)} in a chain "
        f"({bush.replications} replications)",
        verdict=verdict(about(bush, chain, AS_MUCH)),
    )


def _messages_again(table: Table) -> Claim:
    largest = max(table.values("sites"))
    bush, chain = (table.point("again", {"shape": shape, "sites": largest}) for shape in ("bush", "chain"))
    alike = about(bush, chain, AS_MUCH)
    because = (
        ""
        if alike is not False
        else "all attempts after a bush's root come at once and each is a whole broadcast to everybody who "
        "has not acknowledged; in a chain there is one, and it stays in the chain"
    )
    return Claim(
        where="section 4.1",
        says="… and about as much work is done twice",
        measured=f"N = {largest}: messages received again after a failure: bush {bush.told(3)}, chain {chain.told(3)} "
        f"({bush.replications} replications)",
        verdict=verdict(alike, because),
        because=because,
    )
