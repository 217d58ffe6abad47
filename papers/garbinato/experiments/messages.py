"""Figure 2 of Garbinato, Pedone and Schmidt: the optimal algorithm against gossip."""

from papers.garbinato.experiments.regular import SOURCES, Count, Regular, optimum
from papers.garbinato.experiments.runs import broadcasts_from, gossip_cost
from tests.protocols.reliability_tree.runs import built, network


class Messages(Regular, frozen=True, kw_only=True):
    """Figure 2: the optimal algorithm against gossip with as few steps as will do."""

    executions: Count = 10_000  # tried to find the steps

    def measure(self, seed: int) -> dict[str, float]:
        topology = self.topology(seed)
        scenario = network(
            "reliability_tree",
            {"shape": "ring", "nodes": self.sites},
            {"reach": self.reach, "knowledge": "given"},
        )
        simulation = built(scenario, seed, topology)
        simulation.start()
        found = broadcasts_from(simulation, SOURCES, self.reach, self.broadcasts)
        gossip = gossip_cost(topology, self.reach, self.executions, seed)
        return {
            "optimum": optimum(topology, self.reach),
            "messages": found.messages,
            "incomplete": found.incomplete,
            "broadcasts": found.broadcasts,
            "gossip.steps": gossip.steps,
            "gossip.data": gossip.messages,
            "gossip.acks": gossip.acknowledgements,
            "ratio": gossip.messages / found.messages,
            "ratio.with_acks": (gossip.messages + gossip.acknowledgements) / found.messages,
        }
