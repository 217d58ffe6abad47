"""From journal and log to what comes live, without a seam.

What a member hears has one order, and its log has that order. A consumer's events are therefore those of the log after
its place, up to where the log ended when the member was opened (the *edge*: by group the position of the next message),
and then what the member hears, which begins there. Nothing is compared and nothing can come twice; what the log's files
no longer have, retention has dropped, and that is told.
"""

from tocsin.live.events import Batch, BatchEvent, Missed
from tocsin.live.storage.holding import Place


class Replay:
    """Takes the events of journal and log in order, from anywhere at or before the place; says which to hand on."""

    def __init__(self, place: Place, edge: dict[str, int], begins: dict[str, int] | None = None) -> None:
        """`begins`: the positions at which what is taken begins, where that is known. If the message before the place
        is not among it, it was dropped, and everything that is left comes after it."""
        self._next = dict(place.positions)  # by group: of the next message to hand on
        self._edge = edge
        begins = begins or {}
        dropped = {group for group in place.anchors if begins.get(group, 0) >= place.positions.get(group, 0)}
        self._anchors = set(place.anchors - dropped)  # whose last message before the place is still to come
        self._others = 0 if dropped else place.others  # events besides deliveries behind that, not to be handed on
        self._told: dict[str, tuple[int, int]] = {}  # by group: the last positions that the log itself says are missed

    def take(self, event: BatchEvent) -> list[BatchEvent]:
        """What of it is to be handed on: a batch may be cut at its head. Before it, what was dropped of its group."""
        if not isinstance(event, Batch):
            if isinstance(event, Missed) and event.origin is None:
                self._told[event.group] = (event.first, event.first + event.count)
            if self._anchors:
                return []
            if self._others > 0:
                self._others -= 1
                return []
            return [event]
        wanted = self._next.get(event.group, 0)
        end = event.position + len(event.payloads)
        if end <= wanted:
            if end == wanted:
                self._anchors.discard(event.group)
            return []
        self._anchors.clear()
        self._others = 0  # behind the first delivery that is handed on, everything is
        self._next[event.group] = end
        if event.position > wanted:
            if self._told.get(event.group) == (wanted, event.position):
                return [event]
            return [Missed(event.group, None, wanted, event.position - wanted), event]
        skip = wanted - event.position
        if skip == 0:
            return [event]
        return [event.rest(skip)]

    def end(self) -> list[BatchEvent]:
        """Journal and log are read to the edge: what they did not have of the positions before it."""
        return [
            Missed(group, None, self._next.get(group, 0), edge - self._next.get(group, 0))
            for group, edge in sorted(self._edge.items())
            if self._next.get(group, 0) < edge and self._told.get(group) != (self._next.get(group, 0), edge)
        ]
