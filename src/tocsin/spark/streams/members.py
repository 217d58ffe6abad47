"""Whose folders are read, and what is in them now."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from tocsin.core.errors import InputError
from tocsin.live.errors import NotSupported
from tocsin.live.storage.aside import folders_aside
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.identity import Identity, read_identity
from tocsin.live.storage.journal_index import JournalIndex
from tocsin.live.storage.segments import Segment
from tocsin.live.storage.site_folders import site_folders
from tocsin.protocols.registry import REGISTRY

NOTHING: Final[tuple[int, int]] = (0, 0)


class Share(NamedTuple):
    """Rows of one segment: positions of a group, or orders of the log if there is no group."""

    segment: Segment
    group: str | None
    first: int
    end: int

    def rows(self) -> int:
        return self.end - self.first


def folders_of(paths: Iterable[str], site: str | None) -> list[Path]:
    """The members' folders meant by some paths; of one site, if it is named."""
    found = [folder for path in paths for folder in site_folders(Path(path))]
    if site is None:
        return found
    chosen = [folder for folder in found if read_identity(folder).site == site]
    if not chosen:
        names = ", ".join(sorted({read_identity(folder).site for folder in found}))
        raise InputError(f"option `site`: no member `{site}` there; there is {names}")
    return chosen


def delivering(paths: Iterable[str], site: str | None) -> list[Path]:
    """The folders that streamed rows are read from. Where positions are the group's, any member will do; where they are
    each member's own, it is the first by name."""
    folders = folders_of(paths, site)
    identities = [read_identity(folder) for folder in folders]
    first = identities[0]
    for identity in identities:
        if identity.group != first.group:
            raise InputError(f"path: expected members of one group, found `{first.group}` and `{identity.group}`")
    protocol = REGISTRY.get(first.protocol)
    if protocol is not None and "rollbacks" in protocol.expects:
        raise NotSupported(
            f"path: {protocol.name} takes deliveries back, so that no position lasts; see counter_token, or "
            "read all rows with option rows=trace"
        )
    if protocol is None or not protocol.has_common_order():
        return [min(zip([each.site for each in identities], folders, strict=True))[1]]
    return folders


def log_key(identity: Identity) -> str:
    """The name of one log in an offset."""
    return f"{identity.group}/{identity.site}/{identity.incarnation}"


class Members:
    """Folders, and what they hold. Asked again, it looks only at what is new."""

    def __init__(self, folders: list[Path], with_aside: bool = False) -> None:
        self._folders = folders
        self._with_aside = with_aside
        self._indexes: dict[Path, JournalIndex] = {}
        self.segments: dict[str, list[Segment]] = {}  # by log, as `look` has found them

    def look(self) -> None:
        self.segments = {}
        for folder in self._folders:
            aside = folders_aside(folder, Disk()) if self._with_aside else []
            for each in (*aside, folder):
                index = self._index(each)
                if index is not None:
                    self.segments[log_key(index.identity)] = index.segments()

    def _index(self, folder: Path) -> JournalIndex | None:
        """A member that has begun anew has another log."""
        try:
            identity = read_identity(folder)
        except InputError:
            if folder in self._folders:
                raise
            return None  # what is damaged there is missing
        known = self._indexes.get(folder)
        if known is None or known.identity != identity:
            self._indexes[folder] = known = JournalIndex(folder)
        return known

    # Positions

    def held(self) -> dict[str, tuple[int, int]]:
        """By group: the first position that somebody holds, and the one behind the last."""
        found: dict[str, tuple[int, int]] = {}
        for segments in self.segments.values():
            for segment in segments:
                for group, end in segment.ends.items():
                    begin = segment.begins.get(group, 0)
                    if begin < end:
                        low, high = found.get(group, (begin, end))
                        found[group] = (min(low, begin), max(high, end))
        return found

    def shares(self, group: str, first: int, end: int) -> tuple[list[Share], list[tuple[int, int]]]:
        """Who holds these positions, in order, and those that nobody holds any more."""
        shares: list[Share] = []
        gone: list[tuple[int, int]] = []
        every = [
            (segment.begins.get(group, 0), segment.ends[group], log, segment)
            for log, segments in self.segments.items()
            for segment in segments
            if segment.begins.get(group, 0) < segment.ends.get(group, 0) and segment.ends[group] > first
        ]
        every.sort(key=lambda each: (each[0], each[2]))
        current = ""
        while first < end:
            fits = [each for each in every if each[0] <= first < each[1]]
            if not fits:
                following = min((each[0] for each in every if each[0] > first), default=end)
                gone.append((first, min(following, end)))
                first = following
                continue
            chosen = next((each for each in fits if each[2] == current), max(fits, key=lambda each: each[1]))
            current = chosen[2]
            shares.append(Share(chosen[3], group, first, min(chosen[1], end)))
            first = chosen[1]
            every = [each for each in every if each[1] > first]
        return shares, gone

    # Orders

    def logs(self) -> dict[str, tuple[int, int]]:
        """By log: its first order, and the one behind its last."""
        return {
            log: (segments[0].first_order, segments[-1].end_order)
            for log, segments in self.segments.items()
            if segments
        }

    def log_shares(self, log: str, first: int, end: int) -> tuple[list[Share], list[tuple[int, int]]]:
        shares: list[Share] = []
        gone: list[tuple[int, int]] = []
        for segment in self.segments.get(log, []):
            low, high = max(first, segment.first_order), min(end, segment.end_order)
            if low >= high:
                continue
            if low > first and segment.kind != "retained":
                gone.append((first, low))
            shares.append(Share(segment, None, low, high))
            first = high
        if first < end:
            gone.append((first, end))
        return shares, gone
