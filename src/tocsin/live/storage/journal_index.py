"""Which rows a member's folder holds, and where: an index that goes on with the member, and changes nothing there.

Files of the journal are known by their ends alone. What the log holds behind them is read once, batch by batch; asked
again, the index goes on where it stopped.
"""

from pathlib import Path
from typing import Any, Final

import numpy as np

from tocsin.core.errors import InputError
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.identity import is_running, read_identity
from tocsin.live.storage.journal import arrow_batches
from tocsin.live.storage.journal_checks import read_check
from tocsin.live.storage.journal_columns import group_name
from tocsin.live.storage.journal_folder import journal_files, journal_path
from tocsin.live.storage.journal_rows import RowMaker, Standing
from tocsin.live.storage.journal_writer import standing_after, standing_at, standing_of
from tocsin.live.storage.log_format import Deliver, Missed, Rollback, Snapshot, View
from tocsin.live.storage.log_reader import BatchEnd, LogReader, Noted
from tocsin.live.storage.segments import ARROW, CRASH, LOG, LOOKS_MAX, RETAINED, Segment
from tocsin.traces.rows import DELIVER

SEGMENT_ROWS: Final = 8_192  # of the log, at least; a reader of the newest rows reads so many again at the most


class JournalIndex:
    """Of one member's folder, in one incarnation."""

    def __init__(self, site_dir: Path) -> None:
        self.identity = read_identity(site_dir)
        self.site_dir = site_dir
        self._disk = Disk()
        self._log = LogReader(site_dir / "wal")
        self._files: dict[int, Segment] = {}  # of the journal
        self._ended = Standing()  # behind the last of them
        self._tail = _Tail(self)
        self._crash: Segment | None = None

    def segments(self) -> list[Segment]:
        """What there is now, oldest first. InputError (Damaged) if something cannot be read that must be there."""
        was_running = is_running(self.site_dir)
        for _ in range(LOOKS_MAX):
            logged = self._log.files()  # first: a file leaves the log only after its Arrow file is there
            self._list_files()
            last = max(self._files, default=-1)
            try:
                self._tail.go_on(self._log, [file for file in logged if file > last], last, self._ended)
                break
            except FileNotFoundError as error:
                if self._log.files() == logged:
                    raise InputError(f"{error.filename}: missing, and the log refers to it") from None
                self._tail = _Tail(self)
        stopped = not was_running and not is_running(self.site_dir)
        found = [*self._files.values(), *self._tail.segments]
        return [*self._retained(found), *found, *(self._last_crash(found) if stopped else [])]

    def names(self) -> tuple[str, ...]:
        return tuple(self.identity.groups)

    def _list_files(self) -> None:
        folder = self.site_dir / "journal"
        numbers = journal_files(folder)
        for gone in self._files.keys() - set(numbers):
            del self._files[gone]
        for number in numbers:
            if number in self._files:
                continue
            try:
                self._files[number] = self._file(journal_path(folder, number), number)
            except FileNotFoundError:
                continue  # dropped by retention meanwhile
        self._files = dict(sorted(self._files.items()))

    def _file(self, path: Path, number: int) -> Segment:
        begun, ended = standing_of(path), standing_after(path)
        if number > max(self._files, default=-1):
            self._ended = ended
        check = read_check(self._disk, path.parent, number)
        begins, ends = (None, None) if check is None else (check.begins, check.ends)
        if begins is None or ends is None:
            begins, ends = _positions_in(path)
        elif number == journal_files(path.parent)[0]:  # who came later begins in the middle of the group's order
            begins = {group: max(first, begins.get(group, 0)) for group, first in _positions_in(path)[0].items()}
        size = path.stat().st_size if check is None else check.size
        return Segment(str(self.site_dir), ARROW, number, begun, ended.next_order, begins, ends, size)

    def _retained(self, found: list[Segment]) -> list[Segment]:
        """Where older rows were dropped, a row before all others says so."""
        if not found or found[0].first_order == 0:
            return []
        first = found[0]
        standing = Standing(first.first_order - 1, first.standing.time_us)
        return [first._replace(kind=RETAINED, standing=standing, end_order=first.first_order, ends=first.begins)]

    def _last_crash(self, found: list[Segment]) -> list[Segment]:
        standing = self._tail.standing if self._tail.segments else self._ended
        if not found or standing.time_us == 0 or not standing.is_up:
            return []
        last = found[-1]
        end = standing.next_order + 1
        return [last._replace(kind=CRASH, standing=standing, end_order=end, begins=last.ends, size=0)]


class _Tail:
    """What the log holds behind the journal's files, as far as it was read."""

    def __init__(self, index: JournalIndex) -> None:
        self._site_dir = str(index.site_dir)
        self._names = index.names()
        self._identity = index.identity
        self._log = LogReader(index.site_dir / "wal")
        self._cuttable = not _takes_back(index.identity.protocol)
        self.segments: list[Segment] = []
        self.standing = Standing()
        self._file = -1  # that is being read
        self._at: BatchEnd | None = None  # how far
        self._maker = RowMaker(self._identity, self._log)
        self._view: View | None = None
        self._open: set[tuple[int, int]] = set()  # (group, origin) with an unfinished message
        self._delivered: dict[str, int] = {}  # by group: the first position that the last segment delivers

    def go_on(self, log: LogReader, files: list[int], last: int, ended: Standing) -> None:
        """Read what is new. `files`: of the log, behind those of the journal, of which `last` is the last."""
        self.segments = [each for each in self.segments if each.file > last]
        for file in files:
            if file < self._file:
                continue
            if file > self._file:
                self._begin(log, file, last, ended)
            for noted, at in log.read_on(file, self._at):
                self._take(noted, at)
        self.standing = self._maker.standing()

    def _begin(self, log: LogReader, file: int, last: int, ended: Standing) -> None:
        is_next = last < self._file == file - 1
        if not is_next:
            known, standing = (self._file, self._maker.standing()) if self._file > last else (last, ended)
            self._maker = RowMaker(self._identity, self._log)
            self._maker.go_on_from(standing_at(log, file, known, standing))
        self._file, self._at = file, None
        self._cut(None)

    def _cut(self, at: BatchEnd | None) -> None:
        """A segment begins here."""
        positions = self._maker.positions()
        numbered = tuple(positions.get(group, 0) for group in range(max(positions, default=-1) + 1))
        standing = self._maker.standing()
        named = self._named()
        self._delivered = {}
        self.segments.append(
            Segment(
                self._site_dir,
                LOG,
                self._file,
                standing,
                standing.next_order,
                named,
                named,
                0,
                at,
                self._view,
                numbered,
            )
        )

    def _take(self, noted: list[Noted], at: BatchEnd) -> None:
        last = self.segments[-1]
        if self._cuttable and not self._open and last.end_order - last.first_order >= SEGMENT_ROWS:
            self._cut(self._at)
        for each in noted:
            self._maker.feed(each)
            self._note(each)
        if self._maker.is_full():
            self._maker.take()
        last = self.segments[-1]
        begins = (last.begins or self._first_positions(noted)) | self._delivered
        begun = 0 if last.at is None else last.at[0]
        self._at = at
        self.segments[-1] = last._replace(
            end_order=self._maker.standing().next_order, begins=begins, ends=self._named(), size=at[0] - begun
        )

    def _note(self, noted: Noted) -> None:
        op = noted.op
        if isinstance(op, Deliver):
            (self._open.add if op.is_open else self._open.discard)((op.group, op.origin))
            if op.count:  # behind what it missed, if it did
                self._delivered.setdefault(self._name(op.group), op.position)
        elif isinstance(op, View) and op.group < 0:
            self._view = op
        elif isinstance(op, Missed) and op.origin < 0:
            self._open = {each for each in self._open if each[0] != op.group}
        elif isinstance(op, Rollback):
            (self._open.add if op.begins >= 0 else self._open.discard)((op.group, op.origin))
        elif isinstance(op, Snapshot):
            self._view = op.view
            self._open = {(group, origin) for group, state in enumerate(op.groups) for origin, _ in state.unfinished}

    def _first_positions(self, noted: list[Noted]) -> dict[str, int]:
        """Those of the snapshot that a file begins with."""
        for each in noted:
            if isinstance(each.op, Snapshot):
                return {self._name(group): state.position for group, state in enumerate(each.op.groups)}
        return {}

    def _named(self) -> dict[str, int]:
        return {self._name(group): position for group, position in self._maker.positions().items()}

    def _name(self, group: int) -> str:
        return group_name(self._names, group)


def _takes_back(protocol: str) -> bool:
    """Whether a protocol takes deliveries back: then a piece of its log means nothing without what lies before it."""
    from tocsin.protocols.registry import REGISTRY

    return protocol not in REGISTRY or "rollbacks" in REGISTRY[protocol].expects


def _positions_in(path: Path) -> tuple[dict[str, int], dict[str, int]]:
    """By group, of a file that nobody has noted it for: its first position, and the one behind its last."""
    begins: dict[str, int] = {}
    ends: dict[str, int] = {}
    for batch in arrow_batches(path):
        groups = batch.column("group").dictionary_encode()
        codes = groups.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        delivered = np.asarray(batch.column("event").to_numpy(zero_copy_only=False) == DELIVER)
        positions: Any = batch.column("position").fill_null(-1).to_numpy(zero_copy_only=False)
        for code, name in enumerate(groups.dictionary.to_pylist()):
            own = positions[delivered & (codes == code)]
            if len(own):
                begins[name] = min(begins.get(name, int(own[0])), int(own.min()))
                ends[name] = max(ends.get(name, 0), int(own.max()) + 1)
    return begins, ends
