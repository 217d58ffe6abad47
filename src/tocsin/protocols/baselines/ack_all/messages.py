"""What `ack_all` sends and keeps."""

from typing import ClassVar

from tocsin.core.data import Number
from tocsin.core.message import Message, Record


class Ack(Message, frozen=True):
    """The sender has this message of the receiver's on stable storage."""

    kind: ClassVar[str] = "ack"
    seqno: Number


class Sent(Record, frozen=True):
    """This site has broadcast; the number is taken and the payload can be sent again."""

    group: Number
    seqno: Number
    place: Number  # among this site's messages to the group
    payload: bytes

    def brief(self, names: list[str]) -> str:
        return f"seqno={self.seqno}"


class Acknowledged(Record, frozen=True):
    """Everybody has this message of ours; it need not be sent again."""

    seqno: Number


class Summary(Record, frozen=True):
    """A checkpoint: the next own number, how many went to each group, and by origin what was delivered, as ranges."""

    next_seqno: Number
    sent: tuple[Number, ...]  # by group: own messages
    received: tuple[tuple[Number, tuple[int, ...]], ...]
