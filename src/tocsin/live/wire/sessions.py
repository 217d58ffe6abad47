"""Session numbers, kept over restarts: our own last one, and the newest of each peer (see `seal`)."""

import time
from pathlib import Path

import msgspec

from tocsin.core.files import write_whole


class _Kept(msgspec.Struct):
    own: int = 0
    peers: dict[str, int] = {}


class Sessions:
    """A small file beside the journal."""

    def __init__(self, site_dir: Path, sites: tuple[str, ...]) -> None:
        self._path = site_dir / "sessions.json"
        self._sites = sites
        try:
            kept = msgspec.json.decode(self._path.read_bytes(), type=_Kept)
        except (OSError, msgspec.MsgspecError):
            kept = _Kept()  # none yet, or unreadable: the clock and the random bits still make a session of its own
        self.own = max(time.time_ns() // 1000, kept.own + 1)
        self.newest = {sites.index(name): number for name, number in kept.peers.items() if name in sites}
        self._written: dict[int, int] = {}
        self.save()

    def has_changed(self) -> bool:
        return self._written != self._of_members() or not self._path.exists()

    def _of_members(self) -> dict[int, int]:
        """Probes have sessions, too; they are not worth keeping."""
        return {site: number for site, number in self.newest.items() if site < len(self._sites)}

    def save(self) -> None:
        """Write what has changed; may run in a thread."""
        members = self._of_members()
        kept = _Kept(self.own, {self._sites[site]: number for site, number in members.items()})
        write_whole(self._path, msgspec.json.encode(kept))
        self._written = members
