"""Where the frames lie that were delivered before what is read now of a log.

Who makes rows of the log needs old frames in two cases: it begins in the middle of a large message, or the last piece
of one is taken back and delivered again. Only those frames are read. What else the earlier files of the log refer to
may be gone.
"""

from tocsin.live.storage.log_format import Deliver, Missed, Rollback, Snapshot
from tocsin.live.storage.log_reader import LogReader, Noted
from tocsin.live.storage.logged_frames import GroupIndex


class EarlierFrames:
    """Told what is read of a log, operation by operation; it looks at files before that only when asked for more."""

    def __init__(self, log: LogReader) -> None:
        self._log = log
        self._groups: dict[int, GroupIndex] = {}
        self._file = -1  # that is being read
        self._noted = 0  # operations of it that were noted
        self._begins: dict[int, dict[int, int]] = {}  # file -> by group, the position of the next frame when it began

    def note(self, noted: Noted) -> None:
        op = noted.op
        if noted.file != self._file:
            self._file = noted.file
            self._noted = 0
        self._noted += 1
        if isinstance(op, Deliver):
            self._group(op.group).append(op, noted.file, noted.contents_at)
        elif isinstance(op, Rollback):
            self._undo(op)
        elif isinstance(op, Missed) and op.origin < 0:
            self._group(op.group).skip(op.first + op.count)
            if op.position >= 0:
                self._group(op.group).go_on(op.position, op.pieces)
        elif isinstance(op, Snapshot):
            self._begin_file(op)

    def read(self, group: int, origin: int, begins: int) -> list[bytes]:
        """The frames of an origin, from this position on, oldest first. FileNotFoundError as of `LogReader.read`."""
        if begins < self._group(group).base:
            self._look_back()
        index = self._group(group)
        positions = range(max(begins, index.base), index.end)
        return [self._log.frame(index.place(at)) for at in positions if index.about(at)[0] == origin]

    def _group(self, group: int) -> GroupIndex:
        return self._groups.setdefault(group, GroupIndex())

    def _undo(self, op: Rollback) -> None:
        index = self._group(op.group)
        if index.end == index.base:  # it was delivered before what was read
            index.skip(index.end - 1)
        else:
            index.undo(op.begins)

    def _begin_file(self, op: Snapshot) -> None:
        for group, state in enumerate(op.groups):
            if self._group(group).end != state.end:
                self._group(group).skip(state.end)
        self._begins[self._file] = {group: index.end for group, index in self._groups.items()}
        self._forget()

    def _forget(self) -> None:
        """A frame lies in the file that notes it, or in an older one: it is gone with that file."""
        files = set(self._log.files())
        while (oldest := min(self._begins)) != self._file and oldest not in files:
            del self._begins[oldest]
        for group, position in self._begins[oldest].items():
            self._groups[group].forget(position)

    def _look_back(self) -> None:
        """Note everything again, from the oldest file of the log up to where this one stands."""
        file, noted = self._file, self._noted
        self._groups = {}
        self._begins = {}
        for earlier in self._log.files():
            if earlier < file:
                for each in self._log.read(earlier, with_frames=False):
                    self.note(each)
        for each in self._log.read(file, with_frames=False):
            self.note(each)
            if self._noted == noted:
                break
