"""Graphs 4 and 5 of Garcia-Molina and Spauster by running protocols."""

from typing import Literal

from papers.spauster.experiments.groups import (
    Groups,
    Sites,
    Size,
    busiest_site,
    central_load,
    drawn_groups,
    two_phase_loads,
)
from papers.spauster.experiments.multicast import mesh, one_multicast
from tocsin.core.rng import Rng
from tocsin.planning.propagation import propagation_forest
from tocsin.spark.sweep.experiment import Experiment


class Loads(Experiment, frozen=True):
    """Graphs 4 and 5 by running protocols: a message to every group, one after the other, counted site by site."""

    protocol: Literal["two_phase", "sequencer", "propagation_graph"]
    sites: Sites
    groups: Groups
    size: Size

    def cost(self) -> float:
        return self.groups * (self.sites + self.groups * self.size)

    def measure(self, seed: int) -> dict[str, float]:
        groups = drawn_groups(self.sites, self.groups, self.size, "fixed", Rng(seed))
        network = mesh(1_000, 100)
        load = [0] * (self.sites + 1)
        if self.protocol == "sequencer":
            central = busiest_site(self.sites, groups)
            for members in groups:
                # As its own system, since `sequencer` sends its order to every site; the first site orders
                small = [central, *[member for member in members if member != central]]
                inside = list(range(1 - (central in members), len(small)))
                found = one_multicast("sequencer", len(small), [inside], 0, len(small) - 1, network)
                for place, count in enumerate(found.load):
                    load[small[place]] += count
            counted = central_load(central, groups)
        else:
            for group in range(self.groups):
                found = one_multicast(self.protocol, self.sites + 1, groups, group, self.sites, network)
                load = [total + count for total, count in zip(load, found.load, strict=True)]
            load.pop()  # the source is in no group
            counted = max(two_phase_loads(self.sites, groups))
            if self.protocol == "propagation_graph":
                counted = max(propagation_forest(self.sites, groups).loads())
        return {"load": max(load), "load.counted": counted, "agree": float(max(load) == counted)}
