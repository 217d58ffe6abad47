"""One propagation graph as a site sees it: its parent, its children, and which children a group's messages go to."""

from typing import Final

from tocsin.core.machine import GroupId, SiteId
from tocsin.planning.balance import balanced
from tocsin.planning.propagation import Forest, propagation_forest
from tocsin.protocols.propagation_graph.messages import Decision

NOBODY: Final = -1
AS_FOUND: Final = -1  # of `balance`: the forest of appendix I as it is


class Graph:
    """The forest that a decision defines, from the point of view of one site."""

    def __init__(self, decision: Decision, sites: int, site: SiteId, balance: int) -> None:
        self.number: int = decision.number
        self.decision = decision
        forest, numbers = forest_of(decision, sites, balance)
        self.parent: SiteId = forest.parent[site]
        self.level: int = forest.levels()[site]  # below the root; -1 for a site in no group
        self.children: list[SiteId] = forest.children[site]
        self.primary: list[SiteId] = [NOBODY] * len(decision.groups)  # by group
        self.routes: dict[GroupId, list[SiteId]] = {}  # by group: children with members of it below them
        for place in range(len(numbers)):
            self.primary[numbers[place]] = forest.primary[place]
            self._route(forest, place, numbers[place], site)

    def _route(self, forest: Forest, place: int, group: GroupId, site: SiteId) -> None:
        found: list[SiteId] = []
        for relay in forest.relays(place):
            if relay != forest.primary[place] and forest.parent[relay] == site:
                found.append(relay)
        found.sort()
        if found:
            self.routes[group] = found

    def primary_of(self, group: GroupId) -> SiteId:
        """The group's primary destination; NOBODY for a group without members."""
        return self.primary[group] if group < len(self.primary) else NOBODY

    def has_member(self, group: GroupId, site: SiteId) -> bool:
        """Whether the site is a member of the group, failed or not."""
        return group < len(self.decision.groups) and site in self.decision.groups[group]


def forest_of(decision: Decision, sites: int, balance: int) -> tuple[Forest, list[GroupId]]:
    """The forest, the same at every site, and the numbers of its groups: those with members that are present.

    `balance`: how much deeper groups may become so that the busiest sites have less to do (figure 5), or AS_FOUND.
    """
    groups: list[list[SiteId]] = []
    numbers: list[GroupId] = []
    dead = [group for group, _ in decision.dead]
    for group in range(len(decision.groups)):
        if group in dead:
            continue
        members = [member for member in decision.groups[group] if member not in decision.away]
        if members:
            groups.append(members)
            numbers.append(group)
    forest = propagation_forest(sites, groups)
    if balance != AS_FOUND:
        forest = balanced(forest, balance)
    return forest, numbers
