"""From knowledge to messages: the maximum reliability tree of what is known, the fewest copies, and the plan as bytes.

The tree and the copies are planning's (`tocsin.planning.reliability`). Here, a map of the network is made of
estimates, the part that the source cannot reach and the branches that lead to no member are cut off, and the rest
becomes bytes: for each child its number, its copies, and its own plan. A receiver reads its children and passes their
plans on unread, so that a message is the shorter the further down it is.
"""

import math
from typing import Final

from tocsin.core.errors import InputError
from tocsin.core.machine import SiteId
from tocsin.planning.reliability import ReliabilityTree, log_any_arrives, minimal_copies, reachable_tree
from tocsin.protocols.reliability_tree.news import read_varint, varint

PROBABILITY_MAX: Final = 0.999_999  # a topology's are below 1; such a link is taken only where there is no other
HALVINGS: Final = 40  # of the range in which the best reach for a budget is searched


class NetworkMap:
    """Estimates of every process and link that a process knows of, as planning wants them."""

    def __init__(self, sites: int) -> None:
        self.crash: list[float] = [0.0] * sites  # by site: of one step, each by itself; a copy that meets one is lost
        self.down: list[float] = [0.0] * sites  # by site: share of the time; all copies of a message meet it, or none
        self.ways: list[tuple[SiteId, SiteId, float]] = []  # from whom, to whom, and the loss

    def add_link(self, first: SiteId, second: SiteId, loss: float) -> None:
        """Both ways of a link."""
        self.add_way(first, second, loss)
        self.add_way(second, first, loss)

    def add_way(self, sender: SiteId, receiver: SiteId, loss: float) -> None:
        self.ways.append((sender, receiver, min(loss, PROBABILITY_MAX)))

    def tree(self, source: SiteId) -> ReliabilityTree:
        """The most reliable tree of what the source has a way to; nodes are sites, and `order` has who is reached."""
        alive = [1.0 - min(self.crash[site], PROBABILITY_MAX) for site in range(len(self.crash))]
        up = [1.0 - min(self.down[site], PROBABILITY_MAX) for site in range(len(self.down))]
        chances: list[float] = []
        for sender, receiver, loss in self.ways:
            chances.append(alive[sender] * alive[receiver] * (1.0 - loss) * up[sender] * up[receiver])
        tree = reachable_tree(len(alive), self.ways, chances, source)
        for node in tree.order:
            if tree.link[node] >= 0:
                sender, receiver, loss = self.ways[tree.link[node]]
                tree.success[node] = alive[sender] * alive[receiver] * (1.0 - loss)
        return tree


class Plan:
    """Who gets how many copies from whom, and what that promises."""

    def __init__(self) -> None:
        self.reach = 1.0  # probability that every member that is not left out gets the message
        self.messages = 0  # copies in all
        self.left_out: list[SiteId] = []  # members that no known path leads to; sorted
        self.sends: list[tuple[SiteId, int, bytes]] = []  # the source's own: to whom, copies, their plan


def unreachable(known: NetworkMap, source: SiteId, members: list[SiteId]) -> list[SiteId]:
    """The members that no known path leads to; sorted."""
    return sorted(set(members) - set(known.tree(source).order) - {source})


def make_plan(known: NetworkMap, source: SiteId, members: list[SiteId], reach: float, per_site: int) -> Plan:
    """The plan with the fewest messages for that reach; an error that says why if there is none in the budget.

    Copies make up for losses and for crashed steps. They do not make up for the time in which a process is down, for
    they are sent in an instant: the reach is the probability that all who are needed are up, times that of the copies.
    """
    tree = known.tree(source)
    wanted = set(members)
    plan = Plan()
    plan.left_out = sorted(wanted - set(tree.order) - {source})
    is_needed = [site in wanted for site in range(len(known.down))]
    for node in reversed(tree.order):
        if is_needed[node] and node != source:
            is_needed[tree.parent[node]] = True
    receivers = [node for node in tree.order if is_needed[node] and node != source]
    if not receivers:
        return plan
    all_up = math.prod([1.0 - min(known.down[node], PROBABILITY_MAX) for node in receivers])
    if reach >= all_up and all_up < 1.0:
        raise InputError(
            f"reach: {reach} cannot be promised, all who are needed are up {all_up:.6g} of the time; expected less"
        )
    success = [tree.success[node] for node in receivers]
    counts = minimal_copies(success, reach / all_up, per_site * len(receivers))
    plan.messages = sum(counts)
    plan.reach = all_up * math.exp(math.fsum([log_any_arrives(success[i], counts[i]) for i in range(len(counts))]))
    parts: list[list[bytes]] = [[] for _ in known.down]  # by node: its plan so far
    for place in range(len(receivers) - 1, -1, -1):
        node = receivers[place]
        below = b"".join(reversed(parts[node]))
        parent = tree.parent[node]
        if parent == source:
            plan.sends.append((node, counts[place], below))
        else:
            parts[parent].append(varint(node) + varint(counts[place]) + varint(len(below)) + below)
        parts[node] = []
    plan.sends.reverse()
    return plan


def best_plan(known: NetworkMap, source: SiteId, members: list[SiteId], reach: float, per_site: int) -> Plan:
    """The plan for that reach, or, where the budget is too small for it, about the best that the budget can pay."""
    try:
        return make_plan(known, source, members, reach, per_site)
    except InputError:
        possible = 0.0  # one copy each is always in the budget
        impossible = reach
        for _ in range(HALVINGS):
            middle = (possible + impossible) / 2.0
            try:
                make_plan(known, source, members, middle, per_site)
                possible = middle
            except InputError:
                impossible = middle
        return make_plan(known, source, members, max(possible, 1e-300), per_site)


def read_plan(data: bytes, sites: int, copies_max: int) -> list[tuple[SiteId, int, bytes]]:
    """The children of a receiver: whom to send to, how many copies, with which plan. Empty for what is no plan."""
    found: list[tuple[SiteId, int, bytes]] = []
    at = 0
    total = 0
    while at < len(data):
        site, at = read_varint(data, at)
        copies, at = read_varint(data, at)
        length, at = read_varint(data, at)
        total += copies
        if not 0 <= site < sites or copies < 1 or total > copies_max or length < 0 or at + length > len(data):
            return []
        found.append((site, copies, data[at : at + length]))
        at += length
    return found
