"""A consumer of what a member hears: it begins where it stopped, and says how far it has come.

Its place is a cursor that this member keeps (`consumer="billing"`), or positions that the application keeps with its
data (`after=`). What lies between the place and the end of the log is read from files (`past_events.py`); then comes
what is heard, which waits in the backlog meanwhile.

    found at the start                      what happens
    no cursor of that name                  a new consumer: from the oldest event that is still kept
    a cursor of this incarnation            from after the last event that was acknowledged
    a cursor of another incarnation         ConsumerLost, until it is forgotten
    a place beyond the end of the log       ConsumerLost: the disk has lost what was acknowledged
    a cursor that cannot be read            Damaged, until it is forgotten
"""

import asyncio
import fcntl
import os
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Literal

from tocsin.core.errors import InputError
from tocsin.live.acks import Acks
from tocsin.live.errors import Closed, ConsumerLost, NotSupported
from tocsin.live.events import BatchEvent, Event, Missed
from tocsin.live.group_config import Group
from tocsin.live.handed import Handed
from tocsin.live.past_events import PastEvents
from tocsin.live.replaying import Replay
from tocsin.live.storage.cursors import CONSUMERS_MAX, Cursor, CursorFile, check_consumer, consumers
from tocsin.live.storage.holding import Place, place_of
from tocsin.live.storage.journal_folder import JournalFolder
from tocsin.live.storage.knowledge import incarnation_bytes
from tocsin.live.storage.log import Log

After = int | dict[str, int] | Literal["start", "now"] | None

START: Final = "start"
NOW: Final = "now"


class Consuming:
    """One member's."""

    def __init__(self, group: Group, site_dir: Path, consumer: str | None, after: After) -> None:
        self.name = consumer
        self.replays = False  # files are still to be read
        self._group = group
        self._site_dir = site_dir
        self._after = _checked_after(group, consumer, after)
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="tocsin-consumer")
        self._file: CursorFile | None = None if consumer is None else CursorFile(site_dir, consumer)
        self._journal: JournalFolder | None = None
        self._past: PastEvents | None = None
        self._replay: Replay | None = None
        self._events: Iterator[list[BatchEvent]] = iter(())
        self._reading: asyncio.Future[list[BatchEvent] | None] | None = None  # in a thread; kept when a reader goes
        self._made: list[Missed] = []  # of what is to be handed out: those that are in no log
        self._handed: Handed | None = None
        self._acks: Acks | None = None
        self._asked = 0  # acknowledgements so far
        self._newest = 0  # of those whose cursor goes to the disk
        self._cursor: Cursor | None = None  # of that one
        self._closed = False
        self.released = asyncio.Event()  # the member's folder is nobody's again
        self._afterwards = asyncio.Lock()  # acknowledgements after the member's end

    # Where it begins

    def open(self, log: Log, journal: JournalFolder | None) -> None:
        """Find the place, and hold the files from there on. Log and journal stand still; runs in a thread."""
        place = self._place(log, journal)
        if place is None:
            return
        names = self._group.group_names
        edge = {name: index.position for name, index in zip(names, log.frames.groups, strict=False)}
        beyond = {name: at for name, at in place.positions.items() if at > edge.get(name, 0)}
        if beyond:
            group, position = min(beyond.items())
            raise ConsumerLost(
                f"{self._called()}: its place is before position {position} of `{group}`, and this member's log ends "
                f"before {edge.get(group, 0)}; {self._cure()}"
            )
        past = PastEvents(self._site_dir, place, names)
        self._past = past
        self._replay = Replay(place, edge, past.begins)
        self._events = past.read()
        self.replays = True

    def _place(self, log: Log, journal: JournalFolder | None) -> Place | None:
        """None: what is heard from now on."""
        if self._file is None and self._after is None:
            return None
        if journal is None:
            raise InputError(
                f"{self._called()}: expected `archive = true` under [journal], found false: nothing is kept"
            )
        if self._file is None:
            assert self._after is not None
            return self._after
        cursor = self._begin(self._file, log)
        self._journal = journal
        self._journal.acknowledged[self._file.name] = cursor
        self._handed = Handed(cursor)
        self._acks = Acks(self._save, self._executor)
        return place_of(cursor)

    def _begin(self, file: CursorFile, log: Log) -> Cursor:
        incarnation = incarnation_bytes(log.incarnation, log.made)
        cursor = file.load()
        if cursor is None:
            if len(consumers(self._site_dir)) >= CONSUMERS_MAX:
                raise InputError(f"{self._called()}: expected at most {CONSUMERS_MAX} consumers; {self._cure('NAME')}")
            cursor = Cursor(incarnation, {})
            file.save(cursor)
        elif cursor.incarnation != incarnation:
            raise ConsumerLost(
                f"{self._called()}: its place is of another disk of this member, which is now incarnation "
                f"{log.incarnation}; {self._cure()}"
            )
        else:
            file.begin()
        return cursor

    def _called(self) -> str:
        return "after" if self.name is None else f"consumer `{self.name}`"

    def _cure(self, name: str = "") -> str:
        if self.name is None:
            return 'join with after="start" to hear what is kept, or "now"'
        return f"after `tocsin journal {self._site_dir} --forget {name or self.name}` it begins anew, at what is kept"

    # What comes first

    async def more(self) -> list[BatchEvent]:
        """The next events from files; none, and `replays` is over, when all were read."""
        if self._reading is None:
            loop = asyncio.get_running_loop()
            self._reading = loop.run_in_executor(self._executor, next, self._events, None)
        events = await asyncio.shield(self._reading)
        self._reading = None
        assert self._replay is not None
        if events is None:
            self.replays = False
            found = self._replay.end()
            self._made += [each for each in found if isinstance(each, Missed)]
            return found
        wanted: list[BatchEvent] = []
        for event in events:
            taken = self._replay.take(event)
            self._made += [each for each in taken if isinstance(each, Missed) and each is not event]
            wanted += taken
        return wanted

    # How far it has come

    def hand(self, event: BatchEvent | Event) -> None:
        """The application gets this event next."""
        if self._handed is not None:
            made = any(each is event for each in self._made)
            self._handed.hand(event, made)
            if made:
                self._made = [each for each in self._made if each is not event]

    async def ack(self, event: BatchEvent | Event, sync: Callable[[], Awaitable[None]] | None) -> None:
        """Everything up to this event is done with, and that is durable when this returns. What the log has is synced
        first: a cursor never says more than the log. (Before the life has begun, all that is read is synced.)"""
        if self._handed is None or self._acks is None:
            raise InputError("ack: expected a member that joined with consumer=NAME, found one without")
        self._asked += 1
        asked, cursor = self._asked, self._handed.ack(event)
        if sync is not None and not self._closed:
            await sync()
        if self._closed:
            await self.released.wait()
            async with self._afterwards:
                await asyncio.get_running_loop().run_in_executor(None, self._save_afterwards, self._handed.cursor)
            return
        if asked > self._newest:
            self._newest, self._cursor = asked, cursor
        assert self._cursor is not None
        await self._acks.put(self._cursor)

    def _save(self, cursor: Cursor) -> None:
        assert self._file is not None and self._journal is not None
        self._file.save(cursor)
        self._journal.acknowledged[self._file.name] = cursor

    def _save_afterwards(self, cursor: Cursor) -> None:
        """The member has stopped, and everything is synced; what it had heard is still handed out. If it was started
        again meanwhile, that life has the cursor."""
        assert self._file is not None
        lock = os.open(self._site_dir / "lock", os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._file.load()
            self._file.save(cursor)
            self._file.close()
        except BlockingIOError:
            raise Closed(f"{self._called()}: the member runs again, and hands this out there") from None
        finally:
            os.close(lock)

    async def close(self) -> None:
        """The member has stopped: what was asked for is written; files that were not read come again."""
        if self._closed:
            return
        self._closed = True
        if self._acks is not None:
            await self._acks.finish()
        await asyncio.get_running_loop().run_in_executor(None, self._executor.shutdown)
        self.replays = False
        if self._past is not None:
            self._past.close()
        if self._file is not None:
            self._file.close()


def _checked_after(group: Group, consumer: str | None, after: After) -> Place | None:
    """The place that the application says; None: none, or now."""
    if consumer is None and after in (None, NOW):
        return None
    what = "after" if consumer is None else "consumer"
    if "rollbacks" in group.protocol.expects:
        raise NotSupported(
            f"{what}: {group.protocol.name} takes deliveries back, so that no place in them lasts; see counter_token"
        )
    if consumer is not None:
        if after is not None:
            raise InputError("join: expected `consumer` or `after`, found both")
        check_consumer(consumer)
        return None
    if after == START:
        return Place({})
    if isinstance(after, int) and not isinstance(after, bool):
        if len(group.group_names) != 1:
            names = ", ".join(group.group_names)
            raise InputError(f"join: `after`: expected positions by group ({names}), found one number")
        after = {group.group_names[0]: after}
    if not isinstance(after, dict):
        raise InputError(f'join: `after`: expected a position, positions by group, "start" or "now", found {after!r}')
    for name, position in after.items():
        group.group_id(name)
        if not isinstance(position, int) or isinstance(position, bool) or position < -1:
            raise InputError(f"join: `after`: expected a position of `{name}`, found {position!r}")
    positions = {name: position + 1 for name, position in after.items()}
    return Place(positions, frozenset(name for name, position in positions.items() if position > 0))
