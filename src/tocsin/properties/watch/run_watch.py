"""One run that goes on: what is known of its logs, the rows that are still open, and what was answered for good."""

from copy import copy
from dataclasses import dataclass, field, replace
from typing import Final

from tocsin.properties.kernels.case import Case
from tocsin.properties.kernels.encode import LogPart
from tocsin.properties.kernels.facts import RunFacts, SiteFacts, part_facts
from tocsin.properties.kernels.found import Found
from tocsin.properties.kernels.members import Members
from tocsin.properties.kernels.passages import explain_difference, find_view_synchrony
from tocsin.properties.kernels.settled import find_settled_views
from tocsin.properties.kernels.solve import SETTLED, VIEW_SYNCHRONY, solve, solve_run
from tocsin.properties.kernels.streams import Stream
from tocsin.properties.report import AT_THE_END, PROPERTIES
from tocsin.properties.terms import Terms
from tocsin.properties.watch.closing import is_strict, lacking, needed_logs, reached_by_all, reached_half_way, split
from tocsin.properties.watch.intervals import Intervals, add_intervals, interval_sums, passage_sums_of
from tocsin.properties.watch.samples import merged, sample

HELD_ROWS_MAX: Final = 1_000_000  # of a run; about 60 bytes each
CLOSED_ROWS_MIN: Final = 20_000  # fewer are not worth a cut: what is open is judged anew each time
ORDERS: Final = ("fifo", "causal", "single_source", "multiple_source", "multiple_group", "acyclic")
BEYOND: Final = "run {run}: rows of messages came of which the others are no longer held ({count:,} rows)"
UNCERTAIN: Final = "run {run}: messages overtake each other over more rows than are held ({rows:,})"
UNFINISHED: Final = "run {run}: {sites} lacked messages that are no longer held ({rows:,} rows are)"
BY_THE_END: Final = (*AT_THE_END, "safe")  # who is asked is known only at the end: judged by samples of what is closed
WAITING: Final = (*BY_THE_END, "integrity")  # what rows that have not come yet may still make good
TRUNCATED: Final = "run {run}: a log turned out to be truncated after messages of it were closed"
_SLICED: Final = tuple(name for name in PROPERTIES if name != VIEW_SYNCHRONY)


@dataclass(slots=True)
class Answer:
    """What is known of a run now."""

    facts: RunFacts
    found: dict[str, Found]
    obstacles: dict[str, str]
    late: set[str]  # properties of the end that do not hold yet


@dataclass(slots=True)
class RunWatch:
    run: str
    held_max: int = HELD_ROWS_MAX
    logs: dict[str, SiteFacts] = field(default_factory=dict)
    parts: list[LogPart] = field(default_factory=list)  # with open rows; as they came, until something is closed
    closed: dict[str, Found] = field(default_factory=dict)  # answered for good
    samples: list[LogPart] = field(default_factory=list)  # of closed messages, one of each kind
    kinds: set[int] = field(default_factory=set)  # of these
    numbers: dict[Stream, int] = field(default_factory=dict)  # the cut: from these on messages are open
    intervals: Intervals = field(default_factory=dict)  # of closed messages
    beyond: int = 0  # rows that came for messages that were closed
    receipts: int = 0  # the same, of receptions: they matter only where one was missing
    reduced: bool = False  # rows of truncated logs are no longer held
    uncertain: bool = False  # something was closed at a cut that was not strict
    suspected: set[str] = field(default_factory=set)  # what did not hold when everything there was had been read
    unfinished: set[str] = field(default_factory=set)  # sites that lacked messages which were closed

    def add(self, parts: list[LogPart]) -> None:
        """The next rows: of each log those that follow what was given before."""
        for part in sorted(parts, key=lambda each: (each.log, each.first_order)):
            self.logs.setdefault(part.log, SiteFacts(part.site, part.incarnation)).join(part_facts(part))
            if self.numbers:
                sides = split([part], self.numbers, (*self._streams(), *part.streams))
                self.beyond += sum(len(each.event) for each in sides.closed)
                self.receipts += len(part.receipt_order) - sum(len(each.receipt_order) for each in sides.opened)
                self.parts += sides.opened
            else:
                self.parts.append(part)

    def facts(self, terms: Terms) -> RunFacts:
        return RunFacts(self.run, [copy(site) for site in self.logs.values()], terms)

    def held_rows(self) -> int:
        return sum(len(part.event) + len(part.receipt_order) for part in self.parts)

    # Closing

    def close(self, terms: Terms) -> None:
        """Answer for good what can be, if that is worth it."""
        rows = self.held_rows()
        facts = self.facts(replace(terms, patience=None))
        if rows < CLOSED_ROWS_MIN or facts.has_truncated():
            self._give_up(facts, rows)
            return
        needed = needed_logs(facts, Members(facts))
        if self._close_at(facts, reached_by_all(facts, needed), needed, forced=False):
            return
        if rows > self.held_max:
            self._close_at(facts, reached_half_way(self._whole(facts)), needed, forced=True)

    def _close_at(
        self, facts: RunFacts, numbers: dict[Stream, int], needed: dict[str, list[int]], forced: bool
    ) -> bool:
        numbers = {stream: max(number, self.numbers.get(stream, number)) for stream, number in numbers.items()}
        streams = self._streams()
        sides = split(self._whole(facts), self.numbers | numbers, streams)
        closing = sum(len(part.event) for part in sides.closed)
        if (closing < CLOSED_ROWS_MIN and not forced) or closing == 0:
            return False
        strict = is_strict(sides)
        if not strict and not forced:
            return False
        case = Case(facts, sides.closed)
        without = lacking(case, needed)
        if without and not forced:
            return False
        found = solve(case, _SLICED).found
        if not forced and any(found[name].violations for name in WAITING):
            return False
        for name, each in found.items():
            self.closed.setdefault(name, Found()).add(each)
        self.samples += sample(case, sides.closed, self.kinds)
        self.intervals = add_intervals(self.intervals, interval_sums(case))
        self.numbers |= numbers
        self.parts = sides.opened
        self.uncertain |= not strict
        self.unfinished |= {
            site for site in without if site not in facts.index or not facts.whole[facts.index[site]].up
        }
        return True

    def _give_up(self, facts: RunFacts, rows: int) -> None:
        """Of truncated logs nothing counts: their rows are not held for long."""
        if rows > self.held_max and facts.has_truncated():
            self.parts = self._whole(facts)
            self.reduced = True
            if self.held_rows() > self.held_max:
                self.beyond += self.held_rows()
                self.parts = []

    def _streams(self) -> set[Stream]:
        """All that are known."""
        return {stream for part in self.parts for stream in part.streams if stream[0] is not None}

    def _whole(self, facts: RunFacts) -> list[LogPart]:
        """The parts of whole logs, as the kernels want them."""
        own = [part for part in self.parts if part.log in facts.logs]
        return sorted(own, key=lambda part: (facts.logs[part.log], part.first_order))

    # Answering

    def answer(self, terms: Terms, final: bool, caught_up: bool) -> Answer:
        """By property what was found: in what is closed, and in what is open now."""
        if not self.numbers and not self.reduced:
            facts, found = solve_run(self.run, self.parts, terms)
        else:
            facts = self.facts(terms)
            found = self._join(facts)
        obstacles = self._obstacles(facts, found)
        doubtful = (*WAITING, VIEW_SYNCHRONY) if self.numbers and not facts.has_truncated() else PROPERTIES
        for name in obstacles:
            if name in doubtful:  # what looks like a violation may be none: rows of it are missing here
                found[name] = Found(found[name].checked, unasked=found[name].unasked)
        late: set[str] = set() if final else {name for name in AT_THE_END if name in found and found[name].violations}
        if not final and found["safe"].violations and not self.closed.get("safe", Found()).violations:
            if "safe" not in self.suspected or not caught_up:
                late.add("safe")  # the rows that say who has it may not have been read yet
        self.suspected = {name for name in ("safe",) if caught_up and found[name].violations}
        told = {name: why for name, why in obstacles.items() if found[name].violations == 0}
        return Answer(facts, found, told, late)

    def _join(self, facts: RunFacts) -> dict[str, Found]:
        case = Case(facts, self._whole(facts))
        found = solve(case, [name for name in _SLICED if name not in BY_THE_END]).found
        for name, each in found.items():
            each.add(self.closed.get(name, Found()))
        parts = merged(part for part in (*self.samples, *self.parts) if part.log in facts.logs)
        sampled = Case(facts, sorted(parts, key=lambda part: facts.logs[part.log]))
        for name, each in solve(sampled, WAITING).found.items():
            if name == "integrity":
                if found[name].violations == 0:  # whether broadcasts are noted at all may be known only now
                    found[name].add(Found(0, each.violations, each.witness, each.why))
                continue
            if each.checked and self.closed.get(name, Found()).checked > each.checked:
                each.checked = self.closed[name].checked  # about: those who were asked when it was closed
            found[name] = each
        found[SETTLED].add(find_settled_views(facts, case.members))
        intervals = add_intervals(self.intervals, interval_sums(case))
        synchrony, difference = find_view_synchrony(
            facts, case.members, passage_sums_of(facts, case.members, intervals)
        )
        if difference is not None:
            explained = explain_difference(case, difference)
            if explained is not None:
                synchrony.witness, synchrony.why = explained
            else:
                views = facts.whole[difference.one.log].views
                ends = (views[difference.one.old], views[difference.one.new])
                synchrony.witness = tuple(facts.whole[difference.one.log].spot(view.order) for view in ends)
                synchrony.why = (
                    f"between views {ends[0].number} and {ends[1].number} sites "
                    f"{facts.whole[difference.one.log].site} and {facts.whole[difference.other.log].site} delivered "
                    "different messages, which are no longer held"
                )
        return found | {VIEW_SYNCHRONY: synchrony}

    def _obstacles(self, facts: RunFacts, found: dict[str, Found]) -> dict[str, str]:
        """What is not checkable because its rows are no longer held."""
        told: dict[str, str] = {}
        if self.uncertain:
            told |= dict.fromkeys(ORDERS, UNCERTAIN.format(run=self.run, rows=self.held_max))
        back = sorted(site for site in self.unfinished if site not in facts.index or facts.whole[facts.index[site]].up)
        if back:
            told |= dict.fromkeys(
                AT_THE_END, UNFINISHED.format(run=self.run, sites=", ".join(back), rows=self.held_max)
            )
        gone = self.beyond + self.receipts
        if self.beyond or (self.receipts and self.uncertain):
            told |= dict.fromkeys(PROPERTIES, BEYOND.format(run=self.run, count=gone))
        elif self.receipts and found["safe"].violations:
            told["safe"] = BEYOND.format(run=self.run, count=gone)
        if self.numbers and facts.has_truncated():
            told = dict.fromkeys(PROPERTIES, TRUNCATED.format(run=self.run))
        return told
