"""The shortest cycle of a tangle: m1 before m2 at one site, m2 before m3 at another, …, back to m1."""

from typing import Final, NamedTuple

from tocsin.properties.kernels.tangles import Strand

STEPS_MAX: Final = 2_000_000  # of the search for a shorter cycle; after that, the shortest found so far
SHORTEST: Final = 2  # links; no cycle is shorter


class Link(NamedTuple):
    """At one site, one message before another."""

    owner: int
    message: int
    after: int


def find_short_cycle(tangle: list[Strand]) -> list[Link]:
    """A cycle of a tangle with the fewest links, from searches in breadth that start at one message after another."""
    where: dict[int, list[tuple[int, int]]] = {}  # message: strands and its places in them
    for index, strand in enumerate(tangle):
        for place, message in enumerate(strand.messages):
            where.setdefault(message, []).append((index, place))
    best: list[Link] = []
    steps = 0
    for start in sorted(where):
        cycle, spent = _search(tangle, where, start, len(best))
        steps += spent
        if cycle and (not best or len(cycle) < len(best)):
            best = cycle
        if len(best) == SHORTEST or (best and steps > STEPS_MAX):
            break
    return best


def _search(
    tangle: list[Strand], where: dict[int, list[tuple[int, int]]], start: int, below: int
) -> tuple[list[Link], int]:
    """The shortest cycle through `start`, if it has fewer links than `below` (0: any); and the steps it took."""
    reached = [len(strand.messages) for strand in tangle]  # by strand: from here on its messages are reached
    came_by: dict[int, Link] = {}
    edge = [start]
    steps = 0
    depth = 0
    while edge and (below == 0 or depth + 1 < below):
        depth += 1
        next_edge: list[int] = []
        for message in edge:
            for index, place in where[message]:
                messages = tangle[index].messages
                for after in messages[place + 1 : reached[index]]:
                    steps += 1
                    if after not in came_by:
                        came_by[after] = Link(tangle[index].owner, message, after)
                        next_edge.append(after)
                reached[index] = min(reached[index], place + 1)
        if start in came_by:
            return _back_to(start, came_by), steps
        edge = next_edge
    return [], steps


def _back_to(start: int, came_by: dict[int, Link]) -> list[Link]:
    links = [came_by[start]]
    while links[-1].message != start:
        links.append(came_by[links[-1].message])
    return links[::-1]
