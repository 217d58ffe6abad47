"""All runs that are watched: rows in, a report out. It can be put aside whole (`pickle`) and go on elsewhere."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from tocsin.properties.audit.tally import Tally
from tocsin.properties.kernels.encode import NEEDED_COLUMNS, POSITION, LogPart, encode
from tocsin.properties.kernels.facts import Spot
from tocsin.properties.report import Report, Verdict
from tocsin.properties.terms import Terms
from tocsin.properties.watch.run_watch import HELD_ROWS_MAX, RunWatch
from tocsin.traces.rows import Row

LATE: Final = "late"  # a verdict besides those of a report: owed, overdue, and it may still come
COLUMNS: Final = (*NEEDED_COLUMNS, POSITION, "size")  # what is looked at

Fetch = Callable[
    [str, list[Spot]], dict[Spot, Row]
]  # rows of a run, by where they are; those that are gone are not there


@dataclass(slots=True)
class Watch:
    held_max: int = HELD_ROWS_MAX
    rows: int = 0
    sites: set[str] = field(default_factory=set)
    runs: dict[str, RunWatch] = field(default_factory=dict)
    evidence: dict[tuple[str, Spot], Row] = field(default_factory=dict)  # of witnesses that were told

    def add(self, table: Any, terms: Terms) -> None:
        """Rows with the columns of a trace, of each log those that follow what was given before."""
        self.add_parts(encode(table), terms)

    def add_parts(self, parts: Iterable[LogPart], terms: Terms) -> None:
        """The same, as the kernels take them."""
        by_run: dict[str, list[LogPart]] = {}
        for part in parts:
            self.rows += part.rows
            if not terms.knows_calm():
                part.position = None
            by_run.setdefault(part.run, []).append(part)
            self.sites.add(part.site)
        for run, own in by_run.items():
            self.runs.setdefault(run, RunWatch(run, self.held_max)).add(own)

    def close(self, terms: Terms) -> None:
        for run in self.runs.values():
            run.close(terms)

    def report(self, terms: Terms, fetch: Fetch, *, final: bool = False, caught_up: bool = False) -> Report:
        """The verdicts now; at the end nothing is late any more. `caught_up`: everything that was there was given."""
        tally = Tally()
        late: set[str] = set()
        for name in sorted(self.runs):
            answer = self.runs[name].answer(terms, final, caught_up)
            tally.note(answer.facts, answer.found, answer.obstacles)
            late |= answer.late
        rows = self._witnesses(tally, fetch)
        verdicts = {
            name: verdict._replace(verdict=LATE) if name in late and verdict.verdict == "fail" else verdict
            for name, verdict in self._verdicts(tally, rows).items()
        }
        return Report(self.rows, len(self.runs), len(self.sites), verdicts)

    def _verdicts(self, tally: Tally, rows: dict[tuple[str, Spot], Row]) -> dict[str, Verdict]:
        for each in tally.properties.values():
            if each.evidence is not None:  # of a row that retention has dropped meanwhile the place is known
                for spot in each.evidence.spots:
                    run = each.evidence.run
                    rows.setdefault((run, spot), Row(run, spot.site, spot.order, 0, "", incarnation=spot.incarnation))
        return tally.verdicts(rows, {})

    def _witnesses(self, tally: Tally, fetch: Fetch) -> dict[tuple[str, Spot], Row]:
        """The rows of all witnesses; those that were read once are kept, as long as they are told."""
        wanted = {(run, spot) for run, spots in tally.wanted_rows().items() for spot in spots}
        self.evidence = {key: row for key, row in self.evidence.items() if key in wanted}
        for run in sorted({run for run, _ in wanted}):
            spots = [spot for of, spot in wanted if of == run and (of, spot) not in self.evidence]
            if spots:
                self.evidence.update({(run, spot): row for spot, row in fetch(run, spots).items()})
        return dict(self.evidence)
