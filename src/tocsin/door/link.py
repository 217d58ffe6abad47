"""The door's end of the socket to its member: questions from any thread, answers by id, and how far the order has come.

When the member has gone, or says nothing any more, whoever waits here is told so.
"""

import contextlib
import logging
import socket
import threading
import time
from concurrent.futures import Future
from typing import Any, Final

import msgspec

from tocsin.core.errors import TocsinError
from tocsin.door.limits import SILENT_SECONDS_MAX
from tocsin.live import errors as live_errors
from tocsin.live.doorway.words import (
    LENGTH,
    Answer,
    Close,
    Look,
    Move,
    Publish,
    Say,
    Settings,
    ToDoor,
    Told,
    encode,
    to_door,
)
from tocsin.live.errors import NotPrimary, Unknown

_log = logging.getLogger("tocsin.door")

Question = Publish | Move | Look
LOST: Final = "the member stopped, or is cut off, before it learned what became of this: it may be delivered, or never"


class Link:
    """To one member."""

    def __init__(self, sock: socket.socket) -> None:
        self.has_ended = False  # the member is gone
        self.is_closing = threading.Event()  # it stops
        self._sock = sock
        self._sending = threading.Lock()
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Answer]] = {}
        self._next_id = 0
        self._told = Told([], True)
        self._told_at = time.monotonic()
        self._told_count = 0
        self._news = threading.Condition()
        first = self._receive()
        assert isinstance(first, Settings), "the member speaks first, and says what the door is to be"
        self.settings = first
        second = self._receive()
        if isinstance(second, Told):
            self._on_told(second)

    def start(self) -> None:
        threading.Thread(target=self._run, name="tocsin-door-link", daemon=True).start()

    # How far the order has come

    def told(self) -> Told:
        return self._told

    def told_count(self) -> int:
        return self._told_count

    def wait_told(self, count: int, seconds: float) -> None:
        """Until more was told than these, at most so long."""
        with self._news:
            if self._told_count == count and not self.has_ended:
                self._news.wait(seconds)

    def check(self, is_order_needed: bool) -> None:
        """An error where the member cannot be asked now; `is_order_needed`: or takes no part in the order."""
        if self.has_ended or time.monotonic() - self._told_at > SILENT_SECONDS_MAX:
            raise NotPrimary(f"`{self.settings.site}` does not answer; go on at another door")
        if is_order_needed and not self._told.is_primary:
            raise NotPrimary(f"`{self.settings.site}` is cut off from the majority of the group; go on at another door")

    # Questions

    def publish(self, group: int, messages: list[bytes], producer: str, number: int, is_durable: bool) -> Any:
        """A future of the answer."""
        self.check(True)
        return self._ask(lambda key: Publish(key, group, messages, producer, number, is_durable))

    def move(self, group: int, sender: str, number: int) -> Any:
        self.check(True)
        return self._ask(lambda key: Move(key, group, sender, number))

    def look(self, what: str, group: int = 0, name: str = "") -> Any:
        self.check(False)
        return self._ask(lambda key: Look(key, what, group, name))

    def say(self, level: int, text: str) -> None:
        """For the member's log."""
        with contextlib.suppress(OSError):
            self._send(encode(Say(level, text)))

    def _ask(self, make: Any) -> "Future[Answer]":
        future: Future[Answer] = Future()
        with self._lock:
            key = self._next_id
            self._next_id += 1
            self._waiting[key] = future
        try:
            self._send(encode(make(key)))
        except OSError:
            self._give_up()
        return future

    def _send(self, data: bytes) -> None:
        with self._sending:
            self._sock.sendall(data)

    # The thread that listens

    def _run(self) -> None:
        try:
            while True:
                word = self._receive()
                if isinstance(word, Told):
                    self._on_told(word)
                elif isinstance(word, Answer):
                    self._on_answer(word)
                elif isinstance(word, Close):
                    self.is_closing.set()
        except (OSError, EOFError, msgspec.MsgspecError):
            pass
        finally:
            self.has_ended = True
            self._give_up()
            self.is_closing.set()
            with self._news:
                self._news.notify_all()

    def watch(self) -> None:
        """Called now and then: a member that is silent, or cut off, keeps nobody waiting."""
        silent = time.monotonic() - self._told_at > SILENT_SECONDS_MAX
        if silent or not self._told.is_primary:
            self._give_up()

    def _on_told(self, told: Told) -> None:
        self._told_at = time.monotonic()
        with self._news:
            if told != self._told:
                self._told = told
                self._told_count += 1
                self._news.notify_all()

    def _on_answer(self, answer: Answer) -> None:
        with self._lock:
            future = self._waiting.pop(answer.id, None)
        if future is None:
            return
        if answer.error:
            future.set_exception(error_of(answer.error, answer.text))
        else:
            future.set_result(answer)

    def _give_up(self) -> None:
        with self._lock:
            waiting = list(self._waiting.values())
            self._waiting.clear()
        for future in waiting:
            future.set_exception(Unknown(LOST))

    def _receive(self) -> ToDoor:
        return to_door(self._exactly(LENGTH.unpack(self._exactly(LENGTH.size))[0]))

    def _exactly(self, size: int) -> bytes:
        data = bytearray(size)
        view, at = memoryview(data), 0
        while at < size:
            read = self._sock.recv_into(view[at:])
            if read == 0:
                raise EOFError
            at += read
        return bytes(data)


def error_of(name: str, text: str) -> TocsinError:
    """An error by the name of its class; one that is not known here is a TocsinError that begins with the name."""
    kind = getattr(live_errors, name, None)
    if isinstance(kind, type) and issubclass(kind, TocsinError):
        return kind(text)
    return TocsinError(f"{name}: {text}")
