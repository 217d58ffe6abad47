"""Verdicts over all runs, and the levels of service that they add up to (docs/guarantees.md, section 8)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tocsin.core.config import suggestion
from tocsin.core.errors import InputError
from tocsin.traces.rows import Row, row_object

if TYPE_CHECKING:
    import pandas
    import pyarrow

PASS: Final = "pass"
FAIL: Final = "fail"
NOT_CHECKABLE: Final = "not checkable"
NOTHING: Final = "there is nothing to check in this trace"
NOBODY_ASKED: Final = (
    "whoever the messages were delivered to had stopped, was down, or is no member any more: nobody is asked"
)

PROPERTIES: Final = (  # in the order in which they are reported
    "integrity",
    "validity",
    "agreement",
    "uniform_agreement",
    "fifo",
    "causal",
    "single_source",
    "multiple_source",
    "multiple_group",
    "acyclic",
    "safe",
    "view_synchrony",
    "settled",
)

# what is owed at the end of a run; the other properties hold at every moment of it, and may be checked at any
AT_THE_END: Final = ("validity", "agreement", "uniform_agreement", "settled")

LEVELS: Final[dict[str, tuple[str, ...]]] = {}  # level: its properties, those of the levels before it included
_ADDED: Final = {
    "basic": ("integrity", "validity", "agreement"),
    "fifo": ("fifo", "single_source"),
    "causal": ("causal",),
    "agreed": ("multiple_source", "multiple_group", "acyclic", "view_synchrony"),
    "safe": ("uniform_agreement", "safe"),
}
for _level, _properties in _ADDED.items():
    LEVELS[_level] = (*next(reversed(LEVELS.values()), ()), *_properties)


class Verdict(NamedTuple):
    """Of one property."""

    verdict: str  # PASS, FAIL or NOT_CHECKABLE
    checked: int
    violations: int
    evidence: tuple[Row, ...] | None  # on a fail: the fewest rows that show it
    why: str | None  # on a fail: the evidence in words; if not checkable: what is missing

    @property
    def witness(self) -> "pyarrow.Table | None":
        """The evidence as a table with the columns of a trace."""
        if self.evidence is None:
            return None
        import pyarrow as pa  # only here: whoever never asks for a table does not pay for Arrow

        from tocsin.traces.schema import ROWS

        return pa.Table.from_pylist([row_object(row) for row in self.evidence], ROWS)

    def to_json_object(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "checked": self.checked,
            "violations": self.violations,
            "witness": None if self.evidence is None else [row_object(row) for row in self.evidence],
            "why": self.why,
        }


def without_violation(checked: int, obstacle: str | None, unasked: int = 0) -> Verdict:
    """The verdict on what no row offends. `obstacle`: what a run lacks for it. `unasked`: for how much nobody was
    asked."""
    if obstacle is not None:
        return Verdict(NOT_CHECKABLE, checked, 0, None, obstacle)
    if checked == 0:
        return Verdict(NOT_CHECKABLE, 0, 0, None, NOBODY_ASKED if unasked else NOTHING)
    return Verdict(PASS, checked, 0, None, None)


@dataclass(frozen=True, slots=True)
class Report:
    """The verdicts on a trace: `report["fifo"].verdict`, `report.holds("safe")`."""

    rows: int
    runs: int
    sites: int
    properties: Mapping[str, Verdict]

    def __getitem__(self, name: str) -> Verdict:
        if name not in self.properties:
            raise InputError(f"properties: unknown property `{name}`{suggestion(name, list(self.properties))}")
        return self.properties[name]

    def holds(self, level: str, allow_unchecked: Collection[str] = ()) -> bool:
        """Whether every property of a level passes, or has nothing to check in a trace that has the evidence. One that
        lacks evidence does not hold, unless it is named in `allow_unchecked`."""
        return not self.failed(level) and not set(self.unchecked(level)) - set(chosen_properties(allow_unchecked))

    def failed(self, level: str) -> list[str]:
        """The properties of a level that fail."""
        return [name for name in level_properties(level) if self._verdict(name) == FAIL]

    def unchecked(self, level: str) -> list[str]:
        """The properties of a level for which the trace lacks evidence; `why` of each says what is missing."""
        return [name for name in level_properties(level) if self._lacks_evidence(name)]

    def unasked(self, level: str) -> list[str]:
        """The properties of a level that asked nobody: everybody had stopped, or was down. They show nothing."""
        every = {name: self.properties.get(name) for name in level_properties(level)}
        return [name for name, verdict in every.items() if verdict is not None and verdict.why == NOBODY_ASKED]

    def _lacks_evidence(self, name: str) -> bool:
        verdict = self.properties.get(name)
        if verdict is None or self.rows == 0:
            return True
        return verdict.verdict == NOT_CHECKABLE and verdict.why not in (NOTHING, NOBODY_ASKED)

    def _verdict(self, name: str) -> str:
        verdict = self.properties.get(name)
        return NOT_CHECKABLE if verdict is None else verdict.verdict

    def only(self, names: Iterable[str]) -> "Report":
        """The same of some properties."""
        return Report(self.rows, self.runs, self.sites, {name: self.properties[name] for name in names})

    def to_json_object(self) -> dict[str, Any]:
        """The answer of `tocsin check` and `tocsin audit`, as docs/formats.md has it."""
        return {
            "rows": self.rows,
            "runs": self.runs,
            "sites": self.sites,
            "properties": {name: verdict.to_json_object() for name, verdict in self.properties.items()},
        }

    def to_pandas(self) -> "pandas.DataFrame":
        """A row per property: property, verdict, checked, violations, why."""
        import pandas as pd

        columns = ["verdict", "checked", "violations", "why"]
        rows = [[name, *(getattr(verdict, each) for each in columns)] for name, verdict in self.properties.items()]
        return pd.DataFrame(rows, columns=["property", *columns])


def level_properties(level: str) -> tuple[str, ...]:
    if level not in LEVELS:
        raise InputError(f"level: unknown level `{level}`{suggestion(level, list(LEVELS))}")
    return LEVELS[level]


def chosen_properties(names: Iterable[str] | None) -> list[str]:
    """All properties, or those named if they exist."""
    if names is None:
        return list(PROPERTIES)
    chosen = list(names)
    for name in chosen:
        if name not in PROPERTIES:
            raise InputError(f"properties: unknown property `{name}`{suggestion(name, list(PROPERTIES))}")
    return chosen
