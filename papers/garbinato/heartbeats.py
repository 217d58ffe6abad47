"""Section 5 of Garbinato, Pedone and Schmidt: the size of heartbeats; Algorithm 4, line 19."""

from papers.common.judging import every, near, within
from papers.common.paper import Chart, Claim, Line, Listing, Section, exact, verdict
from papers.common.table import Table
from papers.common.words import replications

PAPER_HEARTBEAT_BYTES = 50_000


def heartbeats(table: Table, line_19: Table) -> Section:
    largest = [table.point("bytes.largest", where) for where in table.combinations()]
    biggest = max(largest, key=lambda point: point.mean)
    smaller = (
        "smaller on purpose: a belief over 100 intervals is a function of two integers, only news are told, and "
        "neighbours "
        "acknowledge what they hold"
        if biggest.high < PAPER_HEARTBEAT_BYTES / 4
        else ""
    )
    rows = [
        [
            str(where["connectivity"]),
            *[table.point(f"bytes.{name}", where).told(3) for name in ("first", "second", "fourth", "largest")],
        ]
        for where in table.combinations()
    ]
    printed = line_19.series("printed", "loss", {})
    corrected = line_19.series("corrected", "loss", {})
    learned = every(within(point, loss - 0.02, loss + 0.02) for loss, point in printed)
    because = (
        "with nothing lost the difference of sequence numbers is 1, so every heartbeat that arrives counts as a "
        "failure and none "
        "ever as a success; what was lost is the difference less one, and an arrival is a success: with that the "
        "truth is learned"
    )
    return Section(
        title="Heartbeats, and Algorithm 4",
        text="100 processes, L = 0.05, encoded as on the wire. An estimate is two integers, and only news are told.",
        claims=[
            Claim(
                where="section 5",
                says="heartbeat messages were 50K bytes long",
                measured=f"the largest, with everything that is known, {biggest.mean:,.0f} "
                "bytes; the mean later "
                f"{min(table.point('bytes.fourth', where).mean for where in table.combinations()):,.0f} "
                f"({largest[0].replications} replications)",
                verdict=verdict(near(biggest, PAPER_HEARTBEAT_BYTES, 0.2), smaller),
                because=smaller,
            ),
            Claim(
                where="section 4.2, Algorithm 4, line 19",
                says="adjust <- suspected - (difference of sequence numbers)",
                measured="after 1,500 heartbeats the believed loss is "
                + ", ".join(f"{point.mean:.3f} for a true {loss:g}" for loss, point in printed)
                + "; as corrected "
                + ", ".join(f"{point.mean:.3f}" for _, point in corrected)
                + f" ({replications(printed)})",
                verdict=verdict(learned, because),
                because="" if learned else because,
            ),
        ],
        charts=[
            Chart(
                name="garbinato-line-19",
                title="Believed loss after 1,500 heartbeats",
                x_label="true loss",
                y_label="believed loss",
                lines=[
                    Line("Algorithm 4 as printed", printed),
                    Line("as corrected", corrected),
                    Line("the truth", [(loss, exact(loss)) for loss, _ in corrected], formula=True),
                ],
            )
        ],
        listings=[
            Listing("Bytes of a heartbeat", ["connectivity", "first spell", "second", "fourth", "largest"], rows),
        ],
    )
