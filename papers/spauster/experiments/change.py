"""Section 4.3 of Garcia-Molina and Spauster: what a new propagation graph costs."""

from pathlib import Path

from papers.spauster.experiments.groups import Groups, Sites, Size, drawn_groups, mean
from tocsin.core.rng import Rng
from tocsin.planning.propagation import propagation_forest
from tocsin.sim.run import without_trace
from tocsin.sim.scenario import scenario_from_document
from tocsin.spark.sweep.experiment import Experiment

KEEPING = ("ack", "null")  # kinds that keep edges going; what else is not data changes the graph


class Change(Experiment, frozen=True):
    """Section 4.3: what a new propagation graph costs, in messages: one group of several gets other members."""

    sites: Sites
    groups: Groups
    size: Size

    def cost(self) -> float:
        return self.sites + self.groups * self.size

    def measure(self, seed: int) -> dict[str, float]:
        rng = Rng(seed)
        names = [f"s{number}" for number in range(self.sites)]
        groups = drawn_groups(self.sites, self.groups + 1, self.size, "fixed", rng)
        other = groups.pop()
        document = {
            "protocol": "propagation_graph",
            "sites": names,
            "groups": {f"g{number}": [names[site] for site in members] for number, members in enumerate(groups)},
            "duration_us": 2_000_000,
            "workload": {
                "messages": 1,
                "every_us": 10**9,
                "start_us": 1_000_000,
            },  # a run without messages ends at once
            "network": {"delay_us": 1_000},
            "faults": [{"at_us": 100_000, "change": {"g0": [names[site] for site in other]}}],
        }
        tally = without_trace(scenario_from_document(document, "change", Path()), seed).world.tally
        forest = propagation_forest(self.sites, groups)
        changing = sum(count for kind, count in tally.sends.items() if kind != "data" and kind not in KEEPING)
        one = mean([len(forest.relays(group)) for group in range(len(groups))])
        return {"messages": changing, "multicasts": changing / one}
