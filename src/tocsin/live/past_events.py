"""What a member has heard before it was opened, out of its journal and log, as the events that it was.

The files are held when the member is opened, before its log goes on: those of the journal by links, in a folder of
their own, and what is in none of them as one more file beside. So retention and the log go on as they like, and what is
read ends exactly where what is heard begins.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tocsin.live.events import Batch, BatchEvent, Missed, Rollback, View
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.holding import Place, first_needed
from tocsin.live.storage.journal import journal_pieces
from tocsin.live.storage.journal_checks import FileCheck, read_check, require_intact
from tocsin.live.storage.journal_folder import journal_files
from tocsin.live.storage.journal_rows import Standing
from tocsin.live.storage.journal_writer import arrow_file, write_arrow
from tocsin.live.storage.log_reader import LogReader
from tocsin.traces.rows import DELIVER, MISSED, ROLLBACK, VIEW

FOLDER: Final = "replay"  # in a member's folder, while it is read


class PastEvents:
    """Of one member, from the first file that a place needs."""

    def __init__(self, site_dir: Path, place: Place, names: tuple[str, ...]) -> None:
        """Hold the files; log and journal stand still. `names`: of the groups."""
        self._disk = Disk()
        self._journal = site_dir / "journal"
        self._scratch = site_dir / FOLDER
        self._checks: dict[Path, FileCheck] = {}  # of held files that were not checked yet
        self._files: list[Path] = []
        self.close()
        self._scratch.mkdir(mode=0o700)
        first = first_needed(self._journal, journal_files(self._journal, self._disk), place, self._disk)
        for number, piece in enumerate(journal_pieces(site_dir, self._hold, first)):
            if isinstance(piece, Path):
                self._files.append(piece)
            elif piece:
                self._files.append(self._scratch / f"rows-{number:06d}.arrow")
                write_arrow(self._disk, self._files[-1], Standing(), iter(piece))
        self.begins = self._begins(site_dir, first, names)  # by group: the position of the first message, if known

    def _hold(self, path: Path) -> Path:
        """By a link; where none can be made, retention may take it before it was read, which is then told as missed.
        It is checked when its turn comes."""
        check = read_check(self._disk, self._journal, int(path.stem))
        held = self._scratch / path.name
        try:
            os.link(path, held)
        except FileNotFoundError:
            raise
        except OSError:
            held = path
        if check is not None:
            self._checks[held] = check
        return held

    def _begins(self, site_dir: Path, first: int, names: tuple[str, ...]) -> dict[str, int] | None:
        check = read_check(self._disk, self._journal, first)
        if check is not None:
            return check.begins
        log = LogReader(site_dir / "wal")
        found = log.snapshot(first) if log.has(first) else None
        return None if found is None else {name: s.position for name, s in zip(names, found[1].groups, strict=False)}

    def read(self) -> Iterator[list[BatchEvent]]:
        """All events, oldest first, some at a time; Damaged if a file is not as it was written."""
        for path in self._files:
            with contextlib.suppress(FileNotFoundError):
                if path in self._checks:
                    require_intact(self._disk, path, self._checks[path])
                with arrow_file(path) as reader:
                    for number in range(reader.num_record_batches):
                        batch = reader.get_batch(number)
                        batch.validate(full=True)  # before anything relies on what it says
                        yield events_of(batch)
                if path.parent == self._scratch:
                    path.unlink()
        self.close()

    def close(self) -> None:
        """Let go of what was not read."""
        shutil.rmtree(self._scratch, ignore_errors=True)


def events_of(batch: Any) -> list[BatchEvent]:
    """The events of a record batch of a journal; messages of one origin that follow one another are one."""
    event, group, origin = (batch.column(name).dictionary_encode() for name in ("event", "group", "origin"))
    numbers = {name: _numbers(batch.column(name)) for name in ("time_us", "seqno", "position")}
    numbers["sent_us"] = _numbers(batch.column("sent_us")) if "sent_us" in batch.schema.names else numbers["time_us"]
    same = np.ones(max(batch.num_rows - 1, 0), bool)  # by row but the first: it goes on with the one before
    for column in (event, group, origin):
        codes = _numbers(column.indices)
        same &= codes[1:] == codes[:-1]
    for name in ("time_us", "sent_us"):
        same &= numbers[name][1:] == numbers[name][:-1]
    for name in ("seqno", "position"):
        same &= numbers[name][1:] == numbers[name][:-1] + 1
    starts = [0, *(np.flatnonzero(~same) + 1).tolist(), batch.num_rows] if batch.num_rows else [0]
    events: list[BatchEvent] = []
    for first, end in pairwise(starts):
        kind = event[first].as_py()
        if kind == DELIVER:
            seqno, position, time_us = (int(numbers[name][first]) for name in ("seqno", "position", "time_us"))
            rows = batch.slice(first, end - first)
            payloads = rows.column("payload").to_pylist()
            names = (group[first].as_py(), origin[first].as_py())
            sent_us, numbered = _sent(rows)
            events.append(Batch(*names, seqno, position, time_us, payloads, sent_us, numbered))
        elif kind in _RARE:
            for at in range(first, end):
                events.append(_rare(batch.slice(at, 1).to_pylist()[0]))
    return events


_RARE: Final = (VIEW, ROLLBACK, MISSED)


def _rare(row: dict[str, Any]) -> BatchEvent:
    if row["event"] == VIEW:
        primary = row["primary"] is not False  # of a single group's view nothing is said
        return View(row["view"], tuple(row["members"]), primary, row["group"])
    if row["event"] == ROLLBACK:
        return Rollback(row["group"], row["origin"], row["seqno"], row["position"])
    first = row["position"] if row["origin"] is None else row["seqno"]
    return Missed(row["group"], row["origin"], first, row["size"])


def _sent(rows: Any) -> tuple[int | None, tuple[tuple[str, int] | None, ...] | None]:
    """When messages were sent, and by message its producer and number. Older journals do not say."""
    if "sent_us" not in rows.schema.names:
        return None, None
    sent_us, producers = rows.column("sent_us")[0].as_py(), rows.column("producer")
    if producers.null_count == len(producers):
        return sent_us, None
    both = zip(producers.to_pylist(), rows.column("number").to_pylist(), strict=True)
    return sent_us, tuple(None if producer is None else (producer, number) for producer, number in both)


def _numbers(column: Any) -> Any:
    """As an array; -1 for null."""
    return column.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
