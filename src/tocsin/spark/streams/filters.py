"""Conditions of a query that are decided while rows are read: what they exclude is never handed to Spark."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

_COMPARED: Final = {
    "EqualTo": pc.equal,
    "GreaterThan": pc.greater,
    "GreaterThanOrEqual": pc.greater_equal,
    "LessThan": pc.less,
    "LessThanOrEqual": pc.less_equal,
}


class Condition(NamedTuple):
    """`kind` is Spark's word for it."""

    kind: str
    column: str
    value: Any


def conditions_of(filters: Iterable[Any], schema: Any) -> tuple[list[Condition], list[Any]]:
    """Those of Spark's filters that are decided here, and the others."""
    taken: list[Condition] = []
    left: list[Any] = []
    for each in filters:
        found = _condition(each, schema)
        if found is None:
            left.append(each)
        else:
            taken.append(found)
    return taken, left


def _condition(each: Any, schema: Any) -> Condition | None:
    kind = type(each).__name__
    path: tuple[str, ...] = getattr(each, "attribute", ())
    if len(path) != 1 or path[0] not in schema.names or pa.types.is_list(schema.field(path[0]).type):
        return None
    if kind == "IsNotNull":
        return Condition(kind, path[0], None)
    if kind not in _COMPARED and kind != "In":
        return None
    values = list(each.value) if kind == "In" else [each.value]
    numeric = pa.types.is_integer(schema.field(path[0]).type)
    if not all(type(value) is (int if numeric else str) for value in values):
        return None
    return Condition(kind, path[0], tuple(values) if kind == "In" else values[0])


def kept(batch: Any, conditions: Iterable[Condition]) -> Any:
    """The rows that all conditions allow."""
    for condition in conditions:
        if condition.column not in batch.schema.names:
            return batch.slice(0, 0)  # a column of nulls, which no condition allows
        column = batch.column(condition.column)
        if condition.kind == "IsNotNull":
            mask = column.is_valid()
        elif condition.kind == "In":
            mask = pc.is_in(column, pa.array(condition.value, column.type))
        else:
            mask = _COMPARED[condition.kind](column, pa.scalar(condition.value, column.type))
        batch = batch.filter(mask)  # null counts as false
    return batch


def values_allowed(conditions: Iterable[Condition], column: str) -> set[Any] | None:
    """The values that a column may have; None: any."""
    allowed: set[Any] | None = None
    for condition in conditions:
        if condition.column == column and condition.kind in ("EqualTo", "In"):
            found = set(condition.value) if condition.kind == "In" else {condition.value}
            allowed = found if allowed is None else allowed & found
    return allowed


def bounds(conditions: Iterable[Condition], column: str) -> tuple[int, int]:
    """The least value that a column of numbers may have, and the one behind the greatest."""
    low, end = 0, 1 << 63
    for kind, name, value in conditions:
        if name != column:
            continue
        if kind == "In":
            low, end = max(low, min(value, default=0)), min(end, max(value, default=-1) + 1)
        if kind in ("EqualTo", "GreaterThanOrEqual"):
            low = max(low, value)
        if kind == "GreaterThan":
            low = max(low, value + 1)
        if kind in ("EqualTo", "LessThanOrEqual"):
            end = min(end, value + 1)
        if kind == "LessThan":
            end = min(end, value)
    return low, end
