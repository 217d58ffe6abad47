"""An explored state of the whole group, as a value, and what leads from one to the next."""

from array import array

from tocsin.core.machine import GroupId, Micros, SiteId

Numbers = tuple[int, ...]


class Bounds:
    """How much may go wrong: what `Limits` says, for compiled code."""

    def __init__(
        self, losses: int, crashes: int, recoveries: int, late: bool, prompt: bool, early: int, repeats: int
    ) -> None:
        self.losses = losses
        self.crashes = crashes
        self.recoveries = recoveries  # negative: no limit
        self.late = late  # recoveries are
        self.prompt = prompt  # the perfect detector is
        self.early = early
        self.repeats = repeats


class Turn:
    """A broadcast that a sender is to make."""

    def __init__(self, group: GroupId, group_name: str, payload: bytes) -> None:
        self.group = group
        self.payload = payload
        self.text = f"{group_name} {payload.decode()}"


class Budget:
    """What has gone wrong so far, and when last."""

    def __init__(self, losses: int, crashes: int, early: int, repeats: int, faults: int) -> None:
        self.losses = losses
        self.crashes = crashes
        self.early = early
        self.repeats = repeats
        self.faults = faults  # of the scenario


class State:
    """A global state; never changed once made."""

    def __init__(
        self, sites: Numbers, flights: Numbers, done: Numbers, budget: Budget, now: Micros, since: Micros
    ) -> None:
        self.sites = sites  # local states by site
        self.flights = flights  # sorted, repeated where several are equal
        self.done = done  # broadcasts, by sender
        self.budget = budget
        self.now = now
        self.since = since  # when something last went wrong or was asked for

    def key(self) -> bytes:
        """Equal for equal states, and small."""
        budget = self.budget
        spent = [budget.losses, budget.crashes, budget.early, budget.repeats, budget.faults]
        return array("q", [*self.sites, *self.done, *spent, self.now, self.since, *self.flights]).tobytes()


def state_of_key(key: bytes, sites: int, senders: int) -> State:
    """The inverse of `State.key`."""
    words = array("q")
    words.frombytes(key)
    values = list(words)
    rest = values[sites + senders :]
    return State(
        tuple(values[:sites]),
        tuple(rest[7:]),
        tuple(values[sites : sites + senders]),
        Budget(rest[0], rest[1], rest[2], rest[3], rest[4]),
        rest[5],
        rest[6],
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
        self.text = text
        self.to = to
        self.seen = seen  # whether an application saw something
