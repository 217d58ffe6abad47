"""The operations of the log: what a step of the machine has made durable. How their bytes lie: `file_format.py`.

The first operation of every file is a `Snapshot`: with it, older files are needed only for what they hold of
deliveries. Contents (payloads of deliveries, records of the protocol) lie behind the operations; an operation has the
size and the checksum of each of its own.
"""

import msgspec

from tocsin.live.frame_format import Run
from tocsin.live.known import Known

Place = tuple[int, int]  # a file's number, and an offset in it


class Deliver(msgspec.Struct, frozen=True, array_like=True, tag=1, gc=False):
    """A frame was delivered. Its bytes are in the contents; or, if the protocol had them written before as part of a
    record, where they are."""

    group: int
    origin: int
    frame: int  # its number, as the protocol numbers it
    size: int
    position: int  # of the first message that ends in it, in the group's sequence of messages here
    count: int  # messages that end in it and took a position
    number: int  # of the first that ends in it, as its origin numbers messages
    is_open: bool  # whether a large message of the origin is unfinished after it
    file: int = -1  # the file that holds the bytes already; -1: they are in the contents
    offset: int = 0  # in that file
    check: int = 0  # of the bytes
    dropped: tuple[tuple[int, int], ...] = ()  # repeats of producers' numbers: place in the frame, position or TOO_OLD
    runs: tuple[Run, ...] = ()  # of the messages that took a position, those that producers numbered; and cursors
    sent_us: int = 0  # when the messages that end in it were sent, by the origin's clock; 0: it did not say


class Rollback(msgspec.Struct, frozen=True, array_like=True, tag=2, gc=False):
    """The group's newest frame was taken back."""

    group: int
    origin: int
    frame: int
    position: int
    count: int
    number: int
    begins: int  # frame position where an unfinished message of the origin begins after this; -1: there is none


class Missed(msgspec.Struct, frozen=True, array_like=True, tag=3, gc=False):
    """Frames that will never come: of an origin, or (-1) of the group. Of the group's, another member may have said
    where its messages stand behind them (`bases.py`)."""

    group: int
    origin: int
    first: int
    count: int
    before: int = -1  # of the next message here, when they were missed
    position: int = -1  # of the next message after them; -1: nobody has said so
    table: bytes = b""  # of producers, after them
    pieces: tuple[tuple[int, bytes], ...] = ()  # of large messages that end after them: origin and frame
    cursors: bytes = b""  # of consumers at doors, after them


class View(msgspec.Struct, frozen=True, array_like=True, tag=4, gc=False):
    view: int
    members: tuple[int, ...]
    primary: bool
    group: int = -1  # of this group alone, where groups change; -1: of all members


class Persist(msgspec.Struct, frozen=True, array_like=True, tag=5, gc=False):
    """A record of the protocol; its bytes are in the contents."""

    size: int
    check: int = 0  # of the bytes, without the payload that is carried
    carried: int = 0  # so many bytes at the end are a payload that a later delivery may refer to
    carried_check: int = 0  # of these


class Checkpoint(msgspec.Struct, frozen=True, array_like=True, tag=6, gc=False):
    """All earlier records are replaced by these, whose bytes are in the contents."""

    sizes: tuple[int, ...]
    checks: tuple[int, ...]


class Broadcast(msgspec.Struct, frozen=True, array_like=True, tag=7, gc=False):
    """This member broadcast a frame: `count` messages from `number` on end in it."""

    group: int
    frame: int
    number: int
    count: int


class Start(msgspec.Struct, frozen=True, array_like=True, tag=8, gc=False):
    life: int  # 0 for the first
    word: int = 0  # random: two lives with the same count, of two copies of a folder, are told apart
    first_frame: int = 0  # smallest number that this incarnation may give to a frame …
    first_number: int = 0  # … and to a message


class Stop(msgspec.Struct, frozen=True, array_like=True, tag=9, gc=False):
    """The member was closed; a log that ends otherwise ended by a crash."""

    left: bool  # in order: it owes nobody anything and nobody owes it


class Receive(msgspec.Struct, frozen=True, array_like=True, tag=10, gc=False):
    """Messages have arrived, in a message of the protocol; noted only where asked for."""

    origin: int
    number: int  # of the first
    count: int


class Acquaint(msgspec.Struct, frozen=True, array_like=True, tag=13, gc=False):
    """The machine was told, in this step, that a peer has begun anew."""

    site: int
    incarnation: int


class Who(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Who a member is and what it knows of others, as it stands at the start of a file."""

    word: int
    first_frame: int
    first_number: int
    next_frame: int
    writes: int
    known: tuple[Known, ...]  # by site
    acquainted: tuple[tuple[int, int], ...]  # (site, incarnation that the machine was told of)
    seen: tuple[tuple[int, int, int], ...]  # (origin, above its highest frame delivered here, the same of messages)


class GroupState(msgspec.Struct, frozen=True, array_like=True, gc=False):
    end: int  # next frame position
    position: int  # next message position
    unfinished: tuple[tuple[int, int], ...]  # (origin, frame position where its unfinished large message begins)
    handed: tuple[tuple[int, bytes], ...] = ()  # pieces of these from before the log began: origin and frame


class Snapshot(msgspec.Struct, frozen=True, array_like=True, tag=11, gc=False):
    """Everything but deliveries, as it stands at the start of a file; the records' bytes are in the contents."""

    life: int
    next_number: int
    view: View | None
    groups: tuple[GroupState, ...]
    sizes: tuple[int, ...]
    checks: tuple[int, ...]
    who: Who | None = None
    tables: tuple[bytes, ...] = ()  # by group: of producers, as they are after the batch that this is in
    is_whole: bool = True  # of these: nothing of the order was missed here
    cursors: tuple[bytes, ...] = ()  # by group: of consumers at doors, as the tables


Op = (
    Deliver
    | Rollback
    | Missed
    | View
    | Persist
    | Checkpoint
    | Broadcast
    | Start
    | Stop
    | Receive
    | Snapshot
    | Known
    | Acquaint
)


class Operations(msgspec.Struct, frozen=True, array_like=True, gc=False):
    time_us: int  # wall clock of the first step
    ops: list[Op]


class FileEnd(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Where a file ends, and the checksum of its last batch (or of its header, if it has none)."""

    file: int
    end: int
    check: int


class FileHeader(msgspec.Struct, frozen=True, array_like=True, gc=False):
    group_id: bytes  # zeros where the group has none yet
    incarnation: bytes  # which one, and when the folder was made (`knowledge.py`)
    file: int
    secret: bytes  # made anew whenever the file is used again
    before: FileEnd | None  # None: there was none
    mark: Place  # what the last sync had covered when the file was begun
    time_us: int
