"""What a newcomer must know before its first delivery, from members that have it: where the group's messages stand.

A machine that was away for too long, or has an empty disk, goes on at a later frame of the order. Frames hold any
number of messages, some of which repeat what producers had sent before: which position the next message has, and which
numbers were accepted, is in the frames that it will never get. So the member stands still for a moment, in the step
that says so, and asks the others (`storage/bases.py` makes the answer, which is the same at every member).

    asked                                     what happens
    a member that has the frame               parts of the answer, as many as were asked for
    … that has not come to the frame          nothing: it is asked again
    … that cannot say (it has missed more)    it says so, and another one is asked
    all have said so, or nobody answers       the member goes on, counts from where it was, and is known as one that
                                              cannot tell repeats
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tocsin.core.effects import Effect, Missed
from tocsin.core.errors import DecodeError, TocsinError
from tocsin.live.group_config import Group
from tocsin.live.storage.bases import Base, base_at, decode_base, encode_base
from tocsin.live.storage.log import Log
from tocsin.live.wire.wire import Wire
from tocsin.live.wire.wire_messages import PART, WANT, Part, Want, encode

_log = logging.getLogger("tocsin.live")

PART_BYTES: Final = 32 << 10
PARTS_AHEAD: Final = 16  # sent for one question
BYTES_MAX: Final = 2 << 30  # of an answer
AGAIN_SECONDS: Final = 0.2  # without an answer; then the next member is asked
GIVE_UP_SECONDS: Final = 10.0  # without progress
ANSWERS_MAX: Final = 4  # kept for who asks on

Key = tuple[int, int]  # a group, and a frame of its order


class Handover:
    """One member's: both sides. `on_handed`: everything that was waited for is here, or will not come."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        group: Group,
        site: int,
        wire: Wire,
        log: Log,
        on_handed: Callable[[], None],
    ) -> None:
        self.stat_handed = 0  # answers that this member has given
        self._loop = loop
        self._group = group
        self._site = site
        self._wire = wire
        self._log = log
        self._on_handed = on_handed
        self._wal: Path = group.site_dir(site) / "wal"
        self._needed = group.protocol.has_common_order()
        self._wanted: list[Key] = []  # still to come; the first one is asked for
        self._bases: dict[Key, Base] = {}
        self._data = bytearray()  # of the first one
        self._refused: set[int] = set()  # members that cannot say
        self._turn = 0
        self._progress_at = 0.0
        self._handle: asyncio.TimerHandle | None = None
        self._answers: dict[Key, bytes | None] = {}  # None: this member cannot say
        self._making: set[Key] = set()

    # The newcomer's side

    def maybe_wait(self, effects: list[Effect]) -> bool:
        """Whether what a step asks for has to wait for others; `on_handed` follows."""
        self._bases = {}
        if not self._needed:
            return False
        self._wanted = [
            (effect.group, effect.first + effect.count)
            for effect in effects
            if isinstance(effect, Missed) and effect.origin < 0
        ]
        if self._wanted:
            self._begin_next()
            self._loop.call_soon(self._ask)
        return bool(self._wanted)

    def base(self, effect: Missed) -> Base | None:
        """What was said of the frames behind these; None: nothing."""
        return self._bases.get((effect.group, effect.first + effect.count)) if effect.origin < 0 else None

    def stop(self) -> None:
        self._wanted = []
        if self._handle is not None:
            self._handle.cancel()

    def _begin_next(self) -> None:
        self._data = bytearray()
        self._refused = set()
        self._progress_at = self._loop.time()

    def _ask(self) -> None:
        """One of the group's members after the other."""
        self._handle = None
        if not self._wanted:
            return
        group, frame = self._wanted[0]
        members = self._group.groups[group] if group < len(self._group.groups) else range(len(self._group.sites))
        others = [peer for peer in members if peer != self._site]
        if self._loop.time() - self._progress_at > GIVE_UP_SECONDS or self._refused.issuperset(others):
            name = self._group.sites[self._site]
            _log.warning(
                "%s: nobody can say where the messages stand before frame %d of group %d; repeats of producers' "
                "numbers from before cannot be told here, and positions count from where this member was",
                name,
                frame,
                group,
            )
            self._end_one(None)
            return
        met = [peer for peer in self._wire.meetings.met() if peer in others and peer not in self._refused]
        if met:
            self._turn += 1
            want = Want(group, frame, len(self._data))
            self._wire.sender.send_packet([met[self._turn % len(met)]], WANT, encode(want), False)
        self._handle = self._loop.call_later(AGAIN_SECONDS, self._ask)

    def _on_part(self, peer: int, part: Part) -> None:
        if not self._wanted or (part.group, part.frame) != self._wanted[0]:
            return
        if part.total == 0 or part.total > BYTES_MAX:
            self._refused.add(peer)
        elif part.offset == len(self._data) and part.chunk:
            self._data += part.chunk
            self._progress_at = self._loop.time()
            if len(self._data) < part.total:
                if len(self._data) % (PARTS_AHEAD * PART_BYTES) == 0:
                    want = Want(part.group, part.frame, len(self._data))
                    self._wire.sender.send_packet([peer], WANT, encode(want), False)
                return
            try:
                base = decode_base(bytes(self._data), len(self._group.sites))
            except DecodeError as error:
                _log.warning("%s: %s", self._group.sites[peer], error)
                self._refused.add(peer)
                self._data = bytearray()
            else:
                self._end_one(base)
        else:
            return
        if self._wanted and not self._data:
            self._again_now()

    def _end_one(self, base: Base | None) -> None:
        key = self._wanted.pop(0)
        if base is not None:
            self._bases[key] = base
        if self._wanted:
            self._begin_next()
            self._again_now()
        else:
            if self._handle is not None:
                self._handle.cancel()
            self._on_handed()  # never raises: a fault in it is the end of the member

    def _again_now(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle = self._loop.call_soon(self._ask)  # type: ignore[assignment]  # both can be cancelled

    # Both

    def take(self, handed: list[tuple[int, Want | Part]]) -> None:
        """What peers have asked and said."""
        for peer, each in handed:
            if isinstance(each, Part):
                self._on_part(peer, each)
            else:
                self._on_want(peer, each)

    # The others' side

    def _on_want(self, peer: int, want: Want) -> None:
        key = (want.group, want.frame)
        if not self._needed or want.group >= len(self._log.frames.groups):
            self._send(peer, want, None)
        elif key in self._answers:
            self._send(peer, want, self._answers[key])
        elif want.frame <= self._log.frames.group(want.group).end and key not in self._making:
            self._making.add(key)
            future = self._loop.run_in_executor(None, self._make, key)
            future.add_done_callback(lambda made: self._on_made(peer, want, made.result()))

    def _make(self, key: Key) -> tuple[bool, bytes | None]:
        """Whether there is an answer, and it; runs in a thread. If files have left the log meanwhile there is none, and
        who asks will ask again."""
        try:
            base = base_at(self._wal, key[0], key[1])
        except FileNotFoundError:
            return False, None
        except TocsinError as error:
            _log.warning("%s: %s", self._wal, error)
            return True, None
        return True, None if base is None else encode_base(base)

    def _on_made(self, peer: int, want: Want, made: tuple[bool, bytes | None]) -> None:
        key = (want.group, want.frame)
        self._making.discard(key)
        if made[0]:
            while len(self._answers) >= ANSWERS_MAX:
                del self._answers[next(iter(self._answers))]
            self._answers[key] = made[1]
            self.stat_handed += made[1] is not None
            self._send(peer, want, made[1])

    def _send(self, peer: int, want: Want, data: bytes | None) -> None:
        """The parts that were asked for."""
        if peer not in self._wire.meetings.met():
            return
        if data is None:
            refusal = Part(want.group, want.frame, 0, 0, b"")
            self._wire.sender.send_packet([peer], PART, encode(refusal), False)
            return
        total = len(data)
        for offset in range(want.offset, min(want.offset + PARTS_AHEAD * PART_BYTES, total), PART_BYTES):
            part = Part(want.group, want.frame, total, offset, data[offset : offset + PART_BYTES])
            self._wire.sender.send_packet([peer], PART, encode(part), False)
