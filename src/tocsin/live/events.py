"""What a member hears, in one order: deliveries, views, rollbacks, and what it will never get."""

import msgspec


class Delivery(msgspec.Struct, frozen=True):
    """One message."""

    group: str
    origin: str
    seqno: int  # the origin's number for it; never reused
    position: int  # in the group's sequence at this member: 0, 1, 2, …
    time_us: int  # this member's wall clock
    payload: bytes
    producer: str | None = None  # where its sender numbered it: whose it is …
    number: int | None = None  # … and which
    sent_us: int | None = None  # the origin's clock when it was sent


class Batch(msgspec.Struct, frozen=True):
    """Messages of one origin that arrived together, for volume: message `i` has number `seqno + i` and position
    `position + i`."""

    group: str
    origin: str
    seqno: int
    position: int
    time_us: int
    payloads: list[bytes]
    sent_us: int | None = None  # the origin's clock when they were sent
    numbered: tuple[tuple[str, int] | None, ...] | None = None  # by message: producer and number; None: of no message

    def deliveries(self) -> list[Delivery]:
        found: list[Delivery] = []
        for index, payload in enumerate(self.payloads):
            sent = None if self.numbered is None else self.numbered[index]
            producer, number = (None, None) if sent is None else sent
            seqno, position = self.seqno + index, self.position + index
            found.append(
                Delivery(
                    self.group, self.origin, seqno, position, self.time_us, payload, producer, number, self.sent_us
                )
            )
        return found

    def rest(self, taken: int) -> "Batch":
        """Without so many messages at its head."""
        numbered = None if self.numbered is None else self.numbered[taken:]
        at = (self.seqno + taken, self.position + taken, self.time_us)
        return Batch(self.group, self.origin, *at, self.payloads[taken:], self.sent_us, numbered)


class View(msgspec.Struct, frozen=True):
    """Who is in the group from here on; with `group`, in that one alone (protocols whose groups change)."""

    view: int
    members: tuple[str, ...]
    primary: bool
    group: str | None = None


class Rollback(msgspec.Struct, frozen=True):
    """The newest delivery of the group is taken back: only optimistic protocols do that."""

    group: str
    origin: str
    seqno: int
    position: int


class Missed(msgspec.Struct, frozen=True):
    """These will never be delivered here: where `origin` is None, `count` messages of the group's sequence from
    position `first` on; else frames (packets of messages) of that origin. A member that joined late, or was away too
    long, hears this. (Frames, too, where nobody could say which messages were in what was missed.)"""

    group: str
    origin: str | None
    first: int
    count: int


Event = Delivery | View | Rollback | Missed
BatchEvent = Batch | View | Rollback | Missed
