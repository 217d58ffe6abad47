"""The audit of a trace that is a table in memory already."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tocsin.core.errors import InputError
from tocsin.properties.audit.limits import Limits
from tocsin.properties.audit.tally import Tally
from tocsin.properties.audit.tasks import trace_row
from tocsin.properties.kernels.arrays import Ints
from tocsin.properties.kernels.case import Spot
from tocsin.properties.kernels.certify import certify
from tocsin.properties.kernels.encode import LogPart, UnsortedError, column_numbers, encode
from tocsin.properties.kernels.facts import RunFacts
from tocsin.properties.kernels.found import Found
from tocsin.properties.kernels.joined import join_logs
from tocsin.properties.kernels.scan import scan
from tocsin.properties.kernels.solve import solve_run
from tocsin.properties.report import Report
from tocsin.traces.columns import accept_columns
from tocsin.traces.rows import Row
from tocsin.traces.schema import CLOCK_KEY, COLUMNS, NEVER_NULL, ONE_CLOCK, STRINGS, check_schema

SLICE_ROWS = 1_000_000  # encoded at a time
SOURCE = "table"  # what a message calls it


def audit_table(
    table: Any, groups: Mapping[str, Sequence[str]], one_clock: bool | None, properties: Sequence[str]
) -> Report:
    """The named properties. `one_clock`: None if the table's metadata says it."""
    check_schema(table.schema, SOURCE)
    table = accept_columns(table.select([name for name in COLUMNS if name in table.column_names]), STRINGS, SOURCE)
    for name in NEVER_NULL:
        if table.column(name).null_count:
            raise InputError(f"{SOURCE}: column `{name}`: expected a value, found null")
    if one_clock is None:
        one_clock = (table.schema.metadata or {}).get(CLOCK_KEY) == ONE_CLOCK
    given = {group: list(sites) for group, sites in groups.items()}
    parts: dict[str, list[LogPart]] = {}
    tally = Tally()
    try:
        for start in range(0, table.num_rows, SLICE_ROWS):
            for part in encode(table.slice(start, SLICE_ROWS)):
                parts.setdefault(part.run, []).append(part)
        sites = {part.site for own in parts.values() for part in own}
        for run in sorted(parts):
            tally.note(*_judge(run, parts[run], given, one_clock, properties))
    except UnsortedError as error:
        raise InputError(f"trace, {error}") from None
    report = Report(table.num_rows, len(parts), len(sites), tally.verdicts(_fetch(table, tally), {}))
    return report.only(properties)


def _judge(
    run: str, parts: list[LogPart], groups: dict[str, list[str]], one_clock: bool, properties: Sequence[str]
) -> tuple[RunFacts, dict[str, Found]]:
    """Large runs are proven in order from their fingerprints, if they are; what that leaves open is solved."""
    proven: dict[str, Found] = {}
    if sum(part.rows for part in parts) > Limits().run_rows:
        logs = join_logs(map(scan, parts))
        facts = RunFacts(run, [log.facts for log in logs], groups, one_clock)
        certificate = certify(facts, [log for log in logs if log.facts.hole is None])
        proven = certificate.found
        if certificate.line_over:
            for name in ("acyclic", "causal"):
                proven.pop(name, None)
        if all(name in proven for name in properties):
            return facts, proven
    facts, found = solve_run(run, parts, groups, one_clock, [name for name in properties if name not in proven])
    return facts, proven | found


def _fetch(table: Any, tally: Tally) -> dict[tuple[str, Spot], Row]:
    """The rows of all witnesses."""
    found: dict[tuple[str, Spot], Row] = {}
    wanted = {(run, spot) for run, spots in tally.wanted_rows().items() for spot in spots}
    if not wanted:
        return found
    orders: Ints = np.array(sorted({spot.order for _, spot in wanted}), np.int64)
    for start in range(0, table.num_rows, SLICE_ROWS):
        some = table.slice(start, SLICE_ROWS)
        places = np.flatnonzero(np.isin(column_numbers(some, "order"), orders))
        for values in some.take(pa.array(places)).to_pylist():
            row = trace_row(values)
            if (row.run, Spot(row.site, row.order)) in wanted:
                found[row.run, Spot(row.site, row.order)] = row
    return found
