"""The system state as one member of a view knows it: entries, who has counted, and what can be committed.

An entry's place orders it, for ever once it is safe. In a view that starts at `base` it is
base + ((cycle * n) + rank) * RUNS_MAX + run, the rank being the sender's position in the token-passing-list, or its
position counted from a head that moves on with each cycle (`rotating`). What the view takes over from earlier ones
keeps its place, below `base`; the head of the list announces it again, as cycle 0.

All members count every entry: first its destinations, each of which has the messages on disk by then; then the others,
who keep its place. So whatever a member has counted that is no destination, all destinations have. What a view takes
over and has no destination for is counted with its messages by everybody: somebody who is away may have delivered it,
and until a destination comes back, those who are here, a majority, are all who have it.

Why every member knows every entry in time: an entry stays in the token until its sender's next turn, so it is there at
one turn of everybody else; and nobody's turn is skipped. An entry that I know and that a newer token lacks was deleted,
which its sender does only when all have counted it: that is commit rule 2.

Entries are committed in the order of their places, each only after all before it, whatever their groups. So any two
sites deliver any two messages in the same order, and one number says how far a member has come.
"""

from typing import Final

from tocsin.core.errors import DecodeError
from tocsin.core.machine import SiteId
from tocsin.core.rangeset import rangeset_from_wire
from tocsin.protocols.counter_token.messages import StateEntry, Token, View

RUNS_MAX: Final = 64  # entries that one turn may announce
ENTRY_MESSAGES_MAX: Final = 1 << 16  # messages of one entry; what a peer announces is never expanded beyond it
ENTRY_RANGES_MAX: Final = 256
STATE_ENTRIES_MAX: Final = 1 << 16
CARRIED_CYCLE: Final = 0  # of entries that the view has taken over


class Slot:
    """An entry of the system state, here."""

    def __init__(self, place: int, cycle: int, sender: SiteId, group: int, ranges: tuple[int, ...]) -> None:
        self.place = place
        self.cycle = cycle
        self.sender = sender
        self.group = group
        self.ranges = ranges
        self.numbers: list[tuple[int, int]] = []  # the same as half-open ranges, checked
        self.count = 0  # messages
        self.expected = 0  # who has to count it
        self.first = 0  # of these, how many are destinations: they count first
        self.destination = False  # whether this site is one
        self.counted = False  # persisted, and counted in the token that this site passed; true of own entries
        self.full = False  # every member has it
        self.missing: set[int] = set()  # numbers that this destination lacks
        self.kept = False  # a Turn record names it
        self.keeper = False  # nobody of its group is in the view: its members need the messages, to keep them for those
        self.bare = False  # counted without its messages, which nobody here has: they are fetched later

    def following(self) -> int:
        return self.numbers[-1][1]


def checked_slot(place: int, cycle: int, sender: SiteId, group: int, ranges: tuple[int, ...]) -> Slot | None:
    """A slot whose ranges make sense; None otherwise."""
    if not ranges:
        return None
    try:
        numbers = rangeset_from_wire(ranges, ENTRY_RANGES_MAX)
    except DecodeError:
        return None
    if numbers.count() > ENTRY_MESSAGES_MAX or numbers.count() == 0:
        return None
    slot = Slot(place, cycle, sender, group, ranges)
    slot.numbers = numbers.ranges()
    slot.count = numbers.count()
    return slot


class Ring:
    """One view's circulation at one member."""

    def __init__(self, site: SiteId, view: View, groups: list[list[SiteId]], rotating: bool, cycles: bool) -> None:
        self.view: int = view.ballot
        self.members: list[SiteId] = list(view.members)
        self.base: int = view.base
        self.size = len(self.members)
        self.place_of: dict[SiteId, int] = {self.members[place]: place for place in range(self.size)}
        self.destinations: list[list[SiteId]] = [
            [member for member in group if member in self.place_of] for group in groups
        ]
        self.slots: dict[int, Slot] = {}  # by place, in the order of announcement; not committed
        self.committed: int = view.start - 1  # everything at or below this place is committed; nothing above is
        self.turn = -1  # newest turn seen (cycle * n + position)
        self.newest: Token | None = None  # the token of that turn
        self.carried: list[int] = [entry.place for entry in view.carried]
        self._site = site
        self._rotating = rotating
        self._cycles = cycles or rotating
        for entry in view.carried:
            slot = checked_slot(entry.place, CARRIED_CYCLE, entry.sender, entry.group, entry.ranges)
            assert slot is not None, "a view was checked before"
            self._expect(slot, self.destinations[slot.group], self.size)
            slot.keeper = not self.destinations[slot.group]
            self.slots[slot.place] = slot

    def place(self, cycle: int, position: int, run: int) -> int:
        rank = (position - cycle) % self.size if self._rotating else position
        return self.base + (cycle * self.size + rank) * RUNS_MAX + run

    def place_of_entry(self, entry: StateEntry) -> int:
        """Where an entry belongs; -1 if no member could have announced it."""
        run: int = entry.run
        if entry.cycle == CARRIED_CYCLE:
            return self.carried[run] if run < len(self.carried) else -1
        position = self.place_of.get(entry.sender, -1)
        return -1 if position < 0 or run >= RUNS_MAX else self.place(entry.cycle, position, run)

    def announcer(self, entry: StateEntry) -> SiteId:
        """Who deletes an entry once it is full: its sender, or the head of the list."""
        return self.members[0] if entry.cycle == CARRIED_CYCLE else entry.sender

    def owner(self) -> SiteId:
        """Whose turn the newest token is."""
        return self.members[self.turn % self.size]

    def make_slot(self, cycle: int, sender: SiteId, run: int, group: int, ranges: tuple[int, ...]) -> Slot | None:
        """A new entry, checked; None if no member could have announced it."""
        position = self.place_of.get(sender, -1)
        if position < 0 or run >= RUNS_MAX or group >= len(self.destinations) or not self.destinations[group]:
            return None
        slot = checked_slot(self.place(cycle, position, run), cycle, sender, group, ranges)
        if slot is not None:
            self._expect(slot, [site for site in self.destinations[group] if site != sender], self.size - 1)
        return slot

    def _expect(self, slot: Slot, first: list[SiteId], expected: int) -> None:
        slot.first = len(first)
        slot.expected = expected
        slot.destination = self._site in self.destinations[slot.group]
        slot.full = expected == 0

    def absorb(self, token: Token) -> list[Slot] | None:
        """Take over a newer token; the entries that are new here. None, and no change, if it is malformed."""
        fresh: list[Slot] = []
        seen: list[Slot] = []
        slots = self.slots
        for entry in token.state:
            place = self.place_of_entry(entry)
            if place < 0:
                return None
            if place <= self.committed:
                continue
            slot = slots.get(place)
            if slot is None:
                slot = self.make_slot(entry.cycle, entry.sender, entry.run, entry.group, entry.ranges)
                if slot is None:
                    return None
                fresh.append(slot)
            seen.append(slot)
            if entry.counter >= slot.expected:
                slot.full = True
        if len(seen) - len(fresh) < len(slots):  # rule 2: known, and no longer in the state
            known = {slot.place for slot in seen}
            for slot in slots.values():
                if slot.place not in known:
                    slot.full = True
        for slot in fresh:
            slots[slot.place] = slot
        self.turn = token.cycle * self.size + token.position
        self.newest = token
        return fresh

    def committable(self) -> list[Slot]:
        """What can be committed now, in order; the caller commits all of it."""
        return self._whole_cycles() if self._cycles else self._prefix()

    def _prefix(self) -> list[Slot]:
        ready: list[Slot] = []
        for slot in self.slots.values():
            if not slot.full or not slot.counted:
                break
            ready.append(slot)
        return ready

    def _whole_cycles(self) -> list[Slot]:
        """Cycles that are over (everybody had a turn) and full, oldest first."""
        ready: list[Slot] = []
        by_cycle: dict[int, list[Slot]] = {}
        for slot in self.slots.values():
            by_cycle.setdefault(slot.cycle, []).append(slot)
        for cycle in sorted(by_cycle):
            if cycle >= self.turn // self.size:
                break
            blocked = False
            for slot in by_cycle[cycle]:
                if not slot.full or not slot.counted:
                    blocked = True
            if blocked:
                break
            ready.extend(sorted(by_cycle[cycle], key=_place))
        return ready

    def drop(self, slot: Slot) -> None:
        """The slot is committed."""
        del self.slots[slot.place]
        self.committed = max(self.committed, slot.place)


def _place(slot: Slot) -> int:
    return slot.place


def messages_in(state: tuple[StateEntry, ...]) -> int:
    """How many messages a state speaks of, for the global flag."""
    total = 0
    for entry in state:
        for length in entry.ranges[1::2]:
            total += length
    return total
