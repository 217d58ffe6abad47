"""Topologies made from a few numbers and a seed. The same arguments and seed give the same topology, always.

Every generated topology is connected and has neither twin links nor self loops. Hosts are named h1, h2 …,
switches s1, s2 …. `cost`, `loss` and `crash` are the same everywhere; `vary` draws them anew, each from its
own range.
"""

from typing import Final

from tocsin.core.errors import InputError
from tocsin.core.rng import Rng
from tocsin.core.topology import LINKS_MAX, NODES_MAX, Topology

REGULAR_TRIES_MAX: Final = 100  # a random regular graph of degree >= 3 is connected with probability near 1
REPAIR_DRAWS_MAX: Final = 100_000  # a graph has about degree^2 / 4 improper pairs, and one draw mends most of them


def ring(nodes: int, cost: float = 1.0, loss: float = 0.0, crash: float = 0.0) -> Topology:
    """Each host joined to the next, the last to the first."""
    _need("nodes", nodes, 3, NODES_MAX)
    topology = _hosts(nodes, crash)
    for node in range(nodes):
        topology.add_link(node, (node + 1) % nodes, cost, loss)
    return topology


def grid(rows: int, columns: int, cost: float = 1.0, loss: float = 0.0, crash: float = 0.0) -> Topology:
    """A rectangle of hosts, row by row, each joined to its neighbours to the right and below."""
    _need("rows", rows, 1, NODES_MAX)
    _need("columns", columns, 1, NODES_MAX // rows)
    topology = _hosts(rows * columns, crash)
    for row in range(rows):
        for column in range(columns):
            node = row * columns + column
            if column + 1 < columns:
                topology.add_link(node, node + 1, cost, loss)
            if row + 1 < rows:
                topology.add_link(node, node + columns, cost, loss)
    return topology


def random_regular(
    nodes: int, degree: int, rng: Rng, cost: float = 1.0, loss: float = 0.0, crash: float = 0.0
) -> Topology:
    """Each host has exactly `degree` neighbours, the "connectivity" of Garbinato et al.; 2 is a ring."""
    _need("nodes", nodes, 3, NODES_MAX)
    _need("degree", degree, 2, nodes - 1)
    _need("links", nodes * degree // 2, 1, LINKS_MAX)
    if nodes * degree % 2 != 0:
        raise InputError(f"degree: expected nodes * degree to be even, found {nodes} * {degree}")
    for attempt in range(REGULAR_TRIES_MAX):
        topology = _hosts(nodes, crash)
        for first, second in _regular_pairs(nodes, degree, rng.fork(str(attempt))):
            topology.add_link(first, second, cost, loss)
        if topology.is_connected():
            return topology
    raise AssertionError(f"no connected graph of {nodes} nodes and degree {degree} in {REGULAR_TRIES_MAX} tries")


def random_tree(nodes: int, rng: Rng, cost: float = 1.0, loss: float = 0.0, crash: float = 0.0) -> Topology:
    """Each host after the first is joined to one of those before it, any with equal chance.

    Such trees have a depth that grows with the logarithm of their size; a tree drawn evenly from all
    labelled trees would be a stringy one, of depth near the square root.
    """
    _need("nodes", nodes, 1, NODES_MAX)
    topology = _hosts(nodes, crash)
    for node in range(1, nodes):
        topology.add_link(rng.below(node), node, cost, loss)
    return topology


def random_connected(
    nodes: int, links: int, rng: Rng, cost: float = 1.0, loss: float = 0.0, crash: float = 0.0
) -> Topology:
    """A random tree and further links between random pairs, up to `links` in all."""
    _need("nodes", nodes, 1, NODES_MAX)
    _need("links", links, nodes - 1, min(LINKS_MAX, nodes * (nodes - 1) // 2))
    topology = random_tree(nodes, rng, cost, loss, crash)
    for first, second in _extra_pairs(topology, nodes, links - (nodes - 1), rng):
        topology.add_link(first, second, cost, loss)
    return topology


def switched_tree(
    hosts: int, switches: int, rng: Rng, cost: float = 1.0, loss: float = 0.0, crash: float = 0.0
) -> Topology:
    """A random tree of switches, and each host behind a switch drawn at random."""
    _need("switches", switches, 1, NODES_MAX)
    return random_switched(hosts, switches, switches - 1, rng, cost, loss, crash)


def random_switched(
    hosts: int, switches: int, trunks: int, rng: Rng, cost: float = 1.0, loss: float = 0.0, crash: float = 0.0
) -> Topology:
    """A random connected graph of switches with `trunks` links, and each host behind a random switch."""
    _need("hosts", hosts, 1, NODES_MAX)
    _need("switches", switches, 1, NODES_MAX - hosts)
    _need("trunks", trunks, switches - 1, min(LINKS_MAX - hosts, switches * (switches - 1) // 2))
    topology = Topology()
    for number in range(switches):
        topology.add_node(f"s{number + 1}", True)
    for number in range(1, switches):
        topology.add_link(rng.below(number), number, cost, loss)
    for first, second in _extra_pairs(topology, switches, trunks - (switches - 1), rng):
        topology.add_link(first, second, cost, loss)
    for number in range(hosts):
        host = topology.add_node(f"h{number + 1}", False, crash)
        topology.add_link(host, rng.below(switches), cost, loss)
    return topology


def vary(
    topology: Topology,
    rng: Rng,
    cost: tuple[float, float] = (1.0, 1.0),
    loss: tuple[float, float] = (0.0, 0.0),
    crash: tuple[float, float] = (0.0, 0.0),
) -> None:
    """Draw every cost, loss and crash probability anew, uniformly between the two numbers given for each."""
    for low, high in (loss, crash):
        if not 0.0 <= low <= high < 1.0:
            raise InputError(f"expected two probabilities in [0, 1), the smaller first, found {low} and {high}")
    if not 0.0 <= cost[0] <= cost[1]:
        raise InputError(f"cost: expected two numbers >= 0, the smaller first, found {cost[0]} and {cost[1]}")
    costs = rng.fork("cost")
    losses = rng.fork("loss")
    crashes = rng.fork("crash")
    for link in range(topology.link_count()):
        topology.link_cost[link] = cost[0] + (cost[1] - cost[0]) * costs.random()
        topology.link_loss[link] = loss[0] + (loss[1] - loss[0]) * losses.random()
    for node in range(topology.node_count()):
        topology.crash[node] = crash[0] + (crash[1] - crash[0]) * crashes.random()


def _need(what: str, found: int, low: int, high: int) -> None:
    if not low <= found <= high:
        raise InputError(f"{what}: expected an integer from {low} to {high}, found {found}")


def _hosts(count: int, crash: float) -> Topology:
    topology = Topology()
    for number in range(count):
        topology.add_node(f"h{number + 1}", False, crash)
    return topology


def _extra_pairs(topology: Topology, nodes: int, wanted: int, rng: Rng) -> list[tuple[int, int]]:
    """`wanted` pairs among the first `nodes` nodes that no link joins yet, in a random order."""
    taken: set[int] = set()  # a pair a < b as a * nodes + b; only asked for membership
    for link in range(topology.link_count()):
        taken.add(_pair_key(topology.link_first[link], topology.link_second[link], nodes))
    room = nodes * (nodes - 1) // 2 - len(taken)
    if 2 * wanted > room:
        return _shuffled_rest(taken, nodes, wanted, rng)
    pairs: list[tuple[int, int]] = []
    while len(pairs) < wanted:  # at least half of the free pairs stay free, so few draws fail
        first = rng.below(nodes)
        second = rng.below(nodes)
        key = _pair_key(first, second, nodes)
        if first != second and key not in taken:
            taken.add(key)
            pairs.append((first, second))
    return pairs


def _shuffled_rest(taken: set[int], nodes: int, wanted: int, rng: Rng) -> list[tuple[int, int]]:
    """For dense graphs: list the free pairs, shuffle, take the first."""
    free: list[int] = []
    for first in range(nodes):
        for second in range(first + 1, nodes):
            key = first * nodes + second
            if key not in taken:
                free.append(key)
    rng.shuffle(free)
    return [(key // nodes, key % nodes) for key in free[:wanted]]


def _pair_key(first: int, second: int, nodes: int) -> int:
    if first < second:
        return first * nodes + second
    return second * nodes + first


def _regular_pairs(nodes: int, degree: int, rng: Rng) -> list[tuple[int, int]]:
    """The links of a random simple graph in which every node has `degree` neighbours; maybe not connected."""
    if degree == 2:
        order = list(range(nodes))
        rng.shuffle(order)
        return [(order[place], order[(place + 1) % nodes]) for place in range(nodes)]
    if 2 * degree > nodes - 1:  # dense: the complement is sparse, and as random
        sparse = _paired(nodes, nodes - 1 - degree, rng)
        absent = {_pair_key(first, second, nodes) for first, second in sparse}
        return [
            (first, second)
            for first in range(nodes)
            for second in range(first + 1, nodes)
            if first * nodes + second not in absent
        ]
    return _paired(nodes, degree, rng)


def _paired(nodes: int, degree: int, rng: Rng) -> list[tuple[int, int]]:
    """Pair the ends at random, then repair self loops and twins by exchanging ends with random pairs.

    An exchange is made only if both new pairs are proper, so the number of improper ones only falls, and
    with 2 * degree < nodes there is a pair that will do but for freaks of tiny graphs: those give up, with
    no pairs.
    """
    ends = [node for node in range(nodes) for _ in range(degree)]
    rng.shuffle(ends)
    count = len(ends) // 2
    copies: dict[int, int] = {}  # how often each pair occurs
    for place in range(count):
        key = _pair_key(ends[2 * place], ends[2 * place + 1], nodes)
        copies[key] = copies.get(key, 0) + 1
    draws_left = REPAIR_DRAWS_MAX + count
    for place in range(count):
        while True:
            first = ends[2 * place]
            second = ends[2 * place + 1]
            key = _pair_key(first, second, nodes)
            if first != second and copies[key] == 1:
                break
            draws_left -= 1
            if draws_left < 0:
                return []
            other = rng.below(2 * count)  # an end of another pair …
            third = ends[other]
            fourth = ends[other ^ 1]  # … and the end it is paired with
            straight = _pair_key(first, third, nodes)
            crossed = _pair_key(second, fourth, nodes)
            if first == third or second == fourth or straight == crossed:
                continue
            if copies.get(straight, 0) > 0 or copies.get(crossed, 0) > 0:
                continue
            other_key = _pair_key(third, fourth, nodes)
            copies[key] -= 1
            copies[other_key] -= 1
            copies[straight] = copies.get(straight, 0) + 1
            copies[crossed] = copies.get(crossed, 0) + 1
            ends[2 * place + 1] = third
            ends[other] = second
    return [(ends[2 * place], ends[2 * place + 1]) for place in range(count)]
