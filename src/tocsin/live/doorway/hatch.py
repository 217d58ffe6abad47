"""The member's end of the socket to its door: takes what the door asks for in order, and answers each when it is so.

What the door publishes goes into the member's own queue: where that is full, nothing more is read from the socket, and
the door's clients wait. Besides that the member does nothing for readers but say how far the order has come.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final

import msgspec

from tocsin.core.cursors import is_cursor, is_sender
from tocsin.core.errors import InputError, TocsinError
from tocsin.core.producers import is_producer
from tocsin.live.broadcasting import Broadcasting
from tocsin.live.doorway.words import (
    LENGTH,
    WORD_BYTES_MAX,
    Answer,
    Close,
    Look,
    Move,
    Publish,
    Say,
    Settings,
    ToDoor,
    Told,
    ToMember,
    encode,
    to_member,
)
from tocsin.live.incoming import Incoming
from tocsin.live.receipts import Receipt
from tocsin.live.storage.producer_tables import ProducerTables

_log = logging.getLogger("tocsin.live.door")

SIGN_SECONDS: Final = 1.0  # between two signs of life
UNSENT_BYTES_MAX: Final = 1 << 20  # that the door has not read: then it is told nothing new until it has


class Hatch:
    """One member's, for one process of its door. `status`: as of the member."""

    def __init__(
        self,
        settings: Settings,
        broadcasting: Broadcasting,
        incoming: Incoming,
        tables: ProducerTables,
        status: Callable[[], dict[str, Any]],
    ) -> None:
        self.stat_published = 0  # messages
        self._settings = settings
        self._broadcasting = broadcasting
        self._incoming = incoming
        self._tables = tables
        self._status = status
        self._writer: asyncio.StreamWriter | None = None
        self._is_due = False  # what was told is to be said at the end of this turn
        self._answering: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until the door's process has gone."""
        self._writer = writer
        self._write(self._settings)
        self._tell()
        self._incoming.on_news = self._on_news
        signs = asyncio.create_task(self._give_signs())
        try:
            while True:
                length = LENGTH.unpack(await reader.readexactly(LENGTH.size))[0]
                if length > WORD_BYTES_MAX:
                    return
                word = to_member(await reader.readexactly(length))
                if word is None:
                    return
                await self._take(word)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._incoming.on_news = None
            self._writer = None
            signs.cancel()
            for task in list(self._answering):
                task.cancel()
            writer.close()

    def close(self) -> None:
        """Let the door end in order."""
        self._write(Close())

    # How far the order has come

    def _on_news(self) -> None:
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        self._is_due = False
        writer, view = self._writer, self._incoming.view
        if writer is None or writer.transport.get_write_buffer_size() > UNSENT_BYTES_MAX:
            return
        positions = [self._incoming.positions.get(group, 0) for group in range(len(self._settings.groups))]
        self._write(Told(positions, view is None or view.primary))

    async def _give_signs(self) -> None:
        while True:
            await asyncio.sleep(SIGN_SECONDS)
            self._tell()

    def _write(self, word: ToDoor) -> None:
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(encode(word))

    # What is asked for

    async def _take(self, word: ToMember) -> None:
        if isinstance(word, Say):
            _log.log(word.level, "%s: door: %s", self._settings.site, word.text)
            return
        try:
            if isinstance(word, Publish):
                receipt = await self._publish(word)
                self._answer_later(word.id, receipt, word.is_durable, True)
            elif isinstance(word, Move):
                receipt = await self._move(word)
                self._answer_later(word.id, receipt, False, False)
            else:
                self._write(Answer(word.id, document=msgspec.json.encode(self._look(word))))
        except TocsinError as error:
            self._write(_refusal(word.id, error))

    async def _publish(self, word: Publish) -> Receipt:
        sizes = list(map(len, word.messages))
        if word.group not in self._settings.here or not sizes or (word.producer and not is_producer(word.producer)):
            raise InputError("publish: expected messages for a group of this member")
        self._broadcasting.group_number(max(sizes), None)
        receipt = await self._broadcasting.publish(word.group, word.messages, sum(sizes), word.producer, word.number)
        self.stat_published += len(sizes)
        return receipt

    async def _move(self, word: Move) -> Receipt:
        if word.group not in self._settings.here or not is_cursor(word.sender) or not is_sender(word.sender):
            raise InputError("ack: expected a consumer's name of 1 to 63 bytes, and a group of this member")
        self._broadcasting.group_number(0, None)
        return await self._broadcasting.move_cursor(word.group, word.sender, word.number)

    def _look(self, word: Look) -> Any:
        if word.what == "status":
            return self._status()
        if word.what == "cursors":
            return {"whole": self._tables.whole, "cursors": self._tables.cursors_of(word.group).rows()}
        if word.what == "producer":
            return {"whole": self._tables.whole, "number": self._tables.of(word.group).largest(word.name)}
        raise InputError(f"no question {word.what!r}")

    def _answer_later(self, number: int, receipt: Receipt, is_durable: bool, is_all: bool) -> None:
        task = asyncio.create_task(self._answer(number, receipt, is_durable, is_all))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer(self, number: int, receipt: Receipt, is_durable: bool, is_all: bool) -> None:
        try:
            position = await (receipt.durable() if is_durable else receipt.ordered())
            if self._is_due:
                self._tell()  # who hears that it is ordered can read it
        except TocsinError as error:
            self._write(_refusal(number, error))
        else:
            self._write(Answer(number, receipt.positions() if is_all else [(position, 1)]))


def _refusal(number: int, error: TocsinError) -> Answer:
    return Answer(number, error=type(error).__name__, text=str(error))
