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

EVENTS: Final = (BROADCAST, DELIVER, ROLLBACK, VIEW, CRASH, RECOVER, SEND, RECEIVE, DROP)

DATA: Final = "data"  # the kind of every wire message that carries application messages


class Row(NamedTuple):
    """Something that happened at a site. A tuple, because ten million of them pass through one loop."""

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


def row_object(row: Row) -> dict[str, Any]:
    """The row as JSON writes it: every column, null where it says nothing."""
    columns = row._asdict()
    if row.members is not None:
        columns["members"] = list(row.members)
    return columns
