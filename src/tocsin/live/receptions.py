"""Which messages a member has received: what the frames inside of a protocol's message hold.

A large message counts as received when all its pieces are here. Pieces that came before a restart are forgotten with
it; if the message is delivered, that tells as well that it is here.
"""

from tocsin.core.errors import DecodeError
from tocsin.core.message import Message
from tocsin.live.frame_format import Piece, read_head, unpack
from tocsin.live.packing import UNFINISHED_MAX
from tocsin.live.storage.log_format import Receive


class Receptions:
    """Of one member, from its start on."""

    def __init__(self) -> None:
        self._missing: dict[int, dict[int, _Missing]] = {}  # by origin, then by number, oldest first

    def of(self, message: Message) -> list[Receive]:
        """What is received whole with this message of the protocol."""
        found: list[Receive] = []
        for (origin, _), frame in zip(message.carries(), message.payloads(), strict=True):
            head = read_head(frame)
            if head is not None:
                found.append(Receive(origin, head.number, head.count))
                continue
            try:
                content = unpack(frame)
            except DecodeError:
                continue  # it is counted when it is delivered
            if isinstance(content, Piece) and self._is_whole(origin, content):
                found.append(Receive(origin, content.number, 1))
        return found

    def _is_whole(self, origin: int, piece: Piece) -> bool:
        """Whether a message is here with this piece."""
        unfinished = self._missing.setdefault(origin, {})
        missing = unfinished.get(piece.number)
        if missing is None:
            if len(unfinished) >= UNFINISHED_MAX:
                del unfinished[next(iter(unfinished))]
            missing = unfinished[piece.number] = _Missing(piece.total)
        missing.take(piece)
        if missing.size > 0:
            return False
        del unfinished[piece.number]
        return True


class _Missing:
    """How much of a large message is not here yet."""

    def __init__(self, size: int) -> None:
        self.size = size  # bytes
        self._have: set[int] = set()  # offsets

    def take(self, piece: Piece) -> None:
        if piece.offset not in self._have:
            self._have.add(piece.offset)
            self.size -= len(piece.chunk)
