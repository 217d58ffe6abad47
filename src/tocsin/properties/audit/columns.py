"""The traces of other systems, in our words: a small file says which of their columns and events are which of ours.

time_unit = "ms"          # of their time column; us if nothing is said
[columns]                 # ours = theirs; a column with the same name needs no line
site = "node"
seqno = "msg_id"
[constants]               # what no column of theirs says
group = "all"
[events]                  # theirs = ours; events that are not named here are left out
app_recv = "deliver"
[kinds]                   # theirs = ours
APP = "data"
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa

from tocsin.core.config import Config, decode_config, suggestion
from tocsin.core.errors import InputError
from tocsin.core.files import read_document
from tocsin.properties.kernels.encode import IGNORED_EVENT
from tocsin.traces.rows import EVENTS
from tocsin.traces.schema import COLUMNS, STRINGS

MICROSECONDS: Final = {"ns": 0.001, "us": 1, "ms": 1_000, "s": 1_000_000}
CONSTANTS: Final = ("run", "site", "group", "origin", "kind")
ONLY_RUN: Final = "trace"  # the run of rows that name none


class TraceMapFile(Config, frozen=True):
    """The file as people write it."""

    columns: dict[str, str] = {}
    constants: dict[str, str] = {}
    events: dict[str, str] = {}
    kinds: dict[str, str] = {}
    time_unit: Literal["ns", "us", "ms", "s"] = "us"


@dataclass(frozen=True, slots=True)
class TraceMap:
    """How a file's columns are read. The default reads our own traces."""

    columns: dict[str, str] = field(default_factory=dict)  # ours: theirs
    constants: dict[str, str] = field(default_factory=dict)
    events: dict[str, str] | None = None  # theirs: ours; None: they are ours, and an unknown one is an error
    kinds: dict[str, str] = field(default_factory=dict)
    time_unit: str = "us"

    def theirs(self, ours: str) -> str:
        return self.columns.get(ours, ours)

    def present(self, names: list[str]) -> frozenset[str]:
        """Which of our columns a file with these columns has, constants included."""
        return frozenset(
            ours for ours in COLUMNS if ours in self.constants or self.theirs(ours) in names or ours == "run"
        )

    def string_columns(self) -> list[str]:
        """Their names of our columns of words: read as numbers and a dictionary."""
        return [self.theirs(ours) for ours in STRINGS]

    def wanted(self, names: list[str], ours: tuple[str, ...]) -> list[str]:
        """Their columns that are needed to read some of ours."""
        needed = [self.theirs(name) for name in ours if name not in self.constants]
        return [name for name in dict.fromkeys(needed) if name in names]

    def translate(self, table: Any, ours: tuple[str, ...]) -> Any:
        """A table with our columns, as far as there are any."""
        found: dict[str, Any] = {}
        for name in ours:
            if name in self.constants:
                found[name] = _constant(self.constants[name], table.num_rows)
            elif self.theirs(name) in table.column_names:
                found[name] = self._column(name, table.column(self.theirs(name)))
            elif name == "run":
                found[name] = _constant(ONLY_RUN, table.num_rows)
        return pa.table(found)

    def _column(self, name: str, column: Any) -> Any:
        if name in STRINGS:
            column = _words(column)
            if name == "event" and self.events is not None:
                return _renamed(column, self.events, IGNORED_EVENT)
            if name == "kind" and self.kinds:
                return _renamed(column, self.kinds, None)
        elif name == "time_us" and self.time_unit != "us":
            import pyarrow.compute as pc  # a tenth of a second, which only the traces of others need

            try:
                scaled = pc.multiply(column.cast(pa.float64()), MICROSECONDS[self.time_unit])
                return pc.round(scaled).cast(pa.int64())
            except pa.ArrowInvalid:
                raise InputError(f"column `{self.theirs(name)}`: expected times in {self.time_unit}") from None
        return column


def read_trace_map(path: Path) -> TraceMap:
    document = decode_config(read_document(path), TraceMapFile, str(path))
    for key, known in (("columns", COLUMNS), ("constants", CONSTANTS)):
        for name in getattr(document, key):
            if name not in known:
                raise InputError(f"{path}: unknown key `{key}.{name}`{suggestion(name, list(known))}")
    for theirs, ours in document.events.items():
        if ours not in EVENTS:
            raise InputError(
                f"{path}: `events.{theirs}`: expected an event, found `{ours}`{suggestion(ours, list(EVENTS))}"
            )
    both = set(document.columns) & set(document.constants)
    if both:
        raise InputError(f"{path}: `{min(both)}`: expected a column or a constant, found both")
    return TraceMap(document.columns, document.constants, document.events or None, document.kinds, document.time_unit)


def _constant(value: str, rows: int) -> Any:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value]))


def _words(column: Any) -> Any:
    """A column of words as a dictionary; numbers will do for words."""
    if pa.types.is_null(column.type):
        return column.cast(pa.string()).dictionary_encode()
    if pa.types.is_dictionary(column.type):
        return column
    if not pa.types.is_string(column.type):
        column = column.cast(pa.string())
    return column.dictionary_encode()


def _renamed(column: Any, names: dict[str, str], otherwise: str | None) -> Any:
    """The same column with other words; those not in `names` become `otherwise`, or stay."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    renamed = []
    for chunk in chunks:
        words = [names.get(word, word if otherwise is None else otherwise) for word in chunk.dictionary.to_pylist()]
        plain = pa.DictionaryArray.from_arrays(chunk.indices, pa.array(words, pa.string())).cast(pa.string())
        renamed.append(plain.dictionary_encode())  # two of their words may be one of ours
    return pa.chunked_array(renamed, pa.dictionary(pa.int32(), pa.string()))
