"""Columns of a trace as arrays of numbers."""

from typing import Any

import numpy as np
import pyarrow as pa

from tocsin.core.errors import InputError
from tocsin.properties.kernels.arrays import NONE, Codes, Flags, Ints
from tocsin.traces.rows import TOO_LARGE


def column_codes(table: Any, name: str) -> tuple[Codes, list[str]]:
    """A column of strings as numbers, -1 for null, and what they mean. An absent column is a column of nulls."""
    if name not in table.column_names:
        return np.full(table.num_rows, -1, np.int32), []
    column = table.column(name)
    if pa.types.is_null(column.type):
        return np.full(table.num_rows, -1, np.int32), []
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    indices = column.indices
    if indices.null_count:
        indices = indices.fill_null(-1)
    return indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False), column.dictionary.to_pylist()


def column_numbers(table: Any, name: str) -> Ints:
    """A column of numbers, NONE for null. An absent column is a column of nulls."""
    if name not in table.column_names or pa.types.is_null(table.column(name).type):
        return np.full(table.num_rows, NONE, np.int64)
    column = table.column(name)
    try:
        column = column.cast(pa.int64())
    except pa.ArrowInvalid:
        raise InputError(f"column `{name}`: {TOO_LARGE}") from None
    if column.null_count:
        column = column.fill_null(NONE)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    numbers: Ints = column.to_numpy(zero_copy_only=False)
    return numbers


def null_flags(table: Any, name: str) -> Flags:
    if name not in table.column_names:
        return np.ones(table.num_rows, np.bool_)
    if table.column(name).null_count == 0:
        return np.zeros(table.num_rows, np.bool_)
    flags: Flags = table.column(name).is_null().to_numpy()
    return flags
