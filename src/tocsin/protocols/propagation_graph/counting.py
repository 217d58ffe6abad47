"""How far the sources have got in a group that this site has joined: it asks who knows (section 5.1, atomic).

A primary destination must know the next place of each source. Members know it, having all of the group's messages. A
new member asks the one that was primary destination in the tree before (`Decision.knowing`), which answers once it has
closed that tree; until it knows, it orders nothing in the group and closes no graph.

A source asks the same of a group that has no members any more: what was ordered is with everybody who was one, and need
not wait for others.
"""

from typing import Final

from tocsin.core.machine import GroupId, Micros, Outbox, Setup, SiteId
from tocsin.core.records import Records
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.messages import Ask, Places
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.outlets import Outlets
from tocsin.protocols.propagation_graph.places import SourcePlaces
from tocsin.protocols.propagation_graph.records import Counted

COUNT: Final = "COUNT"  # key: group; the places of its sources are not known here


class Counting:
    """Asks and answers. What is known and what is not is in `SourcePlaces`."""

    def __init__(
        self,
        setup: Setup,
        options: PropagationGraphOptions,
        graphs: Graphs,
        places: SourcePlaces,
        outlets: Outlets,
        records: Records,
        outbox: Outbox,
    ) -> None:
        self._site = setup.site
        self._sites = setup.sites
        self._resend_us: int = options.resend_us
        self._graphs = graphs
        self._places = places
        self._outlets = outlets
        self._records = records
        self._outbox = outbox
        self._told: dict[GroupId, tuple[int, int]] = {}  # as source: by group without members, who has answered when

    def _awaited(self) -> list[GroupId]:
        """The groups that this site should order messages in, and cannot."""
        graph = self._graphs.present.graph
        return [group for group in self._places.uncounted() if graph.primary_of(group) == self._site]

    def is_settled(self) -> bool:
        return not self._awaited()

    def ask(self, now: Micros) -> None:
        """Ask for what this site needs to know in the present graph."""
        for group in self._awaited():
            self.on_timer(now, group)
        for group in sorted(self._outlets.by_group):
            if self._is_left(group):
                self.on_timer(now, group)

    def _is_left(self, group: GroupId) -> bool:
        """Whether the group has no members any more, and it is not known here what was ordered of this site's."""
        newest = self._graphs.newest
        outlet = self._outlets.by_group.get(group)
        if outlet is None or outlet.is_settled() or self._graphs.primary_of(group) >= 0:
            return False
        knowing = newest.knowing[group] if group < len(newest.knowing) else (0, 0)
        return knowing[0] > 0 and self._told.get(group) != knowing

    def on_timer(self, now: Micros, group: GroupId) -> None:
        if group in self._awaited():
            knows, ended = self._graphs.decision().knowing[group]
        elif self._is_left(group):
            knows, ended = self._graphs.newest.knowing[group]
        else:
            return
        if knows - 1 != self._site:
            self._outbox.send(knows - 1, Ask(self._graphs.present.number, group, ended))
        elif self._graphs.present.number >= ended:
            self._settle_left(group, self._places.following(group, self._site))
            return
        self._outbox.set_timer(COUNT, group, now + 2 * self._resend_us)

    def _settle_left(self, group: GroupId, place: int) -> None:
        """What this site sent to a group without members is in its order up to this place."""
        self._told[group] = self._graphs.newest.knowing[group]
        self._outlets.by_group[group].end_at(place)

    def on_ask(self, source: SiteId, ask: Ask) -> None:
        """Answer when the tree that is asked about is closed here and the places at its end are known here."""
        if self._graphs.present.number < ask.ended:
            return
        if not self._places.is_counted(ask.group) and self._places.joined_in(ask.group) < ask.ended:
            return
        self._outbox.send(source, Places(ask.graph, ask.group, tuple(self._places.of_group(ask.group))))

    def on_places(self, source: SiteId, answer: Places) -> bool:
        """Whether the places in the group were not known here, and are now."""
        if answer.graph != self._graphs.present.number:
            return False
        if self._is_left(answer.group) and source + 1 == self._graphs.newest.knowing[answer.group][0]:
            self._settle_left(answer.group, dict(answer.places).get(self._site, 0))
            self._outbox.cancel_timer(COUNT, answer.group)
            return False
        if answer.group not in self._awaited():
            return False
        if source + 1 != self._graphs.decision().knowing[answer.group][0]:
            return False
        record = Counted(answer.group, tuple([pair for pair in answer.places if pair[0] < self._sites]))
        self._records.persist(record)
        self._places.on_counted(record)
        self._outbox.cancel_timer(COUNT, answer.group)
        return True
