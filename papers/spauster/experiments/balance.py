"""Figure 5 of Garcia-Molina and Spauster: load against depth."""

from typing import Annotated

from msgspec import Meta

from papers.spauster.experiments.groups import Groups, Sites, Size, drawn_groups, mean
from tocsin.core.rng import Rng
from tocsin.planning.balance import balanced
from tocsin.planning.propagation import number_sites, propagation_forest
from tocsin.spark.sweep.experiment import Experiment

FIGURE_5 = {"alpha": list("abcde"), "beta": list("bfgh"), "gamma": list("ab")}


class FigureFive(Experiment, frozen=True):
    """Figure 5: the three groups of section 4.1, and the graph changed to relieve its busiest site."""

    depth_growth: Annotated[int, Meta(ge=0, le=1_000)]

    def measure(self, seed: int) -> dict[str, float]:
        names, groups = number_sites(FIGURE_5)
        forest = balanced(propagation_forest(len(names), groups), self.depth_growth)
        level = forest.levels()
        loads = forest.loads()
        return {
            "load": max(loads),
            "load.a": loads[names.index("a")],
            "load.b": loads[names.index("b")],
            "depth": max(forest.depth(group, level) for group in range(len(groups))),
            "extra": sum(len(forest.extra_sites(group)) for group in range(len(groups))),
            "groups.a": sum(names.index("a") in members for members in groups),
        }


class Trade(Experiment, frozen=True):
    """Figure 5's trade on random groups: the largest load, when groups may become so much deeper."""

    sites: Sites
    groups: Groups
    size: Size
    depth_growth: Annotated[int, Meta(ge=0, le=1_000)]
    allow_extra: bool = False

    def cost(self) -> float:
        return self.sites + self.groups * self.size

    def measure(self, seed: int) -> dict[str, float]:
        groups = drawn_groups(self.sites, self.groups, self.size, "fixed", Rng(seed))
        first = propagation_forest(self.sites, groups)
        forest = balanced(first, self.depth_growth, self.allow_extra)
        level = forest.levels()
        numbers = range(len(groups))
        load, load_first = max(forest.loads()), max(first.loads())
        return {
            "load": load,
            "load.first": load_first,
            "load.ratio": load / load_first,
            "lower": float(load < load_first),
            "depth": mean([forest.depth(group, level) for group in numbers]),
            "extra": mean([len(forest.extra_sites(group)) for group in numbers]),
        }
