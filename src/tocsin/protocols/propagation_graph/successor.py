"""The graph after another one, when groups change: section 5.1 of the paper, what the manager computes.

Trees that a change does not touch stay as they are: their sites neither close nor open anything. So a tree is known by
the number of the graph in which it came to be (`Decision.since`), and messages carry that number. A site goes from its
tree to the one that it is in with the graph that ended the first, and so on; what others did meanwhile is all the same.

The tree's root, which has no parent to hear it from, finds the graph that ended its tree in the newest decision: that
brings the older ones that somebody may still need (`pending`).
"""

from tocsin.core.machine import FIRST_INCARNATION, GroupId, SiteId
from tocsin.planning.propagation import Forest
from tocsin.protocols.propagation_graph.graph import forest_of
from tocsin.protocols.propagation_graph.messages import Decision, Older

Tree = tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int, tuple[int, ...]], ...]]


class Trees:
    """The trees of a graph, so that they can be compared."""

    def __init__(self, decision: Decision, sites: int, balance: int) -> None:
        forest, numbers = forest_of(decision, sites, balance)
        self.roots: list[SiteId] = sorted(forest.roots)
        self.primary: dict[GroupId, SiteId] = {}
        self.parent: list[SiteId] = forest.parent
        self._root = _roots_of(forest)  # by site: the root of its tree, or -1
        edges: dict[SiteId, list[tuple[int, int]]] = {root: [] for root in self.roots}
        groups: dict[SiteId, list[tuple[int, int, tuple[int, ...]]]] = {root: [] for root in self.roots}
        for site in range(sites):
            if self._root[site] >= 0:
                edges[self._root[site]].append((site, forest.parent[site] + 1))
        for place in range(len(numbers)):
            group = numbers[place]
            primary = forest.primary[place]
            self.primary[group] = primary
            groups[self._root[primary]].append((group, primary, decision.groups[group]))
        self.shape: dict[SiteId, Tree] = {root: (tuple(edges[root]), tuple(groups[root])) for root in self.roots}

    def root_of(self, site: SiteId) -> SiteId:
        """The root of the site's tree; -1 for a site in no group."""
        return self._root[site]


def _roots_of(forest: Forest) -> list[SiteId]:
    roots = [-1] * forest.site_count
    for site in forest.downwards():
        roots[site] = site if forest.parent[site] < 0 else roots[forest.parent[site]]
    return roots


def incarnation_of(decision: Decision, site: SiteId) -> int:
    """With which the site takes part in the graph, as far as is known there."""
    for known, incarnation in decision.anew:
        if known == site:
            return incarnation
    return FIRST_INCARNATION


def successor(
    last: Decision,
    groups: list[tuple[int, ...]],
    applied: dict[SiteId, int],
    by: SiteId,
    sites: int,
    balance: int,
    anew: dict[SiteId, int],
) -> Decision:
    """The graph after the last one with these groups, and with these sites as they have begun anew: their trees end.
    What is pending is for the manager to say."""
    number = last.number + 1
    bare = Decision(number, tuple(groups), tuple(sorted(applied.items())))
    old = Trees(last, sites, balance)
    new = Trees(bare, sites, balance)
    begun = [site for site in sorted(anew) if anew[site] > incarnation_of(last, site)]
    touched = {*[old.root_of(site) for site in begun], *[new.root_of(site) for site in begun]}
    kept = [
        root for root in new.roots if root in old.shape and old.shape[root] == new.shape[root] and root not in touched
    ]
    since: list[int] = []
    knowing: list[tuple[int, int]] = []
    for group in range(len(groups)):
        if group in new.primary and new.root_of(new.primary[group]) in kept:
            since.append(last.since[group])
            knowing.append(last.knowing[group])
        else:
            since.append(number)
            knowing.append(_knowing(last, old, group, number, begun))
    concerned = {*[root for root in old.roots if root not in kept], *begun}
    for site in range(sites):
        if (old.root_of(site) < 0 and new.root_of(site) >= 0) or old.parent[site] in begun:
            concerned.add(site)
    return Decision(
        number,
        bare.groups,
        bare.applied,
        by=by,
        since=tuple(since),
        knowing=tuple(knowing),
        concerned=tuple(sorted(concerned)),
        anew=tuple(sorted({**dict(last.anew), **anew}.items())),
    )


def _knowing(last: Decision, old: Trees, group: GroupId, number: int, begun: list[SiteId]) -> tuple[int, int]:
    """Who knows how far the sources of the group are, when which tree has ended: its primary destination there, or
    another member if that has lost its disk."""
    if group in old.primary:
        if old.primary[group] not in begun:
            return (old.primary[group] + 1, number)
        for member in last.groups[group]:
            if member not in begun:
                return (member + 1, number)
        return (0, 0)
    return last.knowing[group] if group < len(last.knowing) else (0, 0)


def first_decision(members: list[list[int]], by: SiteId, are_trees_kept: bool) -> Decision:
    """Graph 0. `are_trees_kept`: a tree that does not change is the same one in later graphs."""
    groups = tuple([tuple(sites) for sites in members])
    if not are_trees_kept:
        return Decision(0, groups, ())
    return Decision(0, groups, (), by=by, since=(0,) * len(groups), knowing=((0, 0),) * len(groups))


def bare(decision: Decision) -> Decision:
    """Without what others may need."""
    return opened_as(older(decision)) if decision.pending else decision


def older(decision: Decision) -> Older:
    return Older(decision.number, decision.groups, decision.since, decision.knowing, decision.concerned, decision.anew)


def opened_as(older: Older) -> Decision:
    """The decision that a site opens which has not opened it yet."""
    return Decision(
        older.number,
        older.groups,
        (),
        since=older.since,
        knowing=older.knowing,
        concerned=older.concerned,
        anew=older.anew,
    )


def tree_number(decision: Decision, group: GroupId) -> int:
    """The number that messages of the group carry; -1 if the group does not exist."""
    if group >= len(decision.groups):
        return -1
    return decision.since[group] if decision.since else decision.number


def with_pending(decision: Decision, pending: list[Older]) -> Decision:
    return Decision(
        decision.number,
        decision.groups,
        decision.applied,
        by=decision.by,
        since=decision.since,
        knowing=decision.knowing,
        concerned=decision.concerned,
        pending=tuple(pending),
        anew=decision.anew,
    )


def ends_tree(decision: Decision, tree: Decision, site: SiteId) -> bool:
    """Whether the tree that a site has been in since the graph `tree` is no more in a later one. A site in no group is
    in a tree of its own, which ends when it gets a group."""
    is_in_group = False
    for group in range(len(tree.groups)):
        if site in tree.groups[group]:
            is_in_group = True
            if tree_number(decision, group) != tree_number(tree, group):
                return True
    if is_in_group:
        return False
    for members in decision.groups:  # noqa: SIM110  (a generator would not compile to plain code)
        if site in members:
            return True
    return False
