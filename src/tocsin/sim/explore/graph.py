"""The explored graph: which state leads to which, in four bytes an edge.

States are expanded in the order of their numbers, so the edges of one lie together, and most lead to higher numbers.
"""

from array import array
from typing import Final

TARGETS_MAX: Final = 1 << 31  # an edge is target * 2, and 1 more if a fault led there


class Graph:
    def __init__(self) -> None:
        self._edges = array("I")
        self._starts = array("Q")  # by expanded state: where its edges begin

    def begin(self) -> None:
        """The edges of the next state follow."""
        self._starts.append(len(self._edges))

    def add(self, target: int, by_fault: bool) -> None:
        self._edges.append(target * 2 + (1 if by_fault else 0))

    def edge_count(self) -> int:
        return len(self._edges)

    def lead_to(self, good: bytearray) -> int:
        """Mark in `good` every expanded state from which edges without faults lead to a good one; how often the edges
        were looked at. Most edges lead to higher numbers: going backward, few looks are needed."""
        edges = self._edges
        looks = 0
        changed = True
        while changed:
            changed = False
            looks += 1
            end = len(edges)
            for state in range(len(self._starts) - 1, -1, -1):
                start = self._starts[state]
                if not good[state]:
                    for place in range(start, end):
                        edge = edges[place]
                        if not edge & 1 and good[edge >> 1]:
                            good[state] = 1
                            changed = True
                            break
                end = start
        return looks

    def executions(self, states: int, ends: list[int]) -> int | None:
        """How many paths lead from the first state to an end; None when the graph has a cycle."""
        edges = self._edges
        starts = [*self._starts, len(edges)]
        waiting = array("I", bytes(4 * states))  # edges into a state that were not yet counted
        for edge in edges:
            waiting[edge >> 1] += 1
        paths = [0] * states
        paths[0] = 1
        ready = [0] if not waiting[0] else []
        counted = 0
        while ready:
            state = ready.pop()
            counted += 1
            for place in range(starts[state], starts[state + 1]):
                other = edges[place] >> 1
                paths[other] += paths[state]
                waiting[other] -= 1
                if not waiting[other]:
                    ready.append(other)
        return sum([paths[end] for end in ends]) if counted == states else None
