"""What `reliability_tree` sends and keeps."""

from typing import Annotated, ClassVar

from msgspec import Meta

from tocsin.core.data import Claimed, Number
from tocsin.core.message import Message, Record

EVIDENCE_MAX = 65_535  # of one kind in a published estimate: 16 bits each; see `beliefs.packed`
VERSION_MAX = 65_535
NEWS_BYTES_MAX = 16 << 20
PLAN_BYTES_MAX = 16 << 20

Count = Annotated[int, Meta(ge=0, le=EVIDENCE_MAX)]
Version = Annotated[int, Meta(ge=0, le=VERSION_MAX)]


class Data(Message, frozen=True):
    """A broadcast on its way down the tree; `plan`: whom the receiver sends it to, and in how many copies."""

    kind: ClassVar[str] = "data"
    group: Claimed
    origin: Claimed
    seqno: Claimed  # noted, and told to who begins anew
    plan: Annotated[bytes, Meta(max_length=PLAN_BYTES_MAX)]
    payload: bytes

    def carries(self) -> tuple[tuple[int, int], ...]:
        return ((self.origin, self.seqno),)

    def brief(self, names: list[str]) -> str:
        below = f" and on, {len(self.plan)} bytes of plan" if self.plan else ""
        return f"Data({names[self.origin]}:{self.seqno}{below})"


class Heartbeat(Message, frozen=True):
    """I am alive; this I have heard of you; this has changed in what I know since you last told me what you hold."""

    kind: ClassVar[str] = "heartbeat"
    life: Number  # the sender's, counted over its crashes
    seqno: Number  # 1, 2, … in this life
    successes: Count  # heartbeats of the receiver's that arrived here …
    failures: Count  # … and that were lost on the way; both 0: nothing was heard, or not for long
    your_life: Number  # the receiver's life that `have` is about
    have: Number  # the sender holds the receiver's changes up to this one
    base: Number  # `news` are the sender's changes after this one …
    upto: Number  # … up to this one
    news: Annotated[bytes, Meta(max_length=NEWS_BYTES_MAX)]  # see news.py

    def brief(self, names: list[str]) -> str:
        news = f" changes {self.base + 1}..{self.upto}" if self.news else ""
        return f"Heartbeat({self.life}/{self.seqno} heard {self.successes}+{self.failures} have {self.have}{news})"


class Started(Record, frozen=True):
    """A life begins."""

    always_synced: ClassVar[bool] = True

    life: Number


class Sent(Record, frozen=True):
    """This number is taken."""

    seqno: Number


class Ticked(Record, frozen=True):
    """The local clock, and in how many ticks this process was up and down so far."""

    at: Number
    up: Number
    down: Number


class Published(Record, frozen=True):
    """An estimate of ours that is told to others: versions go on where they were, and evidence survives a crash."""

    key: Number  # see knowledge.py
    version: Version
    successes: Number  # of our own observations, unrounded
    failures: Number
    public_successes: Count  # as told; of a link, both ends' observations
    public_failures: Count


class Summary(Record, frozen=True):
    """A checkpoint: everything that the records before it said."""

    life: Number
    next_seqno: Number
    received: tuple[tuple[Number, tuple[int, ...]], ...]
    ticked: Ticked | None
    published: tuple[Published, ...]
