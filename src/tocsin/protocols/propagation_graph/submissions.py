"""The receiving end of sources' streams at a primary destination: what has come, and what the sources are told."""

from tocsin.core.machine import GroupId, Micros, Outbox, SiteId
from tocsin.protocols.propagation_graph.acks import FIRST_SOURCE, AckTimers
from tocsin.protocols.propagation_graph.edges import GAPS_MAX, gaps
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.messages import Ack, Submit
from tocsin.protocols.propagation_graph.places import SourcePlaces


class Stream:
    """What a primary destination knows of one source's messages to one group, beside its places."""

    def __init__(self) -> None:
        self.early: dict[int, Submit] = {}  # the wait queue, by place; none below the source's next place
        self.owes_ack = False  # there is something to acknowledge


class Submissions:
    """All streams in the present graph; the places are those of `SourcePlaces`."""

    def __init__(self, site: SiteId, graphs: Graphs, places: SourcePlaces, acks: AckTimers, outbox: Outbox) -> None:
        self._site = site
        self._graphs = graphs
        self._places = places
        self._acks = acks
        self._outbox = outbox
        self._streams: dict[tuple[GroupId, SiteId], Stream] = {}

    def _stream(self, group: GroupId, source: SiteId) -> Stream:
        stream = self._streams.get((group, source))
        if stream is None:
            stream = Stream()
            self._streams[(group, source)] = stream
        return stream

    def streams(self) -> list[tuple[GroupId, SiteId]]:
        return sorted(self._streams)

    def put(self, submit: Submit) -> None:
        self._stream(submit.group, submit.origin).early[submit.place] = submit

    def peek(self, group: GroupId, source: SiteId, place: int) -> Submit | None:
        return self._stream(group, source).early.get(place)

    def pop(self, group: GroupId, source: SiteId, place: int) -> None:
        del self._stream(group, source).early[place]

    def drop_below(self, group: GroupId, source: SiteId, place: int) -> None:
        """Those below are in the order already: they came before this site knew how far the source was."""
        early = self._stream(group, source).early
        for known in sorted(early):
            if known < place:
                del early[known]

    def has_early(self, group: GroupId, source: SiteId) -> bool:
        return bool(self._stream(group, source).early)

    def start_graph(self) -> None:
        """Sources send again what their primary destination of the graph lacks."""
        self._streams = {}

    # Acknowledgements

    def owe_ack(self, now: Micros, group: GroupId, source: SiteId) -> None:
        self._stream(group, source).owes_ack = True
        self._acks.arm(now, FIRST_SOURCE + source)

    def send_acks(self, source: SiteId) -> None:
        for group, origin in sorted(self._streams):
            stream = self._streams[(group, origin)]
            if origin == source and stream.owes_ack:
                stream.owes_ack = False
                self.send_ack(group, source)

    def send_ack(self, group: GroupId, source: SiteId) -> None:
        """Tell a source what is ordered here, what is with everybody, and what is missing."""
        if not self._places.is_counted(group) or self._graphs.present.graph.primary_of(group) != self._site:
            return
        end = self._places.following(group, source)
        final = self._places.final(group, source)
        stream = self._streams.get((group, source))
        missing = gaps(end, sorted(stream.early)) if stream is not None else gaps(0, [])
        ack = Ack(self._graphs.present.number, group + 1, end, final, final, missing.to_wire(GAPS_MAX))
        self._outbox.send(source, ack)
