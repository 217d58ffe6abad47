"""Whether all members have the same state at the same position: their snapshots' digests travel in the order."""

from typing import Final

POSITIONS_MAX: Final = 8  # kept; a digest that comes later than so many snapshots is not compared


class Digests:
    """What was heard, by position and site."""

    def __init__(self) -> None:
        self._heard: dict[int, dict[str, bytes]] = {}

    def note(self, position: int, site: str, digest: bytes) -> str:
        """One line that names who differs, if somebody does; else nothing."""
        heard = self._heard.setdefault(position, {})
        heard[site] = digest
        while len(self._heard) > POSITIONS_MAX:
            del self._heard[min(self._heard)]
        if len(set(heard.values())) == 1:
            return ""
        by_digest: dict[bytes, list[str]] = {}
        for name in sorted(heard):
            by_digest.setdefault(heard[name], []).append(name)
        groups = sorted(by_digest.items(), key=lambda each: (-len(each[1]), each[1]))
        parts = [f"{', '.join(names)} ({each.hex()[:8]})" for each, names in groups]
        return f"the state at position {position} differs: {' against '.join(parts)}"
