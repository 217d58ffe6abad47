"""Some rows of a part of a log."""

from dataclasses import replace

from tocsin.properties.kernels.arrays import Flags, Ints
from tocsin.properties.kernels.encode import LogPart
from tocsin.properties.kernels.streams import Stream


def taken(part: LogPart, rows: Ints | Flags, receipts: Ints | Flags, duplicates: list[tuple[Stream, int]]) -> LogPart:
    """Rows and receptions by their places, or by flags; what is known of the log besides is known elsewhere."""
    return replace(
        part,
        event=part.event[rows],
        stream=part.stream[rows],
        seqno=part.seqno[rows],
        order=part.order[rows],
        time_us=part.time_us[rows],
        view=part.view[rows],
        position=None if part.position is None else part.position[rows],
        receipt_stream=part.receipt_stream[receipts],
        receipt_seqno=part.receipt_seqno[receipts],
        receipt_order=part.receipt_order[receipts],
        receipt_time_us=part.receipt_time_us[receipts],
        duplicates=duplicates,
        views=[],
        interruptions=[],
        lost=[],
        gaps=[],
    )


def has_rows(part: LogPart) -> bool:
    return bool(len(part.event) or len(part.receipt_order) or part.duplicates)
