"""Random networks in which every process has as many neighbours."""

from typing import Annotated

from msgspec import Meta

from tocsin.core.generators import random_regular, vary
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.planning.reliability import maximum_reliability_tree, optimize
from tocsin.spark.sweep.experiment import Experiment

Probability = Annotated[float, Meta(ge=0.0, lt=1.0)]
Count = Annotated[int, Meta(ge=1)]
REACH = 0.9999  # the paper's K
SOURCES = 10  # processes that broadcast, one after another


class Regular(Experiment, frozen=True, kw_only=True):
    """A random network in which every process has as many neighbours."""

    connectivity: Annotated[int, Meta(ge=2)]
    sites: Annotated[int, Meta(ge=3)] = 100
    crash: Probability = 0.0  # the paper's P
    loss: Probability = 0.0  # the paper's L
    spread: Probability = 0.0  # links lose loss - spread to loss + spread, each its own
    reach: Annotated[float, Meta(gt=0.0, lt=1.0)] = REACH
    broadcasts: Count = 1_000

    def cost(self) -> float:
        return self.connectivity * self.sites

    def topology(self, seed: int) -> Topology:
        made = random_regular(self.sites, self.connectivity, Rng(seed), loss=self.loss, crash=self.crash)
        if self.spread > 0.0:
            vary(made, Rng(seed).fork("losses"), loss=(self.loss - self.spread, self.loss + self.spread))
        return made


def optimum(topology: Topology, reach: float) -> int:
    return optimize(maximum_reliability_tree(topology, 0), reach).messages
