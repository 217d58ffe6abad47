"""One replica, without clock, disk or network: entries of the order go in, what is to be done comes out.

    comes in                         what it does
    on_entry                         apply; answer own calls; a snapshot at every `snapshot_every`-th position
    on_view                          say in the order which lives have ended (`Gone`)
    call, sync                       an entry to broadcast; its answer when it comes back
    repeat                           send again what is outstanding: it counts once
    a hole in the positions          ask for the state (`transfer.py`), keep what comes meanwhile, go on from there

A *session* is one opened replica, a *life* is what the others believe of its site: a site that was given up for gone
begins another life in the same session. Commands of a life that has ended are passed over by all, so that what it held
can be given to others; its replica, when it hears of its end, begins the next life and sends again what it still waits
for. Numbers make that safe: the table of producers (`core/producers.py`) is part of every snapshot.
"""

from typing import Final, NamedTuple

from tocsin.core.errors import DecodeError
from tocsin.core.producers import NOT_SEEN, Producers
from tocsin.state.digests import Digests
from tocsin.state.entries import (
    Ask,
    Began,
    Command,
    Digest,
    Entry,
    Gone,
    Mark,
    Part,
    Want,
    decode_entry,
    encode_entry,
)
from tocsin.state.images import Image, make_image, read_image
from tocsin.state.lives import Lives
from tocsin.state.states import AnyState, Caller, LivesState
from tocsin.state.transfer import Fetching, Offers

CALLS_MAX: Final = 1000  # outstanding numbers of a session, first to last: all are in the table of producers


class Answer(NamedTuple):
    """What became of a call; of a `sync`, nothing but that it is there."""

    number: int
    value: bytes
    error: Exception | None
    position: int  # -1: it was applied while this member was away, and the answer is not known here


class Core:
    """See above. What is to be done waits in the four lists, for whoever drives it to take."""

    def __init__(self, site: str, session: int, state: AnyState, snapshot_every: int) -> None:
        self.broadcasts: list[bytes] = []
        self.answers: list[Answer] = []
        self.images: list[Image] = []
        self.told: list[str] = []  # for people
        self.site = site
        self.state = state
        self.position = 0  # of the next entry
        self.life = 0  # as the order says it; 0: none now
        self.stat_applied = 0
        self.stat_repeats = 0
        self.stat_foreign = 0  # messages of the group that are no entries
        self._session = session
        self._every = snapshot_every
        self._lives = Lives()
        self._calls = Producers()
        self._digests = Digests()
        self._offers = Offers()
        self._fetching: Fetching | None = None  # None: the state is here
        self._view: tuple[str, ...] | None = None  # the last primary view
        self._started = False
        self._is_new = False  # something besides digests came since the last snapshot: digests alone bring no others
        self._next_number = 0
        self._outstanding: dict[int, tuple[int, bytes] | None] = {}  # sent_us and command; None: a mark

    # The application's side

    def start(self) -> None:
        """What was kept here has been applied; from now on this replica speaks."""
        self._started = True
        self._say(Began(self._session))
        self._end_lives()
        if self._fetching is not None:
            self._say(Ask(self._session))

    def stop(self) -> None:
        """Its site leaves: what it has said is said, and what others ask or do is no longer its business."""
        self._started = False

    def is_whole(self) -> bool:
        return self._fetching is None

    def fetched(self) -> int:
        """Bytes of the state that have come; -1: it is here, or not asked for."""
        return -1 if self._fetching is None or self._fetching.asked < 0 else len(self._fetching)

    def has_room(self) -> bool:
        return not self._outstanding or self._next_number - min(self._outstanding) < CALLS_MAX

    def call(self, command: bytes, now_us: int) -> int:
        """The number of the call; its answer comes by that number."""
        return self._send((now_us, command))

    def sync(self) -> int:
        """As `call`, for a place in the order: every call that completed before, anywhere, lies before it."""
        return self._send(None)

    def _send(self, what: tuple[int, bytes] | None) -> int:
        number = self._next_number
        self._next_number += 1
        self._outstanding[number] = what
        self._say_call(number)
        return number

    def forget(self, number: int) -> None:
        """Nobody waits for this answer any more; the call may still count."""
        self._outstanding.pop(number, None)

    def repeat(self) -> None:
        """What was sent may be lost, or not: send it again."""
        if self._started and self.life == 0:
            self._say(Began(self._session))
        for number in sorted(self._outstanding):
            self._say_call(number)
        self.ask_again()

    def ask_again(self) -> None:
        """The state has not come for some time: let another member send it."""
        fetching = self._fetching
        if fetching is None or not self._started:
            return
        if fetching.asked < 0 or fetching.turn > len(self._view or ()):
            self._say(Ask(self._session))
        else:
            fetching.turn += 1
            self._say(fetching.want(self._session))

    def _say(self, entry: Entry) -> None:
        self.broadcasts.append(encode_entry(entry))

    def _say_call(self, number: int) -> None:
        if self.life == 0 or self._fetching is not None:
            return  # when the life has begun, and the state is here
        what = self._outstanding[number]
        if what is None:
            self._say(Mark(self._session, number))
        else:
            self._say(Command(self._session, self.life, number, what[0], what[1]))

    # Snapshots

    def image(self) -> Image:
        """Of just here."""
        return make_image(self.position, self._lives, self._calls, self.state.snapshot())

    def restore(self, data: bytes) -> None:
        """Become what an image says. DecodeError if it is none: then nothing has changed."""
        position, lives, calls, state = read_image(data)
        self.state.restore(state)
        self.position = position
        self._lives.restore(lives)
        self._calls = calls

    # The order's side

    def on_view(self, members: tuple[str, ...]) -> None:
        """A primary view."""
        self._view = members
        self._end_lives()

    def _end_lives(self) -> None:
        """Say which lives have ended; all members say so, and the first one counts."""
        if not self._started or self._view is None or self._fetching is not None:
            return
        for site in self._lives.on():
            life = self._lives.of(site)
            if site not in self._view and life is not None:
                self._say(Gone(site, life.number))

    def on_entry(self, position: int, origin: str, payload: bytes) -> None:
        """The message at a position of the group's order. One that was there before is passed over."""
        if position < self.position:
            return
        if position > self.position:
            self._on_hole()
        self.position = position + 1
        entry = decode_entry(payload)
        if self._fetching is not None:
            self._on_entry_while_away(self._fetching, position, origin, entry, payload)
        else:
            self._on_entry_here(position, origin, entry)

    def _on_entry_here(self, position: int, origin: str, entry: Entry | None) -> None:
        if isinstance(entry, Command):
            self._on_command(position, origin, entry)
        elif entry is None:
            self.stat_foreign += 1
        else:
            self._on_rare(position, origin, entry)
        self._is_new = self._is_new or not isinstance(entry, Digest)
        if self.position % self._every == 0 and self._is_new:
            self._is_new = False
            image = self.image()
            self.images.append(image)
            if self._started:
                self._say(Digest(image.position, image.digest()))

    def _on_command(self, position: int, origin: str, command: Command) -> None:
        if not self._lives.is_on(origin, command.life, command.session):
            return  # said in a life that has ended: it will be said again, or nobody is left who waits
        if self._calls.take(f"{origin}.{command.session:x}", command.number, position) != position:
            self.stat_repeats += 1
            return
        self.stat_applied += 1
        value, error = b"", None
        try:
            value = self._apply(position, origin, command)
        except (MemoryError, RecursionError):
            raise  # of this machine, not of the command: nobody else has it
        except Exception as raised:
            error = raised
        if origin == self.site and command.session == self._session and command.number in self._outstanding:
            del self._outstanding[command.number]
            self.answers.append(Answer(command.number, value, error, position))

    def _apply(self, position: int, origin: str, command: Command) -> bytes:
        state = self.state
        if isinstance(state, LivesState):
            value = state.apply_from(command.body, Caller(origin, command.life, position, command.sent_us))
        else:
            value = state.apply(command.body)
        if not isinstance(value, bytes):
            raise TypeError(f"apply: expected bytes as an answer, found {type(value).__name__}")
        return value

    def _on_rare(self, position: int, origin: str, entry: Entry) -> None:
        if isinstance(entry, Began):
            began, ended = self._lives.maybe_begin(origin, entry.session)
            if ended:
                self._on_gone(origin, ended, position)
            if began:
                self._offers.drop(origin)
            if origin == self.site:
                self._on_own_life(began)
        elif isinstance(entry, Gone):
            if self._lives.maybe_end(entry.site, entry.life):
                self._on_gone(entry.site, entry.life, position)
                if entry.site == self.site:
                    self._on_own_end()
        elif isinstance(entry, Mark):
            if origin == self.site and entry.session == self._session and entry.number in self._outstanding:
                del self._outstanding[entry.number]
                self.answers.append(Answer(entry.number, b"", None, position))
        elif isinstance(entry, Digest):
            line = self._digests.note(entry.position, origin, entry.digest)
            if line:
                self.told.append(line)
        elif isinstance(entry, Ask):
            if self._started:
                self._offers.put(origin, self.image())
                self._send_parts(origin, Want(entry.session, position, 0, 0))
        elif isinstance(entry, Want):
            self._send_parts(origin, entry)

    def _on_gone(self, site: str, life: int, position: int) -> None:
        if isinstance(self.state, LivesState):
            self.state.on_gone(site, life, position)

    def _on_own_life(self, began: bool) -> None:
        life = self._lives.of(self.site)
        if life is None or life.session != self._session or (not began and self.life == life.number):
            return
        self.life = life.number
        for number in sorted(self._outstanding):
            self._say_call(number)

    def _on_own_end(self) -> None:
        """Given up for gone, and here nevertheless: the next life. Of one that a crash ended, a journal tells."""
        if self.life and self._started:
            self.told.append(f"`{self.site}` was given up for gone: life {self.life} has ended, the next one begins")
            self._say(Began(self._session))
        self.life = 0

    # The state for others, and from others

    def _send_parts(self, site: str, want: Want) -> None:
        """All members keep the snapshot; who sends it is decided by the order, too."""
        parts = self._offers.parts(site, want)
        senders = [each for each in self._lives.on() if each != site]
        if parts and self._started and senders and senders[want.turn % len(senders)] == self.site:
            for part in parts:
                self._say(part)

    def on_missed(self) -> None:
        """Something of the order will never be heard here."""
        self._on_hole()

    def _on_hole(self) -> None:
        """Positions are missing here: what is in them can only come as a snapshot."""
        self._fetching = Fetching()
        self.life = 0
        if self._started:
            self._say(Ask(self._session))

    def _on_entry_while_away(
        self, fetching: Fetching, position: int, origin: str, entry: Entry | None, payload: bytes
    ) -> None:
        if isinstance(entry, Ask) and origin == self.site and entry.session == self._session:
            self._fetching = Fetching(position)
        elif fetching.asked >= 0:
            if not fetching.keep(position, origin, b"" if isinstance(entry, Part) else payload):
                self._on_hole()
            elif isinstance(entry, Part):
                data = fetching.take(entry)
                if data is not None:
                    self._on_state(fetching, data)
                elif fetching.is_at_window_end():
                    self._say(fetching.want(self._session))

    def _on_state(self, fetching: Fetching, data: bytes) -> None:
        """The state as it was where it was asked for is here."""
        end = self.position
        try:
            if read_image(data)[0] != fetching.asked + 1:
                raise DecodeError("a snapshot of another position")
            self.restore(data)
        except DecodeError as error:
            self.told.append(f"the state that came cannot be read: {error}; asked for again")
            self._on_hole()
            return
        self._fetching = None
        self._say(fetching.want(self._session))  # nothing more
        for position, origin, payload in fetching.waiting:
            self.position = position + 1
            self._on_entry_here(position, origin, decode_entry(payload))
        assert self.position == end
        self._after_away()

    def _after_away(self) -> None:
        """Calls that were applied while this member was away: their answers were given where nobody heard them."""
        for number in sorted(self._outstanding):
            if self._calls.find(f"{self.site}.{self._session:x}", number) != NOT_SEEN:
                del self._outstanding[number]
                self.answers.append(Answer(number, b"", None, -1))
        life = self._lives.of(self.site)
        if life is not None and life.is_on and life.session == self._session:
            self._on_own_life(began=True)
        else:
            self._say(Began(self._session))
        self._end_lives()
