"""Graphs 1 to 5 of Garcia-Molina and Spauster: propagation graphs of random groups."""

from papers.spauster.experiments.groups import (
    Distribution,
    Groups,
    Sites,
    Size,
    busiest_site,
    central_load,
    drawn_groups,
    mean,
    two_phase_loads,
)
from tocsin.core.rng import Rng
from tocsin.planning.propagation import Forest, propagation_forest
from tocsin.spark.sweep.experiment import Experiment


class Graphs(Experiment, frozen=True):
    """Graphs 1 to 5: depth, extra nodes and load of the propagation graph of random groups."""

    sites: Sites
    groups: Groups
    size: Size
    distribution: Distribution = "fixed"

    def cost(self) -> float:
        return self.sites + self.groups * self.size

    def measure(self, seed: int) -> dict[str, float]:
        groups = drawn_groups(self.sites, self.groups, self.size, self.distribution, Rng(seed))
        forest = propagation_forest(self.sites, groups)
        level = forest.levels()
        numbers = range(len(groups))
        depths = [forest.depth(group, level) for group in numbers]
        extra = [len(forest.extra_sites(group)) for group in numbers]
        return {
            "depth": mean(depths),
            "depth.members": mean([_mean_steps(forest, group, level) for group in numbers]),
            "extra": mean(extra),
            "extra.groups": mean([count > 0 for count in extra]),
            "members": mean([len(members) for members in groups]),
            "trees": len(forest.roots),
            "load.propagation": max(forest.loads()),
            "load.two_phase": max(two_phase_loads(self.sites, groups)),
            "load.two_phase.source": 3 * max(len(members) for members in groups),
            "load.centralized": central_load(busiest_site(self.sites, groups), groups),
        }


def _mean_steps(forest: Forest, group: int, level: list[int]) -> float:
    """Steps from the primary destination to a member, over the members."""
    members = forest.groups[group]
    return sum(level[member] for member in members) / len(members) - level[forest.primary[group]]
