"""What a site does with a message that is new to it, and with those that it will never get."""

from tocsin.core.machine import Outbox
from tocsin.protocols.coordinator_tree.messages import Data, Held, Missed
from tocsin.protocols.coordinator_tree.options import CoordinatorTreeOptions
from tocsin.protocols.coordinator_tree.storage import Storage
from tocsin.protocols.coordinator_tree.stream import NIL, Kept, Stream


class Reception:
    """For all streams of a site."""

    def __init__(self, options: CoordinatorTreeOptions, storage: Storage, outbox: Outbox, several_groups: bool) -> None:
        self._retain: int = options.retain
        self._fifo: bool = options.order == "fifo"
        self._several_groups = several_groups
        self._storage = storage
        self._outbox = outbox

    def accept(self, stream: Stream, data: Data) -> None:
        """A new message: keep it, and deliver it now or, with FIFO, in its turn."""
        stream.received.add(data.number)
        stream.edges.pop(data.number - 1, NIL)
        kept = Kept(data.seqno, data.payload, NIL)
        stream.keep(data.number, kept)
        if self._fifo and data.number > stream.next_delivery:
            self._storage.persist(Held(stream.group, stream.origin, data.number, data.seqno, data.payload))
            self.trim(stream)
            return
        self._storage.deliver(stream, data.number, kept)
        if self._fifo:
            stream.next_delivery = data.number + 1
            self.deliver_held(stream)
        self.trim(stream)

    def deliver_held(self, stream: Stream) -> None:
        """Deliver what waited: with FIFO up to the next gap, else all (the option may have changed over a restart)."""
        bound = stream.prefix() if self._fifo else stream.height
        for start, end in stream.kept_numbers.ranges():
            for number in range(max(start, stream.next_delivery), min(end, bound)):
                kept = stream.kept[number]
                if kept.position == NIL:
                    self._storage.deliver(stream, number, kept)
        if self._fifo:
            stream.next_delivery = bound

    def trim(self, stream: Stream) -> None:
        """Drop what everybody has, and the oldest beyond the limit; FIFO never drops what is not yet delivered."""
        limit = stream.next_delivery if self._fifo else stream.height
        stream.drop_below(min(stream.stable, limit))
        stream.drop_oldest(self._retain, limit)

    def miss(self, stream: Stream, floor: int) -> None:
        """The source has dropped messages that we lack: tell the application, and go on after them."""
        self.tell_missed(stream, floor)
        if self._fifo:
            self.deliver_held(stream)

    def tell_missed(self, stream: Stream, floor: int) -> None:
        for start, end in stream.received.gaps_below(floor).ranges():
            first = start
            if self._several_groups:  # numbers of other groups lie between: the first it can be
                first = stream.seqno_before(start) + 1
            self._storage.persist(Missed(stream.group, stream.origin, start, end - start))
            self._outbox.missed(stream.group, stream.origin, first, end - start)
            stream.received.add_range(start, end)
        stream.forget_edges()
