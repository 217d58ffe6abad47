"""What the log keeps of what it wrote: batches that have their place, and where the records of the protocol lie."""

from tocsin.live.storage.batch import Batch
from tocsin.live.storage.log_format import FileEnd


class Laid:
    """A batch that has its place in a file."""

    def __init__(self, offset: int, batch: Batch, head: bytes, end: FileEnd, header: bytes, secret: bytes) -> None:
        self.file = end.file
        self.offset = offset
        self.batch = batch
        self.head = head
        self.contents_at = offset + len(head)
        self.end = end
        self.header = header  # if the batch begins a file; else b""
        self.secret = secret


class KeptRecord:
    """Where a live record of the protocol lies, and its checksums."""

    __slots__ = ("carried", "carried_check", "check", "file", "offset", "size")

    def __init__(self, file: int, offset: int, size: int, check: int, carried: int, carried_check: int) -> None:
        self.file = file
        self.offset = offset
        self.size = size
        self.check = check
        self.carried = carried  # so many bytes at its end have a checksum of their own
        self.carried_check = carried_check
