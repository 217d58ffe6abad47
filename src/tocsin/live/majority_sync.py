"""`durable()` where a protocol has voters: a majority of them has synced, this member among them or not.

With `durability = "disk"` nobody counts a message before it is on its disk, and a message is delivered when all members
of a view have counted it, most of the voters among them: what is ordered is durable. With `process` they have written
it, and nobody has synced. Then this member says how far its order goes and asks the voters to sync that far. A voter
answers when it has everything up to there, and its disk has it. Nobody syncs for what nobody asked to be durable, and
all who wait at the same time share a question.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from tocsin.core.machine import Machine
from tocsin.live.errors import UNDECODABLE, Unknown
from tocsin.live.group_config import Group
from tocsin.live.wire.wire import Wire

AGAIN_SECONDS: Final = 0.1  # before those who have not answered are asked again
ANSWERS_MAX: Final = 256  # questions of others that are worked on at the same time; more are asked again later
WORD_BYTES: Final = 8


class SyncAsk(msgspec.Struct, frozen=True, array_like=True, tag=0):
    word: bytes
    positions: list[int]  # by group: so far everything is ordered, and is to be synced


class SyncDone(msgspec.Struct, frozen=True, array_like=True, tag=1):
    word: bytes
    incarnation: int  # of the disk that has it


_decode: Final = msgspec.msgpack.Decoder(SyncAsk | SyncDone).decode
_encode: Final = msgspec.msgpack.Encoder().encode


class _Question:
    """One that this member has asked."""

    def __init__(self, positions: list[int]) -> None:
        self.word = os.urandom(WORD_BYTES)
        self.positions = positions
        self.done: dict[int, int] = {}  # by site: the incarnation that has synced
        self.changed = asyncio.Event()


class MajoritySync:
    """One member's. `sync`: of its own disk."""

    def __init__(
        self,
        group: Group,
        site: int,
        incarnation: int,
        machine: Machine,
        wire: Wire,
        sync: Callable[[], Awaitable[None]],
        has_failed: Callable[[], bool],
    ) -> None:
        self._asks = group.has_seats() and group.journal.durability == "process"
        self._site = site
        self._incarnation = incarnation
        self._machine = machine
        self._wire = wire
        self._sync = sync
        self._has_failed = has_failed
        self._questions: dict[bytes, _Question] = {}
        self._waiting: asyncio.Task[None] | None = None  # the question that those share who ask now
        self._answers: set[asyncio.Task[None]] = set()

    async def sync(self) -> None:
        """Wait until everything that is ordered here now is durable."""
        if not self._asks:
            await self._sync()
            return
        running = self._waiting
        if running is None:
            running = self._waiting = asyncio.ensure_future(self._ask_all())
        await asyncio.shield(running)

    async def _ask_all(self) -> None:
        await asyncio.sleep(0)  # whoever waits in this turn shares the question
        self._waiting = None
        question = _Question(self._ordered())
        self._questions[question.word] = question
        own = asyncio.ensure_future(self._sync())
        own.add_done_callback(lambda _: self._on_done(question, self._site, self._incarnation))
        try:
            while not self._is_decided(question):
                if self._has_failed():
                    raise Unknown(
                        "the member stopped before a majority had synced this: it is ordered, and may not be safe"
                    )
                targets = [site for site, _ in self._voters() if site != self._site and site not in question.done]
                self._wire.ask_sync(targets, _encode(SyncAsk(question.word, question.positions)))
                question.changed.clear()
                try:
                    async with asyncio.timeout(AGAIN_SECONDS):
                        await question.changed.wait()
                except TimeoutError:
                    continue
        finally:
            del self._questions[question.word]
        await own

    def _on_done(self, question: _Question, site: int, incarnation: int) -> None:
        question.done[site] = incarnation
        question.changed.set()

    def _voters(self) -> list[tuple[int, int]]:
        seating = self._machine.seating()
        return [] if seating is None else seating.voters

    def _ordered(self) -> list[int]:
        seating = self._machine.seating()
        return [] if seating is None else list(seating.positions)

    def _is_decided(self, question: _Question) -> bool:
        voters = self._voters()
        synced = [site for site, incarnation in voters if question.done.get(site) == incarnation]
        return 2 * len(synced) > len(voters)

    # Answering

    def take_all(self) -> None:
        """What the wire has received."""
        for source, body in self._wire.take_syncs():
            self.take(source, body)

    def take(self, source: int, body: memoryview) -> None:
        """A question of a peer, or its answer."""
        try:
            message = _decode(body)
        except UNDECODABLE:
            return
        if isinstance(message, SyncDone):
            question = self._questions.get(message.word)
            if question is not None:
                self._on_done(question, source, message.incarnation)
        elif len(self._answers) < ANSWERS_MAX and self._has(message.positions):
            task = asyncio.ensure_future(self._answer(source, message.word))
            self._answers.add(task)
            task.add_done_callback(self._answers.discard)

    def _has(self, positions: list[int]) -> bool:
        seating = self._machine.seating()
        if seating is None or seating.lagging or len(positions) != len(seating.positions):
            return False
        return all(mine >= asked for mine, asked in zip(seating.positions, positions, strict=True))

    async def _answer(self, source: int, word: bytes) -> None:
        try:
            await self._sync()
        except Unknown:
            return
        self._wire.ask_sync([source], _encode(SyncDone(word, self._incarnation)))
