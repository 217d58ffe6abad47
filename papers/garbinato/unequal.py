"""Section 7 of Garbinato, Pedone and Schmidt: links of unequal quality."""

from papers.common.paper import Chart, Claim, Line, Section, verdict
from papers.common.table import Table
from papers.common.words import replications


def unequal(table: Table) -> Section:
    names = {0.0: "all links lose 0.05", 0.05: "links lose 0 to 0.1"}
    lines = [
        Line(names.get(spread, f"spread {spread:g}"), table.series("ratio", "connectivity", {"spread": spread}))
        for spread in table.values("spread")
    ]
    equal, unequal = (line.points for line in lines)
    larger = [
        (connectivity, mine, other)
        for (connectivity, mine), (_, other) in zip(unequal, equal, strict=True)
        if connectivity > 2
    ]
    told = "; ".join(f"connectivity {x}: {mine.told(3)} against {other.told(3)}" for x, mine, other in larger)
    return Section(
        title="Section 7: links of unequal quality",
        text="As in Figure 2, with links that lose 0 to 0.1 each, against links that all lose 0.05.",
        claims=[
            Claim(
                where="section 7",
                says="with unequal failure probabilities the gain over gossip is expected to increase further",
                measured=f"ratio of data messages: {told} ({replications(unequal)})",
                verdict=verdict(all(mine.low > other.high for _, mine, other in larger)),
            )
        ],
        charts=[
            Chart(
                name="garbinato-unequal",
                title="Messages of gossip for one of the adaptive algorithm, mean loss 0.05",
                x_label="connectivity (neighbours of a process)",
                y_label="ratio of data messages",
                lines=lines,
            )
        ],
    )
