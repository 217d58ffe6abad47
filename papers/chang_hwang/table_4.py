"""Table 4 of Chang and Hwang: levels of reliability, each the lowest that any run has kept."""

from typing import NamedTuple

from papers.chang_hwang.experiments.levels import SERVICES
from papers.common.paper import Claim, Listing, Section, verdict
from papers.common.table import Table
from papers.common.words import replications_of


class Column(NamedTuple):
    """A column of Table 4, and what we know if it comes out otherwise."""

    name: str
    form: str
    reliability: int
    service: str
    because_reliability: str = ""
    because_service: str = ""


COLUMNS = (
    Column(
        "centralized",
        "sequencer",
        3,
        "agreed",
        because_reliability="at the paper's own cost (two messages, 2 P) a message is delivered as soon as it is "
        "ordered, and a central site that dies may have delivered what nobody else has seen; it takes it back. "
        "Delivered when a majority has it, one round later: {committed}",
    ),
    Column(
        "two-phase",
        "two_phase",
        3,
        "agreed",
        because_service="a final priority says that every member has the message: that is more than agreed",
    ),
    Column(
        "optimistic",
        "optimistic_token",
        2,
        "safe",
        because_service="what the token commits is safe; what is delivered on receipt is not, and may be rolled back",
    ),
    Column("fast message", "totem_ring", 3, "safe"),
    Column("counter-based", "counter_token", 3, "safe"),
)


def levels(table: Table) -> Section:
    return Section(
        title="Table 4: levels of reliability",
        text="Three stories, many seeds: loss of 0.2 and delays of up to 5 ms; the same with two of five sites "
        "crashing and coming back; a site that delivers what nobody else has seen, dies, and comes back. R1: sites "
        "that never failed deliver the same in one order; R2: so do all, once what was wrong is taken back; R3: and "
        "nothing is taken back. The level of a protocol is the lowest of all its runs: every run keeps it, and one "
        "breaks the next.",
        claims=[
            *[_reliability(table, column) for column in COLUMNS],
            *[_service(table, column) for column in COLUMNS],
            _no_lower(table),
        ],
        listings=[_listing(table)],
    )


def _lowest(table: Table, form: str, metric: str) -> int:
    return int(min(row.low for row in table.rows if row.metric == metric and row.parameters["form"] == form))


def _runs(table: Table) -> str:
    return f"the lowest of {len(table.values('experiment'))} stories, {replications_of(table)} each"


def _reliability(table: Table, column: Column) -> Claim:
    found = _lowest(table, column.form, "reliability")
    because = ""
    if found != column.reliability:
        committed = (
            f"R{_lowest(table, f'{column.form}, committed', 'reliability')}" if column.form == "sequencer" else ""
        )
        because = column.because_reliability.format(committed=committed)
    return Claim(
        where="Table 4",
        says=f"{column.name}: R{column.reliability}",
        measured=f"R{found} ({_runs(table)})",
        verdict=verdict(found == column.reliability, because),
        because=because,
    )


def _service(table: Table, column: Column) -> Claim:
    found = SERVICES[_lowest(table, column.form, "service")]
    because = "" if found == column.service else column.because_service
    return Claim(
        where="Table 4",
        says=f"{column.name}: {column.service}",
        measured=f"{found} ({_runs(table)})",
        verdict=verdict(found == column.service, because),
        because=because,
    )


def _no_lower(table: Table) -> Claim:
    ours = _lowest(table, "counter_token", "reliability"), _lowest(table, "counter_token", "service")
    others = [
        (_lowest(table, form, "reliability"), _lowest(table, form, "service"))
        for form in table.values("form")
        if form != "counter_token"
    ]
    return Claim(
        where="section 6",
        says="the level of reliability of the counter-based protocol is no lower than that of all others",
        measured=f"R{ours[0]} and {SERVICES[ours[1]]}; the highest of the others R{max(each[0] for each in others)} "
        f"and {SERVICES[max(each[1] for each in others)]} ({_runs(table)})",
        verdict=verdict(all(ours[0] >= each[0] and ours[1] >= each[1] for each in others)),
    )


def _listing(table: Table) -> Listing:
    paper = {column.form: column for column in COLUMNS}
    rows = []
    for form in table.values("form"):
        column = paper.get(form)
        rows.append(
            [
                form,
                f"R{_lowest(table, form, 'reliability')}",
                f"R{column.reliability}" if column else "",
                SERVICES[_lowest(table, form, "service")],
                column.service if column else "",
            ]
        )
    return Listing("Table 4, measured", ["protocol", "R", "the paper", "service", "the paper"], rows)
