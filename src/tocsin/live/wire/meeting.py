"""Members meet: each proves to the other that its session lives now, and says who it is.

A greeting holds a random word of its sender's, and the last word heard from the one it is for. A session whose greeting
repeats the word that this member made for its peer lives: nobody could have recorded that. Three greetings do it:

    a: my word is X            b: my word is Y, yours is X          a: my word is X', yours was Y
                               (a has met b's session)              (b has met a's)

After a meeting the word is made anew, so that no recorded greeting ever counts again. All greetings have the same size
and are single datagrams, and one is answered by at most one: a replayed greeting gets no more bytes than it brought.
Whoever has not met a peer greets it, with growing pauses; a member that starts has a new session, so it greets all.

A greeting also says what its sender's file and formats are. What must be the same and is not keeps two members apart,
and both are told what it is; what may differ is told, too.
"""

import hashlib
import os
from typing import Final

import msgspec

WORD_BYTES: Final = 16
NO_WORD: Final = bytes(WORD_BYTES)
GREETING_BYTES: Final = 320  # of a greeting's body, padded: with all headers it fits the smallest MTU that is allowed
PART_BYTES_MAX: Final = 75  # of options, and of groups, told one by one; above it they are told as one
ANSWER_PAUSE_US: Final = 1_000  # between two answers to one peer
GREET_FIRST_US: Final = 10_000  # before a greeting is repeated; doubles …
GREET_LAST_US: Final = 1_000_000  # … up to this: what an absent peer costs
MUST_AGREE: Final = ("wire", "protocol", "sites", "founders", "groups")  # by the first word of a setting's name


class About(msgspec.Struct, frozen=True, array_like=True):
    """Who a member is. A later version may add fields at the end; it still understands this one."""

    site: str
    life: int  # how often its folder was started
    incarnation: str  # of its folder
    settings: list[tuple[str, bytes]]  # by name, sorted: a digest of each value


class _Greeting(msgspec.Struct, frozen=True, array_like=True):
    mine: bytes
    yours: bytes  # NO_WORD: none heard
    has_met: bool  # the one it is for, in its present session
    about: About
    padding: bytes = b""


_decode: Final = msgspec.msgpack.Decoder(_Greeting).decode
_encode: Final = msgspec.msgpack.Encoder().encode


class Acquaintance:
    """What is known of one peer."""

    def __init__(self) -> None:
        self.word = os.urandom(WORD_BYTES)  # that its next session must repeat
        self.heard = NO_WORD  # its own last word
        self.about: About | None = None  # as it last said
        self.differs: tuple[str, ...] = ()  # names of settings, as it last said
        self.session = b""  # that was met; b"": none
        self.greeted = b""  # the session of its last greeting
        self.met_at_us = -1
        self.greet_at_us = 0  # when it is greeted next, while it is not met
        self.pause_us = GREET_FIRST_US
        self.answered_at_us = -ANSWER_PAUSE_US
        self.credit = 0  # bytes that came of sessions that are not met: once it was met, it is greeted for no more

    def is_met(self) -> bool:
        """Whether the session that greeted last was met. It may be a recorded one: the living one then greets anew."""
        return self.session != b"" and self.session == self.greeted

    def is_due(self, now: int) -> bool:
        """Whether to greet it: it was never met, or another session than the one that was met has spoken, at length."""
        if self.is_met() or self.greet_at_us > now:
            return False
        return self.session == b"" or self.credit >= GREETING_BYTES

    def is_apart(self) -> bool:
        """Whether its file and ours contradict each other."""
        return any(name.partition(".")[0] in MUST_AGREE for name in self.differs)


class Meetings:
    """One member's peers. It makes and reads greetings; who sends them is the wire."""

    def __init__(self, about: About, peers: list[int]) -> None:
        self._about = about
        self._of: dict[int, Acquaintance] = {peer: Acquaintance() for peer in peers}

    def of(self, peer: int) -> Acquaintance:
        return self._of[peer]

    def due(self, now: int) -> list[int]:
        """The peers to be greeted now; the next greeting of each is planned."""
        found: list[int] = []
        for peer, known in self._of.items():
            if known.is_due(now):
                if known.session:
                    known.credit -= GREETING_BYTES
                known.greet_at_us = now + known.pause_us
                known.pause_us = min(2 * known.pause_us, GREET_LAST_US)
                found.append(peer)
        return found

    def next_us(self) -> int:
        """When somebody is to be greeted next; -1: everybody was met."""
        times = [known.greet_at_us for known in self._of.values() if known.is_due(1 << 62)]
        return min(times) if times else -1

    def greeting(self, peer: int) -> bytes:
        known = self._of[peer]
        parts = (known.word, known.heard, known.is_met(), self._about)
        body = _encode(_Greeting(*parts))
        return _encode(_Greeting(*parts, bytes(max(0, GREETING_BYTES - len(body)))))

    def hear(self, now: int, peer: int, session: bytes, body: memoryview) -> "Heard":
        """A greeting that opened under this session."""
        try:
            greeting = _decode(body)
        except msgspec.MsgspecError:
            return Heard(False, False)
        known = self._of[peer]
        known.about = greeting.about
        known.differs = _different(self._about.settings, greeting.about.settings)
        known.heard = greeting.mine
        known.credit += len(body)
        self.doubt(now, peer, session, 0)
        meets = greeting.yours == known.word and not known.is_apart()
        if meets:
            known.session = session
            known.met_at_us = now
            known.word = os.urandom(WORD_BYTES)
        answers = not greeting.has_met and now - known.answered_at_us >= ANSWER_PAUSE_US
        if answers:
            known.answered_at_us = now
            known.credit = max(0, known.credit - GREETING_BYTES)
        return Heard(meets, answers)

    def doubt(self, now: int, peer: int, session: bytes, size: int) -> None:
        """So many bytes came, sealed, of a session that may not be met: a start whose greetings were lost, or a
        recording. The living session is asked to show itself, for no more bytes than came."""
        known = self._of[peer]
        known.credit = min(known.credit + size, 4 * GREETING_BYTES)
        if known.greeted != session:
            known.greeted = session
            known.pause_us = GREET_FIRST_US
            known.greet_at_us = now + known.pause_us  # unless it is met before: its answer may be lost


class Heard:
    """What a greeting asks for."""

    def __init__(self, meets: bool, answers: bool) -> None:
        self.meets = meets  # its session counts from now on
        self.answers = answers  # it waits for a greeting


def settings_of(values: dict[str, object]) -> list[tuple[str, bytes]]:
    """Digests of a file's values by name (`options.reissue_us`); of a part with many values, of the whole part."""
    for part in ("options", "groups"):
        whole = {name: value for name, value in values.items() if name.partition(".")[0] == part}
        if len(_encode(_digests(whole))) > PART_BYTES_MAX:
            values = {name: value for name, value in values.items() if name not in whole} | {part: whole}
    return _digests(values)


def _digests(values: dict[str, object]) -> list[tuple[str, bytes]]:
    return [(name, _digest(value)) for name, value in sorted(values.items())]


def _digest(value: object) -> bytes:
    return hashlib.blake2b(msgspec.json.encode(value), digest_size=4).digest()


def _different(ours: list[tuple[str, bytes]], theirs: list[tuple[str, bytes]]) -> tuple[str, ...]:
    mine, yours = dict(ours), dict(theirs)
    return tuple(name for name in sorted({*mine, *yours}) if mine.get(name) != yours.get(name))
