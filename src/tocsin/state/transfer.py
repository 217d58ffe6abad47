"""The state for a member that lacks it: from the members that have it, in the order itself.

Who lacks the state asks, and the place of the question in the order is the place of the answer: every member that has
the state keeps a snapshot of just there, and the asker keeps what comes after it. One member sends parts, a few at a
time, as the asker says how far it is. Snapshots are canonical: if that member falls silent, the next one goes on where
it stopped. Nobody stands still meanwhile.
"""

from typing import Final

from tocsin.state.entries import Part, Want
from tocsin.state.images import Image

PART_BYTES: Final = 48 << 10  # with its envelope it goes into one frame beside others
PARTS_AHEAD: Final = 8  # sent for one `Want`
OFFERS_MAX: Final = 4  # snapshots kept for others at a time; the oldest gives way, and its asker asks again
WAITING_BYTES_MAX: Final = 64 << 20  # entries that wait until the state is here; beyond, it is asked for anew


class Offers:
    """What a member that has the state keeps for those who asked: the same at all that have it."""

    def __init__(self) -> None:
        self._offers: dict[str, Image] = {}  # by who asked; oldest first

    def put(self, site: str, image: Image) -> None:
        self._offers.pop(site, None)
        while len(self._offers) >= OFFERS_MAX:
            del self._offers[next(iter(self._offers))]
        self._offers[site] = image

    def parts(self, site: str, want: Want) -> list[Part]:
        """The next parts for who asked; none if it has all, or its snapshot has given way."""
        image = self._offers.get(site)
        if image is None or image.position != want.asked + 1:
            return []
        total = len(image.data)
        if want.offset >= total:
            del self._offers[site]
            return []
        end = min(want.offset + PARTS_AHEAD * PART_BYTES, total)
        return [
            Part(want.asked, total, offset, image.data[offset : min(offset + PART_BYTES, end)])
            for offset in range(want.offset, end, PART_BYTES)
        ]

    def drop(self, site: str) -> None:
        self._offers.pop(site, None)


class Fetching:
    """A member that lacks the state, from its question to the last part."""

    def __init__(self, asked: int = -1) -> None:
        self.asked = asked  # the place of the question in the order; -1: it has none yet
        self.turn = 0
        self.waiting: list[tuple[int, str, bytes]] = []  # what came after the question: position, origin, payload
        self._waiting_bytes = 0
        self._data = bytearray()
        self._window_end = PARTS_AHEAD * PART_BYTES  # what was wanted last ends here

    def __len__(self) -> int:
        """Bytes that are here."""
        return len(self._data)

    def keep(self, position: int, origin: str, payload: bytes) -> bool:
        """Keep an entry for later; False: that are too many, ask anew."""
        self._waiting_bytes += len(payload)
        self.waiting.append((position, origin, payload))
        return self._waiting_bytes <= WAITING_BYTES_MAX

    def take(self, part: Part) -> bytes | None:
        """A part of the snapshot; all of it, when it is there. Parts of several senders may come mixed."""
        if part.asked != self.asked or part.offset != len(self._data) or not part.chunk:
            return None
        self._data += part.chunk
        return bytes(self._data) if len(self._data) == part.total else None

    def is_at_window_end(self) -> bool:
        """Whether everything has come that was wanted."""
        return len(self._data) >= self._window_end

    def want(self, session: int) -> Want:
        """Say how far this is."""
        self._window_end = len(self._data) + PARTS_AHEAD * PART_BYTES
        return Want(session, self.asked, len(self._data), self.turn)
