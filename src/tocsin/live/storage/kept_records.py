"""The live records of the protocol, oldest first: where each lies in the log; read back, each is checked."""

from tocsin.live.errors import Damaged
from tocsin.live.storage.file_format import content_check
from tocsin.live.storage.log_format import Checkpoint, Persist, Snapshot
from tocsin.live.storage.logged_frames import LoggedFrames


class _Record:
    """Where a live record of the protocol lies, and its checksums."""

    __slots__ = ("carried", "carried_check", "check", "file", "offset", "size")

    def __init__(self, file: int, offset: int, size: int, check: int, carried: int, carried_check: int) -> None:
        self.file = file
        self.offset = offset
        self.size = size
        self.check = check
        self.carried = carried  # so many bytes at its end have a checksum of their own
        self.carried_check = carried_check


class KeptRecords:
    """As the log tells it; `Log` applies to it what is written."""

    def __init__(self) -> None:
        self.size_bytes = 0  # of all
        self._records: list[_Record] = []

    def append(self, op: Persist, file: int, offset: int) -> None:
        self._records.append(_Record(file, offset, op.size, op.check, op.carried, op.carried_check))
        self.size_bytes += op.size

    def replace(self, op: Checkpoint | Snapshot, file: int, offset: int) -> None:
        self._records = []
        self.size_bytes = sum(op.sizes)
        for size, check in zip(op.sizes, op.checks, strict=True):
            self._records.append(_Record(file, offset, size, check, 0, 0))
            offset += size

    def read(self, frames: LoggedFrames) -> list[bytes]:
        found: list[bytes] = []
        for record in self._records:
            data = frames.read_bytes(record.file, record.offset, record.size)
            split = record.size - record.carried
            if content_check(memoryview(data)[:split]) != record.check or (
                record.carried > 0 and content_check(memoryview(data)[split:]) != record.carried_check
            ):
                raise Damaged(f"file {record.file} of the log: offset {record.offset}: a protocol's record is damaged")
            found.append(data)
        return found

    def __len__(self) -> int:
        return len(self._records)
