"""What this site keeps on disk: records, when they are folded into a checkpoint, and the log that others may need.

Own messages are persisted when taken. Messages of others are persisted (`Kept`) in the step that counts them, with a
`Turn` that says what was counted, before the token leaves. How far everything is ordered is a record (`Ordered`) of the
step that orders it; how far it is delivered, the log says by positions of the group. Promises, votes and views are
persisted, and synced, before anybody hears of them.
"""

from typing import Final

from tocsin.core.data import Data
from tocsin.core.message import Record
from tocsin.core.records import Records
from tocsin.protocols.counter_token.context import MESSAGE_OVERHEAD, Context
from tocsin.protocols.counter_token.records import Kept

RECORD_BYTES_MAX: Final = 8 << 20  # payload on disk before a checkpoint: a log file is closed at one, and is 16 MiB


class Store:
    """Records, counted."""

    def __init__(self, context: Context) -> None:
        self._records = Records(context.outbox, context.options.records_max)
        self._bytes = 0  # of payloads since the last checkpoint

    def recall(self, records: list[Record]) -> None:
        self._records.recall(records)

    def persist(self, record: Record) -> None:
        self._records.persist(record)

    def persist_payload(self, record: Record, payload: bytes) -> None:
        self._records.persist(record)
        self._bytes += len(payload)

    def keep(self, data: Data) -> None:
        self.persist_payload(Kept(data.group, data.origin, data.seqno, data.payload), data.payload)

    def is_due(self, live: int, held_bytes: int) -> bool:
        """Whether to fold; `live`: messages and entries that a checkpoint repeats."""
        live += held_bytes // MESSAGE_OVERHEAD
        return self._records.are_many(2 * live) or self._bytes >= RECORD_BYTES_MAX + 2 * held_bytes

    def fold(self, records: list[Record]) -> None:
        self._records.fold(records)
        self._bytes = 0
