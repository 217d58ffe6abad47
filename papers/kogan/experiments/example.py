"""Garcia-Molina and Kogan, section 5: the source is cut off in Figure 2.1; assignments A and B, planned and run."""

from typing import Literal

from papers.kogan.experiments.runs import PARTED_US, TREE_KINDS, difference, started
from papers.kogan.experiments.trees import SOURCE
from papers.kogan.figure_2_1 import ASSIGNMENTS, FIGURE_2_1
from tocsin.core.topology import Topology
from tocsin.core.topology_config import topology_from_document
from tocsin.planning.distances import HostDistances
from tocsin.planning.priorities import coordinator_tree, shortest_distance_first, tree_cost
from tocsin.spark.sweep.experiment import Experiment


class Example(Experiment, frozen=True):
    """Section 5: the source is cut off in figure 2.1; the trees of two assignments, by planning."""

    assignment: Literal["A", "B"]

    def measure(self, seed: int) -> dict[str, float]:
        topology = topology_from_document(FIGURE_2_1, "figure 2.1")
        distances = HostDistances(topology)
        named = ASSIGNMENTS[self.assignment]
        lists = [[int(name[1:]) - 1 for name in named.get(f"h{host + 1}", [])] for host in range(5)]
        parents = coordinator_tree(lists, [host != SOURCE for host in range(5)])
        near = {0, 1}  # the side of l6 that the source is on
        crossing = [host for host, parent in enumerate(parents) if parent >= 0 and (host in near) != (parent in near)]
        return {
            "cost": tree_cost(parents, distances),
            "crossings": len(crossing),
            "coordinator": parents.index(-1) + 1,
            "coordinator.distance": float(distances.matrix[SOURCE, parents.index(-1)]),
            "by_sdf": float(shortest_distance_first(topology, distances, SOURCE).lists == lists),
            "distance.h4.h5": _unit_distance(topology),
        }


def _unit_distance(topology: Topology) -> float:
    """Between h4 and h5, if every link costs 1."""
    for link in range(topology.link_count()):
        topology.link_cost[link] = 1.0
    return float(HostDistances(topology).matrix[3, 4])


class Assignment(Experiment, frozen=True):
    """Section 5: figure 2.1 when the source is cut off; what the expensive link carries for the tree."""

    assignment: Literal["A", "B"]

    def measure(self, seed: int) -> dict[str, float]:
        run = started(
            "coordinator_tree",
            FIGURE_2_1,
            ["l6"],
            seed,
            options={"lists": {"h1": ASSIGNMENTS[self.assignment]}, "measure_periods": 0},
            duration_us=60_000_000,
            workload={"messages": 1, "every_us": 10**9, "senders": ["h1"]},
            faults=[{"at_us": PARTED_US, "fail": ["l1"]}],
        )
        run.until(PARTED_US)
        before = dict(run.network.copies[0])
        run.until(PARTED_US + 1_000_000)
        formed = difference(run.network.copies[0], before)
        run.until(PARTED_US + 11_000_000)
        later = difference(run.network.copies[0], before)
        return {
            # copies over the link in the first second: to find a coordinator, and between it and those below it
            "probing": sum(formed.get(kind, 0) for kind in ("probe", "answer")),
            "telling": sum(formed.get(kind, 0) for kind in ("coordinator", "desc", "request", "tidings")),
            "formed": sum(formed.get(kind, 0) for kind in TREE_KINDS),
            "next_10_s": sum(later.get(kind, 0) - formed.get(kind, 0) for kind in TREE_KINDS),
        }
