"""A network of hosts and switches joined by links, compact enough for a million of them.

Nodes and links are dense integers in the order they were added; names live in tables beside them. The
numbers are kept in typed arrays (at most 8 bytes each, and NumPy reads them without copying), the adjacency
in flat arrays.
"""

from array import array
from typing import Final

from tocsin.core.errors import InputError

NODES_MAX: Final = 10_000_000
LINKS_MAX: Final = 10_000_000
COST_MAX: Final = 1e100  # so that the length of any path is finite
NAME_LENGTH_MAX: Final = 255


class Topology:
    """Nodes (host or switch, crash probability) and undirected links (ends, cost, loss probability)."""

    def __init__(self) -> None:
        self.node_names: list[str] = []  # unique; the position is the node's number
        self.crash: array[float] = array("d")  # probability that a step is a crashed step, in [0, 1)
        self.link_first: array[int] = array("i")  # one end of each link …
        self.link_second: array[int] = array("i")  # … and the other, always a different node
        self.link_cost: array[float] = array("d")  # >= 0
        self.link_loss: array[float] = array("d")  # in [0, 1)
        self._is_switch: bytearray = bytearray()  # 1 for a switch, 0 for a host
        self._number: dict[str, int] = {}  # the inverse of node_names
        self._given_link_names: list[str] = []  # "" where none was given; the others are unique
        self._link_labels: list[str] = []  # every link's name, made when first asked for
        self._link_number: dict[str, int] = {}  # the inverse of _link_labels
        self._offsets: array[int] = array("i")  # node v's ends are at offsets[v] … offsets[v + 1] of the next two
        self._neighbours: array[int] = array("i")
        self._links_at: array[int] = array("i")

    # Building

    def add_node(self, name: str, is_switch: bool = False, crash: float = 0.0) -> int:
        """Add a node and return its number."""
        refuse_bad_name(name)
        if name in self._number:
            raise InputError(f"name: expected unique names, found `{name}` twice")
        if not 0.0 <= crash < 1.0:
            raise InputError(f"crash of `{name}`: expected a probability in [0, 1), found {crash}")
        number = len(self.node_names)
        if number >= NODES_MAX:
            raise InputError(f"expected at most {NODES_MAX} nodes")
        self._number[name] = number
        self.node_names.append(name)
        self._is_switch.append(1 if is_switch else 0)
        self.crash.append(crash)
        self._forget_adjacency()
        return number

    def add_link(self, first: int, second: int, cost: float = 1.0, loss: float = 0.0, name: str = "") -> int:
        """Join two nodes, given by number, and return the link's number."""
        if not (0 <= first < len(self.node_names) and 0 <= second < len(self.node_names)):
            raise InputError(f"ends: expected two known nodes, found numbers {first} and {second}")
        if first == second:
            raise InputError(f"ends: expected two different nodes, found `{self.node_names[first]}` twice")
        if not 0.0 <= cost <= COST_MAX:
            raise InputError(f"cost: expected a number from 0 to {COST_MAX:g}, found {cost}")
        if not 0.0 <= loss < 1.0:
            raise InputError(f"loss: expected a probability in [0, 1), found {loss}")
        number = len(self.link_first)
        if number >= LINKS_MAX:
            raise InputError(f"expected at most {LINKS_MAX} links")
        if name:
            self._name_link(name, number)
        self._given_link_names.append(name)
        self.link_first.append(first)
        self.link_second.append(second)
        self.link_cost.append(cost)
        self.link_loss.append(loss)
        self._forget_adjacency()
        return number

    def _name_link(self, name: str, number: int) -> None:
        refuse_bad_name(name)
        if self._link_labels:
            self._forget_link_labels()
        if name in self._link_number:
            raise InputError(f"name: expected unique names, found link `{name}` twice")
        self._link_number[name] = number

    # Nodes

    def node_count(self) -> int:
        return len(self.node_names)

    def link_count(self) -> int:
        return len(self.link_first)

    def node(self, name: str) -> int:
        """The number of the node of that name."""
        number = self.find_node(name)
        if number < 0:
            raise InputError(f"expected a node of the topology, found `{name}`")
        return number

    def find_node(self, name: str) -> int:
        """The number of the node of that name, or -1."""
        return self._number.get(name, -1)

    def has_node(self, name: str) -> bool:
        return name in self._number

    def is_switch(self, node: int) -> bool:
        return self._is_switch[node] != 0

    def hosts(self) -> list[int]:
        return [node for node in range(len(self.node_names)) if not self._is_switch[node]]

    # Links

    def other_end(self, link: int, node: int) -> int:
        first = self.link_first[link]
        return self.link_second[link] if first == node else first

    def link_labels(self) -> list[str]:
        """A unique name for every link: the given one, else `a-b` after its ends (`a-b#2` for a second)."""
        if len(self._link_labels) != len(self.link_first):
            self._forget_link_labels()
            for link in range(len(self.link_first)):
                label = self._given_link_names[link]
                if not label:
                    ends = self.node_names[self.link_first[link]] + "-" + self.node_names[self.link_second[link]]
                    label = ends
                    copy = 1
                    while label in self._link_number:
                        copy += 1
                        label = f"{ends}#{copy}"
                    self._link_number[label] = link
                self._link_labels.append(label)
        return self._link_labels

    def link(self, label: str) -> int:
        """The number of the link of that name (see `link_labels`)."""
        self.link_labels()
        number = self._link_number.get(label, -1)
        if number < 0:
            raise InputError(f"expected a link of the topology, found `{label}`")
        return number

    def _forget_link_labels(self) -> None:
        """Back to the given names only: a link was added since the labels were made."""
        self._link_labels = []
        self._link_number = {}
        for link in range(len(self._given_link_names)):
            if self._given_link_names[link]:
                self._link_number[self._given_link_names[link]] = link

    # Adjacency

    def neighbours(self, node: int) -> list[int]:
        """The other ends of the node's links, in the order they were added; a twin link repeats its end."""
        self._ensure_adjacency()
        return self._neighbours[self._offsets[node] : self._offsets[node + 1]].tolist()

    def links_at(self, node: int) -> list[int]:
        """The node's links, in the order they were added: the same places as in `neighbours`."""
        self._ensure_adjacency()
        return self._links_at[self._offsets[node] : self._offsets[node + 1]].tolist()

    def degree(self, node: int) -> int:
        self._ensure_adjacency()
        return self._offsets[node + 1] - self._offsets[node]

    def _forget_adjacency(self) -> None:
        if self._offsets:
            self._offsets = array("i")

    def _ensure_adjacency(self) -> None:
        """Count the ends at each node, sum the counts to offsets, then put every link into its two places."""
        if self._offsets:
            return
        nodes = len(self.node_names)
        links = len(self.link_first)
        first = self.link_first.tolist()
        second = self.link_second.tolist()
        offsets = [0] * (nodes + 1)
        for link in range(links):
            offsets[first[link] + 1] += 1
            offsets[second[link] + 1] += 1
        for node in range(nodes):
            offsets[node + 1] += offsets[node]
        fill = offsets[:]  # where each node's next end goes
        neighbours = [0] * (2 * links)
        links_at = [0] * (2 * links)
        for link in range(links):
            a = first[link]
            b = second[link]
            neighbours[fill[a]] = b
            links_at[fill[a]] = link
            fill[a] += 1
            neighbours[fill[b]] = a
            links_at[fill[b]] = link
            fill[b] += 1
        self._offsets = array("i", offsets)
        self._neighbours = array("i", neighbours)
        self._links_at = array("i", links_at)

    # Connectivity

    def components(self) -> list[list[int]]:
        """The connected parts, each in increasing order, by their smallest node."""
        seen = bytearray(len(self.node_names))
        parts: list[list[int]] = []
        for start in range(len(self.node_names)):
            if not seen[start]:
                parts.append(self._reach(start, seen))
        return parts

    def is_connected(self) -> bool:
        """Whether there is a path between any two nodes; true of at most one node."""
        if not self.node_names:
            return True
        return len(self._reach(0, bytearray(len(self.node_names)))) == len(self.node_names)

    def _reach(self, start: int, seen: bytearray) -> list[int]:
        seen[start] = 1
        reached = [start]
        position = 0
        while position < len(reached):
            for neighbour in self.neighbours(reached[position]):
                if not seen[neighbour]:
                    seen[neighbour] = 1
                    reached.append(neighbour)
            position += 1
        reached.sort()
        return reached


def refuse_bad_name(name: str) -> None:
    """Names are printed in tables and messages: they must be there and must not move the cursor."""
    if not name or not name.isprintable() or len(name) > NAME_LENGTH_MAX:
        raise InputError(f"name: expected 1 to {NAME_LENGTH_MAX} printable characters, found {name[:40]!r}")


def need_connected(topology: Topology, purpose: str) -> None:
    """Refuse a topology in parts, naming a node of each of two parts."""
    parts = topology.components()
    if len(parts) > 1:
        names = topology.node_names
        raise InputError(
            f"{purpose} needs a connected topology, found {len(parts)} parts: no path joins "
            f"`{names[parts[0][0]]}` and `{names[parts[1][0]]}`; add a link or remove the nodes"
        )
