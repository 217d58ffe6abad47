"""Where each delivered frame lies in the log: the delivery log that a protocol reads back."""

from array import array
from collections import deque
from typing import Final

from tocsin.core.machine import DeliveryLog, Entry, GroupId
from tocsin.live.errors import Damaged
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.file_format import content_check
from tocsin.live.storage.log_format import Deliver, GroupState

_OFFSET_BITS: Final = 40  # a file of the log is below a terabyte
FORGET_MIN: Final = 4096  # entries are dropped from the front of the index in pieces of at least this many


class GroupIndex:
    """The frames of one group, by position: arrays, since there may be millions."""

    def __init__(self) -> None:
        self.base = 0  # position of the first frame in the arrays
        self.end = 0  # position after the last frame
        self.trimmed = 0  # the protocol needs nothing below
        self.position = 0  # next message position
        self.unfinished: dict[int, int] = {}  # origin -> frame position where its unfinished large message begins
        self.handed: tuple[tuple[int, bytes], ...] = ()  # pieces of these that another member has handed over
        self._ended: deque[tuple[int, int]] = deque()  # of large messages: positions of the last and the first piece
        self._where = array("Q")  # file number and offset
        self._size = array("I")
        self._origin = array("I")
        self._frame = array("Q")
        self._count = array("I")  # messages that end in the frame
        self._check = array("Q")  # of the frame's bytes

    def restore(self, state: GroupState) -> None:
        """Begin an empty index where a snapshot stands."""
        self.base = self.end = self.trimmed = state.end
        self.position = state.position
        self.unfinished = dict(state.unfinished)
        self.handed = state.handed

    def state(self) -> GroupState:
        return GroupState(self.end, self.position, tuple(sorted(self.unfinished.items())), self.handed)

    def append(self, op: Deliver, file: int, offset: int) -> None:
        if op.file >= 0:
            file, offset = op.file, op.offset
        self._where.append(file << _OFFSET_BITS | offset)
        self._size.append(op.size)
        self._origin.append(op.origin)
        self._frame.append(op.frame)
        self._count.append(op.count)
        self._check.append(op.check)
        if op.is_open:
            self.unfinished.setdefault(op.origin, self.end)
        elif op.origin in self.unfinished:
            self._ended.append((self.end, self.unfinished.pop(op.origin)))
            if self.handed:
                self.handed = tuple([each for each in self.handed if each[0] != op.origin])
        self.end += 1
        self.position += op.count

    def undo(self, begins: int) -> None:
        """Take the newest frame back; `begins`: where its origin's unfinished message then begins, or -1."""
        origin = self._origin[-1]
        self.position -= self._count.pop()
        for column in (self._where, self._size, self._origin, self._frame, self._check):
            column.pop()
        self.end -= 1
        if self._ended and self._ended[-1][0] == self.end:
            self._ended.pop()
        if begins >= 0:
            self.unfinished[origin] = begins
        else:
            self.unfinished.pop(origin, None)

    def skip(self, position: int) -> None:
        """Go on at a later frame position."""
        self.base = self.end = self.trimmed = position
        self.unfinished.clear()
        self.handed = ()
        self._ended.clear()
        for column in (self._where, self._size, self._origin, self._frame, self._count, self._check):
            del column[:]

    def go_on(self, position: int, pieces: tuple[tuple[int, bytes], ...]) -> None:
        """After `skip`: where the messages stand, as another member has said."""
        self.position = position
        self.handed = pieces
        self.unfinished = {origin: self.end for origin, _ in pieces}

    def needed_from(self, trimmed: int) -> int:
        """The oldest frame that is needed when the protocol needs none below `trimmed`, which never falls: messages are
        needed whole, those that are unfinished, and those whose last piece may still be taken back."""
        while self._ended and self._ended[0][0] < trimmed:
            self._ended.popleft()
        begins = [begin for _, begin in self._ended] + list(self.unfinished.values())
        return min(trimmed, min(begins, default=self.end))

    def forget(self, position: int) -> None:
        """Drop index entries below a position."""
        drop = min(position, self.end) - self.base
        if drop >= FORGET_MIN:
            for column in (self._where, self._size, self._origin, self._frame, self._count, self._check):
                del column[:drop]
            self.base += drop

    def place(self, position: int) -> tuple[int, int, int, int]:
        """File number, offset, size and checksum of a frame's bytes."""
        at = position - self.base
        where = self._where[at]
        return where >> _OFFSET_BITS, where & ((1 << _OFFSET_BITS) - 1), self._size[at], self._check[at]

    def trim_missing(self, files: dict[int, int]) -> None:
        """After a restart: frames whose bytes lay in a file that was let go of were not needed, nor those before."""
        for at in range(len(self._where) - 1, -1, -1):
            if self._where[at] >> _OFFSET_BITS not in files:
                self.trimmed = max(self.trimmed, self.base + at + 1)
                return

    def about(self, position: int) -> tuple[int, int, int]:
        """Origin, frame number and count of messages of a frame."""
        at = position - self.base
        return self._origin[at], self._frame[at], self._count[at]


class LoggedFrames(DeliveryLog):
    """Reads frames back by their positions; each is checked on the way."""

    def __init__(self, groups: int, disk: Disk) -> None:
        self._disk = disk
        self.groups = [GroupIndex() for _ in range(groups)]
        self.files: dict[int, int] = {}  # file number -> descriptor

    def group(self, group: GroupId) -> GroupIndex:
        """Groups may be created while running."""
        while len(self.groups) <= group:
            self.groups.append(GroupIndex())
        return self.groups[group]

    def first(self, group: GroupId) -> int:
        index = self.group(group)
        return max(index.base, index.trimmed)

    def end(self, group: GroupId) -> int:
        return self.group(group).end

    def read(self, group: GroupId, position: int, count: int) -> list[Entry]:
        if position < self.first(group):
            return []
        return self.read_any(group, position, count)

    def read_any(self, group: GroupId, position: int, count: int) -> list[Entry]:
        """As `read`, and below `first` while the files are still there."""
        index = self.group(group)
        entries: list[Entry] = []
        if position < index.base:
            return entries
        for at in range(position, min(position + count, index.end)):
            file, offset, size, check = index.place(at)
            origin, frame, _ = index.about(at)
            payload = self.read_bytes(file, offset, size)
            if len(payload) != size or content_check(payload) != check:
                raise Damaged(f"file {file} of the log: offset {offset}: frame {at} of group {group} is damaged")
            entries.append(Entry(group, origin, frame, payload))
        return entries

    def read_bytes(self, file: int, offset: int, size: int) -> bytes:
        try:
            return self._disk.read(self.files[file], size, offset)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise Damaged(f"file {file} of the log: offset {offset}: cannot be read: {why}") from None
