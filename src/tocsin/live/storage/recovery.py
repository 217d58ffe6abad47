"""What is read of a log at a start: what is kept, what is cut, what is damage. Nothing is changed here.

**Needed** is everything up to N, the furthest of
- every sync mark that is found intact: in the marks file, in heads of batches, in headers of files;
- if the machine has not been started anew since (the boot id of the marks tells), how far the newest file was written
  (its end slots): kill -9 loses nothing that was written. Not after a failed sync: then the boot id is taken back.

| found                                                    | before N          | at N or behind it                  |
|----------------------------------------------------------|-------------------|------------------------------------|
| file intact, batch intact                                | kept              | kept; written again and synced     |
| batch: head or operations not intact, or out of its place| damage            | the end. In doubt if an end slot   |
|                                                          |                   | says that more was written         |
| batch: a content not intact                              | damage: whose     | the same                           |
| header not intact, or of another file or incarnation     | damage            | set aside; in doubt if it was used |
| file missing between others, or the newest               | damage            | later ones set aside; in doubt     |
| next header: this file ended later, or otherwise         | damage            | the same                           |
| snapshot contradicts the batches before it, or is missing| damage            | the same                           |
| mark contradicts the batch that ends there               | damage            | (a mark is never behind N)         |
| marks file missing or short, no slot intact              | N by the others   | in doubt                           |
| one slot of the marks not intact                         | the others count  |                                    |
| nothing wrong, `process`, machine started anew           | kept              | in doubt                           |
| nothing wrong, member had stopped in order               | kept: N is the end|                                    |
| nothing wrong, and in doubt at an earlier start          | kept              | in doubt, until `Log.settle`       |
| files older than the marks' first                        | let go of before: written over                         |

*Damage* is named, all of it, and the member does not start; the files stay as they are. *In doubt* is the end of the
log where something that was written, and may have been seen, may be missing: it is cut and named, and the protocol's
rule says when this member may vote again. What is cut without doubt was never seen by anybody.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tocsin.live.storage.disk import Disk
from tocsin.live.storage.file_format import BATCHES_AT, BatchRead, log_path
from tocsin.live.storage.file_walk import FileWalk, log_files
from tocsin.live.storage.log_format import Checkpoint, Deliver, FileEnd, FileHeader, Op, Persist, Place, Snapshot
from tocsin.live.storage.marks import NAME, NOBODY, Mark, are_short, read_marks


class Lost(NamedTuple):
    """Messages of a group, by positions; or, with group -1, state of the protocol."""

    group: int
    first: int
    messages: int  # -1: up to an unknown end


class Bad(NamedTuple):
    """Something that is not as it was written."""

    file: int
    offset: int
    what: str
    lost: tuple[Lost, ...] = ()

    @property
    def place(self) -> Place:
        return self.file, self.offset

    def line(self, folder: Path) -> str:
        return f"{log_path(folder, self.file)}: offset {self.offset}: {self.what}"


class State(NamedTuple):
    """Where what is read goes. Batches come in order, up to the first bad place."""

    apply: Callable[[int, BatchRead], str]  # file, batch -> in what it contradicts what came before it, or ""
    positions: Callable[[], list[int]]  # by group, of the next message, after what was applied


class Recovered:
    """What was found, and what is to be done about it."""

    def __init__(self, mark: Mark | None, number: int) -> None:
        self.mark = mark  # of the marks file
        self.number = number  # of that mark
        self.needed: Place = (0, 0)  # N
        self.synced: Place = (0, 0)  # what is known to be on the disk, not only in the system's memory
        self.damage: list[Bad] = []  # in order; if there is any, the log must not be used
        self.in_doubt = ""  # what may be missing at the end, and why
        self.ends: dict[int, FileEnd] = {}  # the files of the log, and where each ends
        self.aside: list[int] = []  # files that are not part of it any more, and are kept
        self.unused: list[int] = []  # files that nobody needs
        self.cut_bytes = 0  # written behind the end
        self.headers: dict[int, FileHeader] = {}  # intact ones
        self.first = 0  # the number of the oldest file, also if there is none


def recover(disk: Disk, folder: Path, state: State) -> Recovered:
    return _Recovery(disk, folder, state).run()


class _Recovery:
    def __init__(self, disk: Disk, folder: Path, state: State) -> None:
        number, mark = read_marks(disk, folder) or (0, None)
        self._disk = disk
        self._folder = folder
        self._state = state
        self._found = Recovered(mark, number)
        self._mark = mark
        self._bad: list[Bad] = []
        self._reach: dict[int, int] = {}  # by file: how far it was written, as its end slots tell
        self._walked: dict[int, int] = {}  # by file: up to where heads and operations are intact
        self._why: dict[int, str] = {}  # by file: why it ends there
        self._needed: Place = (0, 0) if mark is None else mark.place
        self._incarnation = NOBODY if mark is None else mark.incarnation
        present = log_files(disk, folder)
        self._first = mark.first if mark is not None else min(present, default=0)
        self._found.first = self._first
        self._found.unused = [file for file in present if file < self._first]
        self._files = [file for file in present if file >= self._first]

    def run(self) -> Recovered:
        walk: FileWalk | None = None
        following = self._open(self._first)
        for file in range(self._first, max(self._files, default=self._first - 1) + 1):
            before, walk, following = walk, following, self._open(file + 1)
            try:
                if self._has_header(file, walk, before):
                    assert walk is not None
                    self._read(walk, following)
            finally:
                if walk is not None:
                    walk.close()
        if following is not None:
            following.close()
        self._decide()
        return self._found

    def _open(self, file: int) -> FileWalk | None:
        return FileWalk(self._disk, self._folder, file) if file in self._files else None

    def _note(self, file: int, offset: int, what: str, lost: tuple[Lost, ...] = ()) -> None:
        self._bad.append(Bad(file, offset, what, lost))

    # Reading

    def _has_header(self, file: int, walk: FileWalk | None, before: FileWalk | None) -> bool:
        if walk is None:
            self._note(file, 0, "missing, and files before and behind it are there", self._lost_from_here())
            return False
        header = walk.header
        if header is None:
            why = f"cannot be read: {walk.unreadable}" if walk.unreadable else "is damaged"
            self._note(file, 0, f"the header {why}", self._lost_from_here())
            return False
        if self._incarnation == NOBODY:
            self._incarnation = header.incarnation
        if (header.file, header.incarnation) != (file, self._incarnation):
            other = f"file {header.file}" if header.file != file else "another incarnation"
            self._note(file, 0, f"the header is that of {other}", self._lost_from_here())
            return False
        self._found.headers[file] = header
        self._need(header.mark)
        self._reach[file] = walk.reach if self._ended_at(file) < 0 else 0
        if before is not None and before.header is not None:
            ended = FileEnd(before.file, before.end, before.check)
            if header.before is None or header.before.file != file - 1:
                self._note(file, 0, f"the header does not go on from file {file - 1}")
            elif header.before != ended and before.end >= header.before.end:
                self._note(file, 0, f"the header says that file {before.file} ended with another batch")
        return True

    def _read(self, walk: FileWalk, following: FileWalk | None) -> None:
        """The batches of a file; up to where the next file says that it ended."""
        file = walk.file
        limit = max(_limit(file, following), self._ended_at(file))
        good = FileEnd(file, BATCHES_AT, walk.check)
        wrong = -1  # the batch that ends where the marks say that another one does
        for batch, damaged in walk.batches():
            if limit >= 0 and batch.offset >= limit:
                break
            self._need(batch.mark)
            if damaged:
                self._note(file, batch.offset, *_described(damaged, walk.unreadable))
            elif not self._bad:
                self._apply(file, batch)
            if not self._bad:
                good = FileEnd(file, batch.end, batch.check)
            if self._mark is not None and self._mark.file == file and batch.offset < self._mark.offset <= batch.end:
                wrong = -1 if (self._mark.offset, self._mark.check) == (batch.end, batch.check) else batch.offset
        if wrong >= 0:
            self._note(file, wrong, "not the batch of which the marks say that it was synced", self._lost_from_here())
        if walk.end < limit:
            self._note(file, walk.end, f"the batches up to offset {limit} {_why(walk)}", self._lost_from_here())
        self._walked[file] = walk.end
        self._why[file] = _why(walk)
        self._found.ends[file] = good

    def _ended_at(self, file: int) -> int:
        """Where a file ends for good, as the marks say: a life ended or began there; -1 if they do not."""
        mark = self._mark
        is_end = mark is not None and (mark.closed or mark.ends) and mark.place > (file, 0)
        return mark.offset if mark is not None and is_end and mark.file == file else -1

    def _apply(self, file: int, batch: BatchRead) -> None:
        ops = batch.operations.ops
        if batch.offset == BATCHES_AT and not (ops and isinstance(ops[0], Snapshot)):
            self._note(file, batch.offset, "the file begins without a snapshot")
            return
        contradiction = self._state.apply(file, batch)
        if contradiction:
            self._note(file, batch.offset, f"the snapshot contradicts the batches before it: {contradiction}")

    def _need(self, place: Place) -> None:
        self._needed = max(self._needed, place)

    def _lost_from_here(self) -> tuple[Lost, ...]:
        """Deliveries of which nothing is known but where they begin; and state of the protocol."""
        if self._bad:
            return ()
        found = [Lost(group, position, -1) for group, position in enumerate(self._state.positions())]
        return (*found, Lost(-1, 0, -1))

    # Deciding

    def _decide(self) -> None:
        found, mark = self._found, self._mark
        last = max(self._files, default=self._first - 1)
        was_closed = mark is not None and mark.closed
        found.synced = self._needed
        if mark is not None and mark.boot == self._disk.boot_id() != NOBODY and not was_closed:
            was_begun = mark.begun > mark.file + 1 or not mark.ends or mark.offset == 0  # else it was only opened
            if mark.begun > mark.first and was_begun:
                self._need((mark.begun - 1, self._reach.get(mark.begun - 1, 1)))
        if not self._files and self._needed > (self._first, 0):
            self._note(self._first, 0, "missing: the marks say that there is a log")
        elif self._needed[0] > last and self._files:
            self._note(last + 1, 0, "missing: the marks say that there is such a file")
        elif self._walked.get(self._needed[0], self._needed[1]) < self._needed[1]:
            self._note_short(self._needed[0])
        found.needed = self._needed
        self._bad.sort(key=lambda bad: bad.place)
        found.damage = [bad for bad in self._bad if bad.place < self._needed]
        if not found.damage:
            self._cut(last, was_closed)

    def _note_short(self, file: int) -> None:
        end = self._walked[file]
        if (file, end) not in [bad.place for bad in self._bad]:
            what = f"the batches up to offset {self._needed[1]}, which are needed, {self._why[file]}"
            self._note(file, end, what, self._lost_from_here())

    def _cut(self, last: int, was_closed: bool) -> None:
        """Everything needed is there. What follows ends at the first bad place."""
        found, mark = self._found, self._mark
        doubts: list[str] = []
        if self._bad:
            cut = self._bad[0]
            was_used = cut.offset > 0 or mark is None or mark.begun > cut.file
            if was_used and (cut.file < last or cut.offset == 0 or self._reach.get(cut.file, 0) > cut.offset):
                doubts.append(f"{cut.line(self._folder)}; the log ends there")
            gone = [file for file in self._files if file > cut.file or (file == cut.file and cut.offset == 0)]
            found.aside = gone if was_used else []
            found.unused += [] if was_used else gone
            for file in gone:
                found.ends.pop(file, None)
            last = max(found.ends, default=self._first - 1)
        if last in found.ends:
            self._look_behind(found.ends[last], doubts)
        is_used = bool(set(self._disk.names(self._folder)) - {NAME})
        if is_used and (mark is None or are_short(self._disk, self._folder)):
            doubts.append(f"{self._folder / NAME}: missing or damaged: nobody knows how far the log was synced")
        elif mark is not None and not mark.syncs and not was_closed and mark.boot != self._disk.boot_id():
            doubts.append(
                f'{self._folder}: the machine was started anew, and with durability = "process" the log may have been '
                f"longer"
            )
        if mark is not None and mark.in_doubt:
            doubts.append(f"{self._folder}: in doubt since an earlier start")
        found.in_doubt = "; ".join(doubts)

    def _look_behind(self, last: FileEnd, doubts: list[str]) -> None:
        """Whether more was written to the last file than is there. An empty one is no part of the log."""
        found = self._found
        reach = self._reach[last.file]
        if last.end == BATCHES_AT:
            was_used = reach > last.end or any(bad.file == last.file for bad in self._bad)
            (found.aside if was_used else found.unused).append(last.file)
            del found.ends[last.file]
        if reach > last.end:
            found.cut_bytes = reach - last.end
            if not doubts:
                path = log_path(self._folder, last.file)
                doubts.append(f"{path}: offset {last.end}: written up to {reach}, and not intact from here on")


def _why(walk: FileWalk) -> str:
    return f"cannot be read ({walk.unreadable})" if walk.unreadable else "are damaged"


def _limit(file: int, following: FileWalk | None) -> int:
    """Where a file ended, as the next one says; -1 if nobody does."""
    if following is None or following.header is None or following.header.file != following.file:
        return -1
    before = following.header.before
    return before.end if before is not None and before.file == file else -1


def _described(damaged: list[Op], unreadable: str) -> tuple[str, tuple[Lost, ...]]:
    """What is lost with the contents of these operations."""
    lost: list[Lost] = []
    records = 0
    for op in damaged:
        if isinstance(op, Deliver):
            if lost and lost[-1].group == op.group and lost[-1].first + lost[-1].messages == op.position:
                lost[-1] = Lost(op.group, lost[-1].first, lost[-1].messages + op.count)
            else:
                lost.append(Lost(op.group, op.position, op.count))
        elif isinstance(op, (Persist, Checkpoint, Snapshot)):
            records += 1
    names = [f"group {each.group}, {_range(each)}" for each in lost]
    if records:
        lost.append(Lost(-1, 0, -1))
        names.append("the protocol's records")
    why = f"cannot be read ({unreadable})" if unreadable else "are damaged"
    return f"contents {why}: {'; '.join(names)}", tuple(lost)


def _range(lost: Lost) -> str:
    if lost.messages == 0:
        return f"a part of position {lost.first}"
    return f"positions {lost.first} to {lost.first + lost.messages - 1}"
