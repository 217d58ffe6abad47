"""The primary destination of groups: submissions get their place in this site's order (section 3.2, appendix I).

| paper                             | here                                            |
|-----------------------------------|-------------------------------------------------|
| receive_message at the primary    | `on_submit`, `take_submissions`, `order`        |
| group sequence numbers (5.2.1)    | ranks: per group and graph, `Stage.ranks`       |
"""

from tocsin.core.machine import GroupId, Micros, Setup, SiteId
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.messages import Submit
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.order import Order
from tocsin.protocols.propagation_graph.places import SourcePlaces
from tocsin.protocols.propagation_graph.records import Passed
from tocsin.protocols.propagation_graph.submissions import Submissions


class Primary:
    """Orders what sources submit, this site's own broadcasts included."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        graphs: Graphs,
        places: SourcePlaces,
        submissions: Submissions,
        order: Order,
    ) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._window: int = options.window
        self._backlog: int = options.backlog
        self._graphs = graphs
        self._places = places
        self._submissions = submissions
        self._order = order
        self._blocked = False  # submissions wait until something becomes stable

    def is_primary(self, group: GroupId) -> bool:
        return self._graphs.present.graph.primary_of(group) == self._site

    def may_order(self) -> bool:
        """Whether this site takes new messages: not when it has stopped, or keeps too many that somebody lacks."""
        stage = self._graphs.present
        return not stage.stopped and len(stage.log) < self._backlog

    def order(self, now: Micros, group: GroupId, origin: SiteId, seqno: int, place: int, payload: bytes) -> None:
        """Give a message its place among all that pass here."""
        stage = self._graphs.present
        key = stage.next_key(self._site, self._sites)
        record = Passed(stage.number, False, group, origin, seqno, place, stage.rank(group), key, payload)
        self._order.take(now, record)

    def on_submit(self, now: Micros, source: SiteId, submit: Submit) -> None:
        if submit.graph != self._graphs.present.number or submit.origin != source or not self.is_primary(submit.group):
            return
        self._places.raise_to(submit.group, source, submit.floor)
        following = self._places.following(submit.group, source)
        if following <= submit.place < following + self._window:
            self._submissions.put(submit)
            self.take_submissions(now, submit.group, source)
        else:
            self._submissions.owe_ack(now, submit.group, source)
        if self._submissions.has_early(submit.group, source):
            self._submissions.owe_ack(now, submit.group, source)

    def take_submissions(self, now: Micros, group: GroupId, source: SiteId) -> None:
        """Order what has come from a source, in the order of its places."""
        if not self._places.is_counted(group):
            return
        place = self._places.following(group, source)
        self._submissions.drop_below(group, source, place)
        submit = self._submissions.peek(group, source, place)
        while submit is not None:
            if not self.may_order():
                self._blocked = True
                break
            self._submissions.pop(group, source, place)
            self.order(now, group, source, submit.seqno, place, submit.payload)
            self._submissions.owe_ack(now, group, source)
            place += 1
            submit = self._submissions.peek(group, source, place)

    def on_counted(self, now: Micros, group: GroupId) -> None:
        """The places in a group are known here now: order what waited for that."""
        for waiting, source in self._submissions.streams():
            if waiting == group:
                self.take_submissions(now, group, source)
                self._submissions.owe_ack(now, group, source)

    def on_released(self, now: Micros) -> None:
        """Something became stable: there may be room again."""
        if self._blocked:
            self._blocked = False
            for group, source in self._submissions.streams():
                self.take_submissions(now, group, source)
