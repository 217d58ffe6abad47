"""The audit of a trace that is a table in memory already."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tocsin.core.errors import InputError
from tocsin.properties.audit.limits import Limits
from tocsin.properties.audit.tally import Tally
from tocsin.properties.audit.tasks import spot_of, trace_row
from tocsin.properties.kernels.arrays import Ints
from tocsin.properties.kernels.certify import certify
from tocsin.properties.kernels.columns import column_numbers
from tocsin.properties.kernels.encode import POSITION, LogPart, UnsortedError, encode
from tocsin.properties.kernels.facts import RunFacts, Spot
from tocsin.properties.kernels.found import Found
from tocsin.properties.kernels.joined import join_logs, whole_logs
from tocsin.properties.kernels.scan import scan
from tocsin.properties.kernels.solve import solve_run
from tocsin.properties.report import Report
from tocsin.properties.terms import Groups, Patience, Terms
from tocsin.traces.calm import Calm, calm_of
from tocsin.traces.columns import accept_columns
from tocsin.traces.rows import Row
from tocsin.traces.schema import CLOCK_KEY, COLUMNS, NEVER_NULL, ONE_CLOCK, STRINGS, check_schema

SLICE_ROWS = 1_000_000  # encoded at a time
SOURCE = "table"  # what a message calls it


def audit_table(
    table: Any,
    groups: Groups,
    one_clock: bool | None,
    properties: Sequence[str],
    calm: Calm | None = None,
    patience: Patience | None = None,
) -> Report:
    """The named properties. `one_clock`, `calm`: None if the table's metadata says it."""
    return judge_table(table, Terms(groups, bool(one_clock), patience, calm), one_clock, properties)


def judge_table(table: Any, terms: Terms, one_clock: bool | None, properties: Sequence[str]) -> Report:
    """The same, by these terms."""
    check_schema(table.schema, SOURCE)
    table = accept_columns(table.select([name for name in COLUMNS if name in table.column_names]), STRINGS, SOURCE)
    for name in NEVER_NULL:
        if table.column(name).null_count:
            raise InputError(f"{SOURCE}: column `{name}`: expected a value, found null")
    metadata = table.schema.metadata or {}
    terms = replace(
        terms,
        one_clock=metadata.get(CLOCK_KEY) == ONE_CLOCK if one_clock is None else one_clock,
        calm=calm_of(metadata, SOURCE) if terms.calm is None else terms.calm,
    )
    unasked = () if terms.knows_calm() else (POSITION,)
    seen = table.select([name for name in table.column_names if name not in unasked])
    parts: dict[str, list[LogPart]] = {}
    tally = Tally()
    try:
        for start in range(0, table.num_rows, SLICE_ROWS):
            for part in encode(seen.slice(start, SLICE_ROWS)):
                parts.setdefault(part.run, []).append(part)
        sites = {part.site for own in parts.values() for part in own}
        for run in sorted(parts):
            tally.note(*_judge(run, parts[run], terms, properties))
    except UnsortedError as error:
        raise InputError(f"trace, {error}") from None
    report = Report(table.num_rows, len(parts), len(sites), tally.verdicts(_fetch(table, tally), {}))
    return report.only(properties)


def _judge(
    run: str, parts: list[LogPart], terms: Terms, properties: Sequence[str]
) -> tuple[RunFacts, dict[str, Found]]:
    """Large runs are proven in order from their fingerprints, if they are; what that leaves open is solved."""
    proven: dict[str, Found] = {}
    if sum(part.rows for part in parts) > Limits().run_rows:
        logs = join_logs(map(scan, parts))
        facts = RunFacts(run, [log.facts for log in logs], terms)
        certificate = certify(facts, whole_logs(facts, logs))
        proven = certificate.found
        if certificate.line_over:
            for name in ("acyclic", "causal"):
                proven.pop(name, None)
        if all(name in proven for name in properties):
            return facts, proven
    facts, found = solve_run(run, parts, terms, [name for name in properties if name not in proven])
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
            if (row.run, spot_of(row)) in wanted:
                found[row.run, spot_of(row)] = row
    return found
