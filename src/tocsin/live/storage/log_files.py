"""Which files the log has, and how long each is needed."""

from typing import Final

from tocsin.live.storage.log_format import GroupState

_NONE_NEEDED: Final = 1 << 62  # beyond every frame position

Positions = list[int]  # a frame position for each group


class LogFiles:
    """Files by their numbers; those that are closed say up to which frames they are needed."""

    def __init__(self, open_files: dict[int, int]) -> None:
        self.begins: dict[int, Positions] = {}  # file -> the oldest frames that its first messages need
        self.ends: dict[int, Positions] = {}  # closed file -> the frames after its last
        self.sizes: dict[int, int] = {}  # closed file -> bytes
        self._open = open_files  # file -> descriptor
        self._used_by: dict[int, int] = {}  # file -> the newest file that refers to its bytes
        self._pinned: dict[int, int] = {}  # file -> deliveries that refer to it and are not yet applied

    def begin(self, file: int, begins: Positions) -> None:
        self.begins[file] = begins

    def end(self, file: int, size: int, ends: Positions) -> None:
        """The file is closed."""
        self.ends[file] = ends
        self.sizes[file] = size

    def pin(self, file: int) -> bool:
        """A delivery that will be noted refers to bytes of this file; False if it is no longer there."""
        if file not in self._open:
            return False
        self._pinned[file] = self._pinned.get(file, 0) + 1
        return True

    def unpin(self, file: int) -> None:
        self._pinned[file] -= 1

    def refer(self, target: int, file: int, ends: Positions) -> None:
        """A delivery noted in one file has its bytes in an older one, which is kept as long as they are needed."""
        self._used_by[target] = file
        if target in self.ends:
            self.ends[target] = ends

    def need(self, file: int, group: int, position: int) -> None:
        """What a file notes rests on frames from this position on, too."""
        begins = self.begins[file]
        begins.extend([_NONE_NEEDED] * (group + 1 - len(begins)))
        begins[group] = min(position, begins[group])

    def needed_by(self, archived: int, group: int) -> int:
        """The oldest frame of a group that this file, or a later one, rests on."""
        needed = _NONE_NEEDED
        for file, begins in self.begins.items():
            if file >= archived and group < len(begins):
                needed = min(needed, begins[group])
        return needed

    def release(self, needed: Positions, archived: int) -> list[int]:
        """Forget closed files that hold no frame at or above `needed` and are below `archived`; which they were."""
        gone: list[int] = []
        for file in sorted(self.ends):
            if file >= archived or self._used_by.get(file, -1) >= archived or self._pinned.get(file, 0):
                break
            if any(end > needed[group] for group, end in enumerate(self.ends[file])):
                break
            del self.ends[file]
            del self.begins[file]
            del self.sizes[file]
            self._used_by.pop(file, None)
            self._pinned.pop(file, None)
            gone.append(file)
        return gone


def oldest_needed(groups: tuple[GroupState, ...]) -> list[int]:
    """Per group, the frame position from which on a reader that starts here can put every message together."""
    return [min((position for _, position in state.unfinished), default=state.end) for state in groups]
