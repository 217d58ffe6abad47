"""A member's rows in segments: pieces of its log and journal that can be found again and read by themselves.

An Arrow file of the journal is a segment. What is in none of them yet is cut at batches of the log behind which no
large message is unfinished, so that each piece is read without what lies before it: a reader that follows a running
member reads what is new, and not the whole file again. When a file of the log has become an Arrow file meanwhile, its
segments are found in that one, by the orders of their rows.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from tocsin.live.storage.disk import Disk
from tocsin.live.storage.identity import read_identity
from tocsin.live.storage.journal import arrow_batches
from tocsin.live.storage.journal_checks import require_as_written
from tocsin.live.storage.journal_folder import journal_path
from tocsin.live.storage.journal_rows import RowMaker, Standing
from tocsin.live.storage.log_format import GroupState, Snapshot, View
from tocsin.live.storage.log_reader import BatchEnd, LogReader, Noted

ARROW: Final = "arrow"  # a file of the journal
LOG: Final = "log"  # a piece of a file of the log
RETAINED: Final = "retained"  # the row that says that older ones were dropped
CRASH: Final = "crash"  # the row that ends a life without a word, until the member notes it itself

LOOKS_MAX: Final = 100  # at a file that goes from the log to the journal meanwhile
LOOK_AGAIN_SECONDS: Final = 0.05


class Segment(NamedTuple):
    """Where some rows of a member are."""

    site_dir: str
    kind: str
    file: int
    standing: Standing  # of the rows, before the first
    end_order: int  # behind the last
    begins: dict[str, int]  # by group: the position of the next message, before the first row …
    ends: dict[str, int]  # … and behind the last
    size: int  # bytes, about
    at: BatchEnd | None = None  # in the log: the batch before it; None: the file begins with it
    view: View | None = None  # there
    positions: tuple[int, ...] = ()  # there, by number of the group

    @property
    def first_order(self) -> int:
        return self.standing.next_order


def segment_batches(segment: Segment) -> Iterator[Any]:
    """The rows of a segment as record batches with the columns of a journal. FileNotFoundError if retention has dropped
    them."""
    if segment.kind == ARROW:
        yield from _from_file(segment)
    elif segment.kind == LOG:
        yield from _from_log(segment)
    else:
        maker = _maker(segment)
        if segment.kind == CRASH:
            maker.add_crash()
        else:
            maker.go_on_from(Standing(segment.first_order + 1, segment.standing.time_us))
            maker.add_retained()
        yield from maker.take()


def _from_file(segment: Segment) -> Iterator[Any]:
    path = journal_path(Path(segment.site_dir) / "journal", segment.file)
    require_as_written(Disk(), path)
    for batch in arrow_batches(path):
        yield from _between(batch, segment.first_order, segment.end_order)


def _between(batch: Any, first: int, end: int) -> Iterator[Any]:
    """The rows with these orders, which rise."""
    orders = batch.column("order").to_numpy()
    low, high = np.searchsorted(orders, (first, end)).tolist()
    if high > low:
        yield batch.slice(low, high - low)


def _from_log(segment: Segment) -> list[Any]:
    """All at once: what was read of a file counts only if it is still there afterwards."""
    folder = Path(segment.site_dir)
    for _ in range(LOOKS_MAX):
        try:
            return _read_log(segment, LogReader(folder / "wal"))
        except FileNotFoundError:
            if journal_path(folder / "journal", segment.file).exists():
                return list(_from_file(segment))
            if not LogReader(folder / "wal").has(segment.file):
                raise
        time.sleep(LOOK_AGAIN_SECONDS)
    raise FileNotFoundError(2, "has left the log", str(folder / "wal"))


def _read_log(segment: Segment, log: LogReader) -> list[Any]:
    maker = _maker(segment)
    batches: list[Any] = []
    if segment.at is not None:
        groups = tuple(GroupState(0, position, ()) for position in segment.positions)
        snapshot = Snapshot(0, 0, segment.view, groups, (), ())
        maker.feed(Noted(segment.standing.time_us, snapshot, b"", segment.file, 0))
    for noted, _ in log.read_on(segment.file, segment.at):
        if maker.standing().next_order >= segment.end_order:
            continue  # to the end: only then what was read counts
        for each in noted:
            maker.feed(each)
        if maker.is_full():
            batches += maker.take()
    batches += maker.take()
    return [part for batch in batches for part in _between(batch, segment.first_order, segment.end_order)]


def _maker(segment: Segment) -> RowMaker:
    folder = Path(segment.site_dir)
    maker = RowMaker(read_identity(folder), LogReader(folder / "wal"))
    maker.go_on_from(segment.standing)
    return maker
