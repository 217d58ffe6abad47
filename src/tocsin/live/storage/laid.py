"""What the log keeps of what it is writing: batches that have their place."""

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
