"""From journal and log to what comes live, without a seam.

What a member hears has one order, and its log has that order. A consumer's events are therefore those of the log after
its cursor, up to where the log ended when the member was opened (the *edge*: by group the position of the next
message), and then what the member hears, which begins there. Nothing is compared and nothing can come twice; what the
log's files no longer have, retention has dropped, and that is told.
"""

from tocsin.live.events import Batch, BatchEvent, Missed
from tocsin.live.storage.cursors import Cursor


class Replay:
    """Takes the events of journal and log in order, from anywhere at or before the cursor; says which to hand on."""

    def __init__(self, cursor: Cursor, edge: dict[str, int]) -> None:
        self._next = dict(cursor.positions)  # by group: of the next message to hand on
        self._edge = edge
        self._anchor = cursor.anchor
        self._anchored = cursor.anchor == ""  # what comes now lies behind the last acknowledged delivery
        self._others = cursor.others  # events besides deliveries that were acknowledged after it

    def take(self, event: BatchEvent) -> list[BatchEvent]:
        """What of it is to be handed on: a batch may be cut at its head. Before it, what was dropped of its group."""
        if not isinstance(event, Batch):
            if not self._anchored:
                return []
            if self._others > 0:
                self._others -= 1
                return []
            return [event]
        wanted = self._next.get(event.group, 0)
        end = event.position + len(event.payloads)
        if end <= wanted:
            self._anchored = self._anchored or (event.group == self._anchor and end == wanted)
            return []
        self._anchored = True
        self._others = 0  # behind the first delivery that is handed on, everything is
        self._next[event.group] = end
        if event.position > wanted:
            return [Missed(event.group, None, wanted, event.position - wanted), event]
        skip = wanted - event.position
        if skip == 0:
            return [event]
        rest = event.payloads[skip:]
        return [Batch(event.group, event.origin, event.seqno + skip, wanted, event.time_us, rest)]

    def end(self) -> list[BatchEvent]:
        """Journal and log are read to the edge: what they did not have of the positions before it."""
        return [
            Missed(group, None, self._next.get(group, 0), edge - self._next.get(group, 0))
            for group, edge in sorted(self._edge.items())
            if self._next.get(group, 0) < edge
        ]
