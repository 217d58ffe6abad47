"""The links of a topology while a run goes on: which of them work, and what each has carried."""

from tocsin.core.topology import Topology


class Links:
    """Faults fail and repair links; the network counts what passes over them."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.changes = 0  # how often a link has failed or was repaired: routes of an older count are out of date
        self.traffic: list[int] = [0] * topology.link_count()  # messages over each link
        self._works: list[bool] = [True] * topology.link_count()

    def works(self, link: int) -> bool:
        return self._works[link]

    def fail(self, link: int) -> None:
        """The link stops carrying messages."""
        self._works[link] = False
        self.changes += 1

    def repair(self, link: int) -> None:
        """The link works again."""
        self._works[link] = True
        self.changes += 1

    def count(self, link: int) -> None:
        """A message passes over the link."""
        self.traffic[link] += 1

    def named_traffic(self) -> dict[str, int]:
        """Messages over each link, by its name."""
        labels = self.topology.link_labels()
        return {labels[link]: self.traffic[link] for link in range(len(labels))}
