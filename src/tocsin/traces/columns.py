"""Columns as other writers made them, in the kinds that readers here know; text that is no text is refused."""

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from tocsin.core.errors import InputError
from tocsin.traces.rows import TOO_LARGE


def accept_columns(data: Any, words: Collection[str], source: str) -> Any:
    """The same table or record batch. `words`: columns of names, for which numbers of any size will do; `source`: what
    a message calls the data.
    """
    columns = [
        _accepted(column, name in words, f"{source}: column `{name}`")
        for name, column in zip(data.schema.names, data.columns, strict=True)
    ]
    if all(new is old for new, old in zip(columns, data.columns, strict=True)):
        return data
    fields = [field.with_type(column.type) for field, column in zip(data.schema, columns, strict=True)]
    return type(data).from_arrays(columns, schema=pa.schema(fields, data.schema.metadata))


def _accepted(column: Any, is_name: bool, where: str) -> Any:
    kind = column.type
    try:
        if pa.types.is_uint64(kind) and not is_name:
            return column.cast(pa.int64())
        _check_text(column)
    except pa.ArrowInvalid as error:
        what = TOO_LARGE if pa.types.is_uint64(kind) else f"expected text: {first_line(error)}"
        raise InputError(f"{where}: {what}") from None
    if pa.types.is_string_view(kind):  # Arrow can neither number nor compare these yet
        return column.cast(pa.string())
    if _is_list(kind) and pa.types.is_string_view(kind.value_type):
        return column.cast(pa.list_(pa.string()))
    return column


def _check_text(column: Any) -> None:
    """Of a column with a dictionary only the dictionary: that is short."""
    kind = column.type
    if not (pa.types.is_dictionary(kind) or _is_list(kind) or is_text(kind)):
        return
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        (chunk.dictionary if pa.types.is_dictionary(kind) else chunk).validate(full=True)


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
