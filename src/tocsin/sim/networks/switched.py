"""switched: hosts and switches of a topology; what Garcia-Molina and Kogan broadcast over.

A message takes the shortest path (by link cost) over links that work, `delay_us` per link. A multicast takes the
union of those paths: one copy per link. Traffic is counted per link. Routing knows at once when a link fails or is
repaired.
"""

import heapq
from typing import ClassVar

from tocsin.core.machine import Micros, SiteId
from tocsin.core.message import Message
from tocsin.core.topology import Topology
from tocsin.sim.networks.base import Network
from tocsin.sim.networks.carrier import Carrier
from tocsin.sim.networks.links import Links


class Switched(Network):
    has_multicast: ClassVar[bool] = True

    def __init__(self, carrier: Carrier, topology: Topology) -> None:
        links = Links(topology)
        super().__init__(carrier, links)
        self._links = links
        self._topology = topology
        self._node: list[int] = topology.hosts()  # by site: its node
        self._into: dict[SiteId, list[int]] = {}  # by source: for each node the link that leads to it, -1 = none …
        self._into_changes = 0  # … over the links that worked after so many changes

    def send(self, now: Micros, source: SiteId, target: SiteId, message: Message, size: int) -> None:
        self.multicast(now, source, [target], message, size)

    def multicast(self, now: Micros, source: SiteId, targets: list[SiteId], message: Message, size: int) -> None:
        into = self._routes(source)
        reached: dict[int, Micros] = {self._node[source]: now}  # nodes that hold a copy; -1 = lost before it
        for target in targets:
            arrives_at = self._travel(into, self._node[target], reached)
            if arrives_at < 0:
                self.carrier.world.on_drop(now, source, target, message, size, "link")
            else:
                self.carrier.carry(now, arrives_at, source, target, message, size)

    def _travel(self, into: list[int], node: int, reached: dict[int, Micros]) -> Micros:
        """Take the message to a node over links that have not carried it yet; when it arrives, -1 for never."""
        topology = self._topology
        path: list[int] = []  # links to cross, last first
        here = node
        while here not in reached:
            link = into[here]
            if link < 0:
                return -1
            path.append(link)
            here = topology.other_end(link, here)
        at = reached[here]
        links = self._links
        delay = self.carrier.conditions.delay
        rng = self.carrier.conditions.rng
        while path:
            link = path.pop()
            here = topology.other_end(link, here)
            if at >= 0:
                links.count(link)
                at += delay.draw(rng)
                if rng.chance(topology.link_loss[link]):
                    at = -1
            reached[here] = at
        return at

    def _routes(self, source: SiteId) -> list[int]:
        """Dijkstra's shortest paths from a site; ties go to the smaller node, so that runs repeat."""
        if self._into_changes != self._links.changes:
            self._into.clear()
            self._into_changes = self._links.changes
        known = self._into.get(source)
        if known is not None:
            return known
        topology = self._topology
        start = self._node[source]
        into = [-1] * topology.node_count()
        done = [False] * topology.node_count()
        heap: list[tuple[float, int, int]] = [(0.0, start, -1)]
        while heap:
            distance, node, link = heapq.heappop(heap)
            if done[node]:
                continue
            done[node] = True
            into[node] = link
            if topology.is_switch(node) or node == start:  # hosts do not forward
                for next_link in topology.links_at(node):
                    other = topology.other_end(next_link, node)
                    if self._links.works(next_link) and not done[other]:
                        cost: float = topology.link_cost[next_link]
                        heapq.heappush(heap, (distance + cost, other, next_link))
        self._into[source] = into
        return into
