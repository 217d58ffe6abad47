"""The fewest messages for a wanted probability of reaching everyone.

Garbinato, Pedone, Schmidt: "An Adaptive Algorithm for Efficient Message Diffusion in Unreliable
Environments" (2004).

    section 3.1  maximum reliability tree      maximum_reliability_tree
    equation 1-2 reach                         log_reach, ReliabilityPlan.reach
    algorithm 2  optimize                      minimal_copies, optimize

One copy over a link arrives with probability s = (1 - P_a)(1 - L)(1 - P_b): neither end is in a crashed
step and the link does not lose it (lambda in the paper is 1 - s). The tree is the spanning tree with the
largest s: link by link it is at least as good as any other spanning tree. Among equally good links the one
nearer to the source is taken, so that the tree is shallow; the paper leaves ties open.

The copies are found by the paper's greedy rule, always one more copy where it multiplies the reach most.
The gains of a link fall with each copy, so that greedy is optimal, and all increments whose gain exceeds
some level are a prefix of the greedy sequence. We bisect for that level with NumPy and leave only the last
steps to a heap: the answer of the plain greedy loop, in O(n log n) whatever the number of copies.
Probabilities are kept as logarithms: neither a million links nor a link that loses all but one message in
10^30 underflows.
"""

import math
from heapq import heapify, heappop, heappush, heapreplace
from typing import Any, Final

import numpy as np

from tocsin.core.errors import InputError
from tocsin.core.topology import Topology, need_connected

MESSAGES_MAX: Final = 1_000_000_000  # the budget unless one is given: beyond this a plan is of no use to anyone
_LEVEL_HIGHEST: Final = 0.0  # the relative gain of an increment is at most 1 - success < 1 …
_LEVEL_LOWEST: Final = -700.0  # … and its logarithm above this, near that of the smallest positive double
_LEVEL_MARGIN: Final = 1e-6  # of a gain, relative: far above the rounding errors of the closed form
_SUM_MARGIN: Final = 1e-9  # of a sum of logarithms, relative: far above the rounding errors of ten million terms
_LN_2: Final = 0.6931471805599453


class ReliabilityTree:
    """A spanning tree, by node number, with the chance of one copy over each of its links."""

    def __init__(self, source: int, nodes: int) -> None:
        self.source: int = source
        self.parent: list[int] = [-1] * nodes  # -1 for the source only
        self.link: list[int] = [-1] * nodes  # the link to the parent; -1 for the source only
        self.success: list[float] = [1.0] * nodes  # that one copy from the parent arrives, in (0, 1]
        self.depth: list[int] = [0] * nodes  # links from the source
        self.order: list[int] = []  # every node after its parent, the source first

    def children(self) -> list[list[int]]:
        """For each node those that it sends to, in the order in which they joined the tree."""
        result: list[list[int]] = [[] for _ in self.parent]
        for node in self.order:
            if self.parent[node] >= 0:
                result[self.parent[node]].append(node)
        return result


class ReliabilityPlan:
    """How many copies each node's parent sends to it, and what that promises."""

    def __init__(self, copies: list[int], messages: int, reach: float) -> None:
        self.copies: list[int] = copies  # by node; 0 for the source, at least 1 for the others
        self.messages: int = messages  # the sum of copies
        self.reach: float = reach  # probability that every node gets at least one copy


def maximum_reliability_tree(topology: Topology, source: int) -> ReliabilityTree:
    """The spanning tree of the most reliable links, grown from the source (Prim)."""
    _refuse_switches(topology)
    link_success = _link_success(topology)
    nodes = topology.node_count()
    tree = ReliabilityTree(source, nodes)
    best = [-1.0] * nodes  # success of the best link that has been offered to the node
    best_depth = [0] * nodes
    joined = bytearray(nodes)
    heap: list[tuple[float, int, int, int]] = [(-1.0, 0, -1, source)]  # -success, depth, link, node
    while len(tree.order) < nodes:
        if not heap:  # everything that can be reached is in the tree
            need_connected(topology, "a reliability tree")
        negative, depth, link, node = heappop(heap)
        if joined[node]:
            continue
        joined[node] = 1
        tree.order.append(node)
        tree.depth[node] = depth
        if link >= 0:
            tree.parent[node] = topology.other_end(link, node)
            tree.link[node] = link
            tree.success[node] = -negative
        depth += 1
        neighbours = topology.neighbours(node)
        links = topology.links_at(node)
        for place in range(len(neighbours)):
            other = neighbours[place]
            if joined[other]:
                continue
            success = link_success[links[place]]
            if success > best[other] or (success == best[other] and depth < best_depth[other]):
                best[other] = success
                best_depth[other] = depth
                heappush(heap, (-success, depth, links[place], other))
    return tree


def reachable_tree(
    nodes: int, ways: list[tuple[int, int, float]], chances: list[float], source: int
) -> ReliabilityTree:
    """The same where each direction of a link has a chance of its own: grown along the best ways that lead out of it.

    `ways`: from whom and to whom; `chances`: of one copy. `order` has only those that ways lead to. Where both
    directions are alike this is the maximum reliability tree; where not, a link that is taken is the best that leads
    to a new node at its time.
    """
    leading: list[list[int]] = [[] for _ in range(nodes)]  # by node: its ways out
    for way in range(len(ways)):
        leading[ways[way][0]].append(way)
    tree = ReliabilityTree(source, nodes)
    best = [-1.0] * nodes
    best_depth = [0] * nodes
    joined = bytearray(nodes)
    heap: list[tuple[float, int, int, int]] = [(-1.0, 0, -1, source)]
    while heap:
        negative, depth, way, node = heappop(heap)
        if joined[node]:
            continue
        joined[node] = 1
        tree.order.append(node)
        tree.depth[node] = depth
        if way >= 0:
            tree.parent[node] = ways[way][0]
            tree.link[node] = way
            tree.success[node] = -negative
        depth += 1
        for out in leading[node]:
            other = ways[out][1]
            chance = chances[out]
            if not joined[other] and (chance > best[other] or (chance == best[other] and depth < best_depth[other])):
                best[other] = chance
                best_depth[other] = depth
                heappush(heap, (-chance, depth, out, other))
    return tree


def _refuse_switches(topology: Topology) -> None:
    for node in range(topology.node_count()):
        if topology.is_switch(node):
            raise InputError(
                f"a reliability tree is made of hosts, found the switch `{topology.node_names[node]}`; "
                "give the links between hosts, each with the loss of its whole path"
            )


def _link_success(topology: Topology) -> list[float]:
    """(1 - P_a)(1 - L)(1 - P_b) for every link."""
    alive = 1.0 - np.frombuffer(topology.crash, dtype=np.float64)
    if topology.link_count() == 0:
        return []
    first = np.frombuffer(topology.link_first, dtype=np.int32)
    second = np.frombuffer(topology.link_second, dtype=np.int32)
    loss = np.frombuffer(topology.link_loss, dtype=np.float64)
    values: list[float] = (alive[first] * alive[second] * (1.0 - loss)).tolist()
    return values


def log_any_arrives(success: float, copies: int) -> float:
    """ln(1 - (1 - success)^copies): that at least one of the copies arrives."""
    if success >= 1.0:
        return 0.0
    all_lost = copies * math.log1p(-success)  # a logarithm, < 0
    if all_lost > -_LN_2:  # the half where expm1 keeps the digits
        return math.log(-math.expm1(all_lost))
    return math.log1p(-math.exp(all_lost))


def log_reach(tree: ReliabilityTree, copies: list[int]) -> float:
    """The logarithm of equation 2, summed without rounding between the terms."""
    return math.fsum([log_any_arrives(tree.success[node], copies[node]) for node in tree.order if node != tree.source])


def optimize(tree: ReliabilityTree, reach: float, messages_max: int = MESSAGES_MAX) -> ReliabilityPlan:
    """The fewest copies with which the tree reaches everyone with probability at least `reach`."""
    receivers = [node for node in range(len(tree.parent)) if node != tree.source]
    counts = minimal_copies([tree.success[node] for node in receivers], reach, messages_max)
    copies = [0] * len(tree.parent)
    for place in range(len(receivers)):
        copies[receivers[place]] = counts[place]
    return ReliabilityPlan(copies, sum(counts), math.exp(log_reach(tree, copies)))


def minimal_copies(success: list[float], reach: float, messages_max: int = MESSAGES_MAX) -> list[int]:
    """For links of the given chances, the copies with the smallest sum whose reach is at least `reach`."""
    if not 0.0 < reach <= 1.0:
        raise InputError(f"reach: expected a probability in (0, 1], found {reach}")
    if len(success) > messages_max:
        raise InputError(f"reach: {len(success)} links need a copy each, above the budget of {messages_max}")
    if reach == 1.0 and min(success, default=1.0) < 1.0:
        raise InputError("reach: 1 cannot be promised over links that lose messages; expected less than 1")
    copies = [1] * len(success)
    candidates: list[int] = []  # the links that may get more copies
    if math.exp(_log_reach_of(success, copies)) < reach:
        candidates = _start_below(success, reach, messages_max, copies)
    _add_greedily(success, reach, messages_max, copies, candidates)
    return copies


def _log_reach_of(success: list[float], copies: list[int]) -> float:
    return math.fsum([log_any_arrives(success[place], copies[place]) for place in range(len(success))])


def _start_below(success: list[float], reach: float, messages_max: int, copies: list[int]) -> list[int]:
    """Set `copies` to a prefix of the greedy sequence just short of the target; the links that may get more.

    A level is the logarithm of the relative gain of an increment. The increments above `high` are too few,
    those above `low` are enough: greedy makes all of the first and none that is not among the second.
    """
    lossy = [place for place in range(len(success)) if success[place] < 1.0]
    chances = np.array([success[place] for place in lossy], dtype=np.float64)
    log_lost = np.log1p(-chances)
    log_target = math.log(reach)  # < 0
    high = _LEVEL_HIGHEST
    low = _LEVEL_LOWEST
    while high - low > _LEVEL_MARGIN:
        middle = (high + low) / 2.0
        if _is_enough(chances, log_lost, middle, log_target * (1.0 + _SUM_MARGIN), messages_max):
            low = middle
        else:
            high = middle
    step = _LEVEL_MARGIN
    while not _is_enough(chances, log_lost, low, log_target * (1.0 - _SUM_MARGIN), messages_max):
        low -= step
        step *= 2.0
    before = _copies_at_level(chances, log_lost, high + _LEVEL_MARGIN)
    after = _copies_at_level(chances, log_lost, low - _LEVEL_MARGIN)
    candidates: list[int] = []
    for place in range(len(lossy)):
        copies[lossy[place]] = int(before[place])
        if after[place] > before[place]:
            candidates.append(lossy[place])
    return candidates


def _copies_at_level(chances: Any, log_lost: Any, level: float) -> Any:
    """For each link the copies after every increment of relative gain above exp(level) was made.

    The relative gain of one more copy after m is (1 - x*lambda)/(1 - x) - 1 with x = lambda^m; it is below
    d when x < d / (d + s), hence when m > -ln(1 + s / d) / ln(lambda).
    """
    crossing = -np.log1p(chances * math.exp(-level)) / log_lost
    return np.maximum(np.floor(crossing) + 1.0, 1.0)


def _is_enough(chances: Any, log_lost: Any, level: float, log_target: float, messages_max: int) -> bool:
    """Whether the increments above the level attain the target, or cost more than the budget."""
    counts = _copies_at_level(chances, log_lost, level)
    if float(np.sum(counts)) > messages_max:
        return True
    all_lost = counts * log_lost
    likely = np.log1p(-np.minimum(np.exp(all_lost), 0.5))
    return bool(np.sum(np.where(all_lost > -_LN_2, np.log(-np.expm1(all_lost)), likely)) >= log_target)


def _add_greedily(
    success: list[float], reach: float, messages_max: int, copies: list[int], candidates: list[int]
) -> None:
    """One more copy where it gains most, until the reach is there; ties go to the first link."""
    heap: list[tuple[float, int]] = []  # (-gain of one more copy, link)
    for place in candidates:
        heap.append((_loss_without(success[place], copies[place]), place))
    heapify(heap)
    messages = sum(copies)
    reached = _log_reach_of(success, copies)
    added: list[int] = []  # the increments made here, in order
    while math.exp(reached) < reach:
        assert heap, "the level below which no increment is needed was too high"
        if messages >= messages_max:
            raise InputError(
                f"reach: {reach} needs more than the budget of {messages_max} messages, which reach "
                f"{math.exp(reached):.6g}; expected a smaller reach, a larger budget or better links"
            )
        negative, place = heap[0]
        copies[place] += 1
        messages += 1
        added.append(place)
        heapreplace(heap, (_loss_without(success[place], copies[place]), place))
        reached -= negative
        if math.exp(reached) >= reach:  # the running sum has rounding errors; the answer must not
            reached = _log_reach_of(success, copies)
    _take_back(success, reach, copies, added)


def _loss_without(success: float, copies: int) -> float:
    """What the logarithm of the reach loses without one more copy: negative, for the smallest-first heap."""
    return log_any_arrives(success, copies) - log_any_arrives(success, copies + 1)


def _take_back(success: list[float], reach: float, copies: list[int], added: list[int]) -> None:
    """Undo last increments that the running sum, a rounding error too small, asked for without need."""
    for step in range(len(added) - 1, -1, -1):
        copies[added[step]] -= 1
        if math.exp(_log_reach_of(success, copies)) < reach:
            copies[added[step]] += 1
            return
