"""An explored state of the whole group, as a value, and what leads from one to the next."""

from array import array
from typing import Final

from tocsin.core.machine import GroupId, Micros, SiteId

Numbers = tuple[int, ...]

# What may go wrong, and is counted: places in `Bounds.most`, and in `State.spent`, BITS each.
LOSSES: Final = 0
CRASHES: Final = 1
RECOVERIES: Final = 2  # counted only where there is a limit; the sites' stories tell them
EARLY: Final = 3
REPEATS: Final = 4
WIPES: Final = 5
SAVES: Final = 6
RESTORES: Final = 7
LEAVES: Final = 8
RETURNS: Final = 9  # as recoveries
DEAD_LINKS: Final = 10
KINDS: Final = 11

BITS: Final = 5
MOST: Final = 31  # of a kind
FAULTS_SHIFT: Final = 55  # above them all: how many of the scenario's faults have happened
FAULTS_MOST: Final = 63
NO_LIMIT: Final = 1 << 30


class Bounds:
    """How much may go wrong: what `Limits` says, for compiled code."""

    def __init__(self, most: list[int], late: bool, late_faults: bool, prompt: bool) -> None:
        self.most = most  # by kind
        self.late = late  # recoveries are
        self.late_faults = late_faults  # the scenario's are
        self.prompt = prompt  # the perfect detector is


class Turn:
    """A broadcast that a sender is to make."""

    def __init__(self, group: GroupId, group_name: str, payload: bytes) -> None:
        self.group = group
        self.payload = payload
        self.text = f"{group_name} {payload.decode()}"


class State:
    """A global state; never changed once it is shared."""

    def __init__(
        self, sites: Numbers, flights: Numbers, done: Numbers, spent: int, dead: int, now: Micros, since: Micros
    ) -> None:
        self.sites = sites  # local states by site
        self.flights = flights  # sorted, repeated where several are equal
        self.done = done  # broadcasts, by sender
        self.spent = spent  # how often what has happened, packed: see `spent_on`
        self.dead = dead  # links that died, as bits: source * number of sites + target
        self.now = now
        self.since = since  # when something last went wrong or was asked for

    def faults(self) -> int:
        """How many of the scenario's faults have happened."""
        return self.spent >> FAULTS_SHIFT

    def key(self) -> bytes:
        """Equal for equal states, and small."""
        head = array("q", [self.spent, self.dead, self.now, self.since])
        return head.tobytes() + array("i", [*self.sites, *self.done, *self.flights]).tobytes()


HEAD_BYTES: Final = 32


def state_of_key(key: bytes, sites: int, senders: int) -> State:
    """The inverse of `State.key`."""
    head = array("q")
    head.frombytes(key[:HEAD_BYTES])
    rest = array("i")
    rest.frombytes(key[HEAD_BYTES:])
    values = list(rest)
    return State(
        tuple(values[:sites]),
        tuple(values[sites + senders :]),
        tuple(values[sites : sites + senders]),
        head[0],
        head[1],
        head[2],
        head[3],
    )


class Move:
    """Something that can happen, and where it leads."""

    def __init__(
        self, what: str, source: SiteId, target: SiteId, flight: int, text: str, to: State, seen: bool
    ) -> None:
        self.what = what
        self.source = source
        self.target = target
        self.flight = flight  # its number; -1: none
        self.text = text  # a broadcast's group and payload, a timer; else what a transcript is told, line by line
        self.to = to
        self.seen = seen  # whether an application saw something


def replaced(numbers: Numbers, place: int, number: int) -> Numbers:
    return (*numbers[:place], number, *numbers[place + 1 :])


def merged(flights: Numbers, more: list[int]) -> Numbers:
    return tuple(sorted([*flights, *more])) if more else flights


def spent_on(spent: int, kind: int) -> int:
    """How often something of a kind has happened."""
    return (spent >> (BITS * kind)) & MOST


def one_more(spent: int, kind: int) -> int:
    return spent + (1 << (BITS * kind))
