"""Garcia-Molina and Kogan, sections 1 and 3: messages spread without their source."""

from papers.common.paper import Claim, Section, verdict
from papers.common.table import Table
from papers.kogan.control import BASIC, OURS
from papers.kogan.partitions import cells_of


def epidemic(table: Table) -> Section:
    def told(which: str) -> str:
        points = table.series("have", "reached", {"protocol": which})
        return "; ".join(f"{reached} of 9 reached: {point.told()}" for reached, point in points)

    ours = [table.point("have", where) for where in cells_of(table, OURS)]
    everybody = [table.point("others", where).mean for where in cells_of(table, OURS)]
    alone = all(table.point("have", where).mean == where["reached"] for where in cells_of(table, BASIC))
    return Section(
        title="Sections 1 and 3: epidemic propagation",
        text="In random networks of ten hosts a message reaches some of them; then the source is cut off for good.",
        claims=[
            Claim(
                where="section 3",
                says="the message propagates out of any host that has it, as long as there is a path",
                measured=f"hosts of 9 that have it at last: {told(OURS)} ({ours[0].replications} replications)",
                verdict=verdict([point.mean for point in ours] == everybody),
            ),
            Claim(
                where="section 3",
                says="with a simple algorithm it would not be received until the source recovers",
                measured=f"hosts of 9 that have it at last: {told(BASIC)}",
                verdict=verdict(alone),
            ),
        ],
    )
