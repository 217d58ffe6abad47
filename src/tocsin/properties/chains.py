"""The smallest witness of broken causal order: the shortest chain from a message to one delivered before it."""

from array import array
from typing import Final, NamedTuple

from tocsin.properties.case import Case
from tocsin.properties.history import IS_BROADCAST
from tocsin.traces.rows import Row

STEPS_MAX: Final = 2_000_000  # of the search for a shorter chain; after that, the shortest found so far


class Chain(NamedTuple):
    rows: tuple[Row, ...]
    words: str


class _Link(NamedTuple):
    """A site saw a cause, at a place of its log, and then broadcast the effect."""

    log: int
    cause: int
    cause_place: int
    effect: int
    effect_place: int


class _Search:
    """Where each message was seen, and what each site broadcast when."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.broadcasts: list[list[tuple[int, int]]] = []  # by log: place and message of its broadcasts
        count = len(case.history.stream_of)
        sightings: list[list[tuple[int, int]]] = []  # by log: place and message of all it saw
        starts = array("q", [0]) * (count + 1)
        for index, log in enumerate(case.logs):
            first_logs, first_places = case.broadcast_at
            own = [
                (place, message)
                for place, (event, message) in enumerate(zip(log.events, log.messages, strict=True))
                if event == IS_BROADCAST and first_logs[message] == index and first_places[message] == place
            ]
            self.broadcasts.append(own)
            sequence = case.sequences[index]
            sightings.append([*zip(sequence.places, sequence.messages, strict=True), *own])
            for _, message in sightings[-1]:
                starts[message + 1] += 1
        for message in range(count):
            starts[message + 1] += starts[message]
        self._starts = starts
        self._logs = array("i", [0]) * starts[count]
        self._places = array("i", [0]) * starts[count]
        filled = starts[:]
        for index, seen in enumerate(sightings):
            for place, message in seen:
                self._logs[filled[message]] = index
                self._places[filled[message]] = place
                filled[message] += 1
        self.steps = 0

    def seen(self, message: int) -> list[tuple[int, int]]:
        """The logs in which a message was broadcast or delivered, and the places."""
        start, end = self._starts[message], self._starts[message + 1]
        return list(zip(self._logs[start:end], self._places[start:end], strict=True))

    def chain(self, message: int, before: set[int], below: int) -> list[_Link]:
        """The shortest chain from a message to one of `before`, if it has fewer links than `below` (0: any)."""
        came_by: dict[int, _Link] = {}
        reached = [len(own) for own in self.broadcasts]  # by log: from here on its broadcasts are reached
        edge = [message]
        depth = 0
        while edge and (below == 0 or depth + 1 < below):
            depth += 1
            next_edge: list[int] = []
            for cause in edge:
                for log, place in self.seen(cause):
                    own = self.broadcasts[log]
                    while reached[log] > 0 and own[reached[log] - 1][0] > place:
                        reached[log] -= 1
                        self.steps += 1
                        effect_place, effect = own[reached[log]]
                        if effect != message and effect not in came_by:
                            came_by[effect] = _Link(log, cause, place, effect, effect_place)
                            next_edge.append(effect)
            ends = [effect for effect in next_edge if effect in before]
            if ends:
                return _links_to(ends[0], message, came_by)
            edge = next_edge
        return []


def find_shortest_chain(case: Case, late: list[tuple[int, int]]) -> Chain:
    """`late`: logs and messages that come after an effect of theirs; there is at least one."""
    search = _Search(case)
    best: list[_Link] = []
    best_log = -1
    for index, message in late:
        messages = case.sequences[index].messages
        before = set(messages[: messages.index(message)])
        search.steps += len(before)
        links = search.chain(message, before, len(best))
        if links:
            best, best_log = links, index
        if len(best) == 1 or search.steps > STEPS_MAX:
            break
    return _chain(case, best_log, best)


def _links_to(end: int, start: int, came_by: dict[int, _Link]) -> list[_Link]:
    links = [came_by[end]]
    while links[-1].cause != start:
        links.append(came_by[links[-1].cause])
    return links[::-1]


def _chain(case: Case, log: int, links: list[_Link]) -> Chain:
    cause, effect = links[0].cause, links[-1].effect
    rows: list[Row] = []
    for link in links:
        rows += [case.row(link.log, link.cause_place), case.row(link.log, link.effect_place)]
    rows += [case.delivery_row(log, effect), case.delivery_row(log, cause)]
    how = " and then ".join(
        f"site {case.logs[link.log].site} broadcast {case.text(link.effect)} when it had seen {case.text(link.cause)}"
        for link in links
    )
    words = f"site {case.logs[log].site} delivered {case.text(effect)} before {case.text(cause)}, but {how}"
    return Chain(tuple(dict.fromkeys(rows)), words)
