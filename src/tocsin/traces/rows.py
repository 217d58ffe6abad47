"""A row of a trace: the columns of docs/formats.md, in their order, None where a column says nothing.

This file imports nothing, so that whoever only makes or checks rows does not pay for Arrow.
"""

from typing import Any, Final, NamedTuple

BROADCAST: Final = "broadcast"
DELIVER: Final = "deliver"
ROLLBACK: Final = "rollback"
VIEW: Final = "view"
CRASH: Final = "crash"
RECOVER: Final = "recover"
SEND: Final = "send"
RECEIVE: Final = "receive"
DROP: Final = "drop"
# of live members only
MISSED: Final = "missed"  # `size` frames that this site will never get: of `origin` from `seqno` on, or of the group
LOST: Final = "lost"  # an own broadcast that was given up
DUPLICATE: Final = "duplicate"  # a message that repeats a producer's number: it takes no position
LEAVE: Final = "leave"  # the site stopped in order
RETAINED: Final = "retained"  # the first row of a log whose older rows were dropped: it is whole from here on

EVENTS: Final = (
    BROADCAST,
    DELIVER,
    ROLLBACK,
    VIEW,
    CRASH,
    RECOVER,
    SEND,
    RECEIVE,
    DROP,
    MISSED,
    LOST,
    DUPLICATE,
    LEAVE,
    RETAINED,
)

DATA: Final = "data"  # the kind of every wire message that carries application messages
TOO_LARGE: Final = "expected numbers of at most 64 bits with a sign, found a larger one"


class Row(NamedTuple):
    """Something that happened at a site. A tuple, because ten million of them pass through one loop.

    It has every column but `payload`, which no property looks at and which may be large."""

    run: str
    site: str
    order: int  # 0, 1, 2, … within (run, site)
    time_us: int  # simulated, or that site's own clock
    event: str  # one of EVENTS
    group: str | None = None
    origin: str | None = None
    seqno: int | None = None
    kind: str | None = None
    peer: str | None = None
    size: int | None = None
    position: int | None = None
    view: int | None = None
    members: tuple[str, ...] | None = None
    # of live members only
    primary: bool | None = None  # of a view: False if its members have stopped ordering, which is then no view
    incarnation: str | None = None  # of the site's disk
    producer: str | None = None  # the message, as the application numbers it: whose
    number: int | None = None  # and which
    sent_us: int | None = None  # when the message was broadcast, by its origin's clock


LIVE_COLUMNS: Final = Row._fields[Row._fields.index("primary") :]  # what the simulator never fills


def row_object(row: Row) -> dict[str, Any]:
    """The row as JSON writes it: null where a column says nothing; those of live members only where they say
    something."""
    columns = {name: value for name, value in row._asdict().items() if value is not None or name not in LIVE_COLUMNS}
    if row.members is not None:
        columns["members"] = list(row.members)
    return columns
