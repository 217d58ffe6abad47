"""Members meet: each proves to the other that its session lives now, and says who it is.

A greeting holds a random word of its sender's, and the last word heard from the one it is for. A session whose greeting
repeats the word that this member made for its peer lives: nobody could have recorded that. Three greetings do it:

    a: my word is X            b: my word is Y, yours is X          a: my word is X', yours was Y
                               (a has met b's session)              (b has met a's)

After a meeting the word is made anew, so that no recorded greeting ever counts again. All greetings have the same size
and are single datagrams, and one is answered by at most one: a replayed greeting gets no more bytes than it brought.
Whoever has not met a peer greets it, with growing pauses; a member that starts has a new session, so it greets all.
What is heard of a session is kept by session, and so is when it was answered: whoever replays greetings of old ones,
however many, takes nothing from the one that lives.

A greeting also says who its sender is (incarnation, life, how far it has come; `register.py`), and what it knows of the
one it is for. So a member that has come back with less than others know of it hears of that from the first it meets,
and a session that is behind what is known of its site is not met. Who *asks* has no life yet, and only wants to hear
that: others meet it, but keep nothing of what it says.

At last, it says what its sender's file and formats are. What must be the same and is not keeps two members apart, and
both are told what it is; what may differ is told, too.
"""

import hashlib
import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tocsin.live.errors import UNDECODABLE
from tocsin.live.known import Known
from tocsin.live.register import Register

WORD_BYTES: Final = 16
NO_WORD: Final = bytes(WORD_BYTES)
GREETING_BYTES: Final = 448  # of a greeting's body, padded: with all headers it fits the smallest MTU that is allowed
PART_BYTES_MAX: Final = 75  # of options, and of groups, told one by one; above it they are told as one
ANSWER_PAUSE_US: Final = 1_000  # between two answers to one session; doubles …
ANSWER_LAST_US: Final = 500_000  # … up to this: below the pauses of whoever lives and greets
GREET_FIRST_US: Final = 10_000  # before a greeting is repeated; doubles …
GREET_LAST_US: Final = 1_000_000  # … up to this: what an absent peer costs
SESSIONS_MAX: Final = 64  # of one peer, that have greeted and were not met
MUST_AGREE: Final = (
    "protocol",
    "sites",
    "founders",
    "groups",
    "group id",
    "restored",
)  # by the first word of a setting's name


class About(msgspec.Struct, frozen=True, array_like=True):
    """Who a member is. A later version may add fields at the end; it still understands this one."""

    who: Known
    asks: bool  # it has no life yet
    group_id: bytes  # b"": it has none yet
    versions: tuple[int, int]  # of the wire: the oldest and the newest that it understands
    sites: tuple[int, bytes]  # how many its file has, and a digest of their names, in order
    settings: list[tuple[str, bytes]]  # by name, sorted: a digest of each value
    epoch: Annotated[int, Meta(ge=0, lt=1 << 20)] = 0  # of the group; each recovery that accepts losses begins one
    founding: bytes = b""  # bits of the sites that found, or have founded, the group; b"": those of the file


class _Greeting(msgspec.Struct, frozen=True, array_like=True):
    mine: bytes
    yours: bytes  # NO_WORD: none heard
    has_met: bool  # the session that it answers
    about: About
    of_you: Known  # what its sender knows of the one it is for
    padding: bytes = b""


_decode: Final = msgspec.msgpack.Decoder(_Greeting).decode
_encode: Final = msgspec.msgpack.Encoder().encode


class _Heard:
    """What was heard of one session of a peer."""

    def __init__(self) -> None:
        self.word = NO_WORD  # its own last one
        self.answer_at_us = 0  # not before
        self.pause_us = ANSWER_PAUSE_US


class Acquaintance:
    """What is known of one peer's sessions."""

    def __init__(self) -> None:
        self.word = os.urandom(WORD_BYTES)  # that its next session must repeat
        self.about: About | None = None  # as it last said
        self.differs: tuple[str, ...] = ()  # names of settings, as it last said
        self.objection = ""  # why the session that greeted last may not be met
        self.session = b""  # that was met; b"": none
        self.met: About | None = None  # what that session said of itself
        self.greeted = b""  # the session of its last greeting
        self.met_at_us = -1
        self.greet_at_us = 0  # when it is greeted next, while it is not met
        self.pause_us = GREET_FIRST_US
        self.credit = 0  # bytes that came of sessions that are not met: once it was met, it is greeted for no more
        self._heard: OrderedDict[bytes, _Heard] = OrderedDict()  # by session, the last that was heard of at the end

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

    def heard_of(self, session: bytes) -> _Heard:
        found = self._heard.get(session)
        if found is None:
            found = self._heard[session] = _Heard()
            if len(self._heard) > SESSIONS_MAX:
                self._heard.popitem(last=False)
        self._heard.move_to_end(session)
        return found

    def last_word(self) -> bytes:
        """Of the session that was heard of last."""
        return self._heard[next(reversed(self._heard))].word if self._heard else NO_WORD


class Meetings:
    """One member's peers. It makes and reads greetings; who sends them is the wire."""

    def __init__(
        self, register: Register, versions: tuple[int, int], sites: Sequence[str], settings: list[tuple[str, bytes]]
    ) -> None:
        self._register = register
        self._versions = versions
        self._sites = sites
        self._settings = settings
        self._of = {peer: Acquaintance() for peer in range(len(sites)) if peer != register.site}

    def grow(self) -> None:
        """There are more sites now."""
        for peer in range(len(self._sites)):
            if peer != self._register.site and peer not in self._of:
                self._of[peer] = Acquaintance()

    def of(self, peer: int) -> Acquaintance:
        return self._of[peer]

    def met(self) -> list[int]:
        """The peers that were met."""
        return [peer for peer, known in self._of.items() if known.session]

    def due(self, now: int) -> list[int]:
        """The peers to be greeted now; the next greeting of each is planned."""
        found: list[int] = []
        for peer, known in self._of.items():
            if known.is_due(now) and peer not in self._register.removed:
                if known.session:
                    known.credit -= GREETING_BYTES
                known.greet_at_us = now + known.pause_us
                known.pause_us = min(2 * known.pause_us, GREET_LAST_US)
                found.append(peer)
        return found

    def next_us(self) -> int:
        """When somebody is to be greeted next; -1: everybody was met."""
        removed = self._register.removed
        times = [known.greet_at_us for peer, known in self._of.items() if known.is_due(1 << 62) and peer not in removed]
        return min(times) if times else -1

    def greeting(self, peer: int, session: bytes = b"") -> bytes:
        """For a peer; in answer to a greeting of this session of its, if there was one."""
        known = self._of[peer]
        register = self._register
        yours = known.heard_of(session).word if session else known.last_word()
        sites = (len(self._sites), _digest(list(self._sites)))
        about = About(
            register.mine(),
            register.asks,
            register.group_id,
            self._versions,
            sites,
            self._settings,
            register.epoch,
            register.founding,
        )
        has_met = known.is_met() if not session else known.session == session
        parts = (known.word, yours, has_met, about, register.of(peer))
        body = _encode(_Greeting(*parts))
        return _encode(_Greeting(*parts, bytes(max(0, GREETING_BYTES - len(body)))))

    def hear(self, now: int, peer: int, session: bytes, body: memoryview) -> "Heard":
        """A greeting that opened under this session."""
        try:
            greeting = _decode(body)
        except UNDECODABLE:
            return Heard()
        about = greeting.about
        if about.who.site != peer:
            return Heard()
        known = self._of[peer]
        heard = known.heard_of(session)
        known.about = about
        known.differs = self._different(about)
        known.objection = "" if about.asks else self._register.objection(about.who)
        if about.epoch < self._register.epoch and not about.asks:
            known.objection = f"it is of epoch {about.epoch}; the group was recovered without it, in a later one"
        heard.word = greeting.mine
        known.credit += len(body)
        self.doubt(now, peer, session, 0)
        found = Heard()
        if greeting.yours == known.word and not known.is_apart():
            found.of_me = greeting.of_you
            found.about = about
            found.meets = known.objection == ""
            known.word = os.urandom(WORD_BYTES)
        if found.meets:
            known.session = session
            known.met = about
            known.met_at_us = now
        if not greeting.has_met and now >= heard.answer_at_us:
            found.answers = True
            heard.answer_at_us = now + heard.pause_us
            heard.pause_us = min(2 * heard.pause_us, ANSWER_LAST_US)
            known.credit = max(0, known.credit - GREETING_BYTES)
        return found

    def doubt(self, now: int, peer: int, session: bytes, size: int) -> None:
        """So many bytes came, sealed, of a session that may not be met: a start whose greetings were lost, or a
        recording. The living session is asked to show itself, for no more bytes than came."""
        known = self._of[peer]
        known.credit = min(known.credit + size, 4 * GREETING_BYTES)
        if known.greeted != session:
            was_met = known.is_met()
            known.greeted = session
            if was_met:  # else the next greeting is planned: recordings that take turns do not put it off
                known.pause_us = GREET_FIRST_US
                known.greet_at_us = now + known.pause_us  # unless it is met before: its answer may be lost

    def part(self, peer: int) -> None:
        """The session that was met is not its site's present one, as others know."""
        known = self._of[peer]
        known.session = b""
        known.met = None
        known.greet_at_us = 0
        known.pause_us = GREET_FIRST_US

    def _different(self, about: About) -> tuple[str, ...]:
        found = _different(self._settings, about.settings)
        if self._register.group_id or about.group_id:
            found = tuple([name for name in found if name != "founders"])  # it means nothing afterwards
        count, digest = about.sites
        if count <= len(self._sites) and digest != _digest(list(self._sites[:count])):
            found = (*found, "sites")
        elif count != len(self._sites):
            found = (*found, f"the number of sites ({count}, not {len(self._sites)})")  # one of them has more: allowed
        ours = self._register.group_id
        return (*found, "group id") if ours and about.group_id not in (b"", ours) else found


class Heard:
    """What a greeting asks for, and what it says, if it proves that its session lives."""

    def __init__(self) -> None:
        self.meets = False  # its session counts from now on
        self.answers = False  # it waits for a greeting
        self.about: About | None = None  # if it lives, whether it may be met or not
        self.of_me: Known | None = None  # the same: what it knows of this member


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
