"""Broadcasts of `reliability_tree` and of `push_gossip` with what is given or learned: what they cost and reach."""

from tests.protocols.reliability_tree.runs import PERIOD_US, built, incomplete, machines, network, run_until, truth
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.protocols.baselines.push_gossip.search import Rounds, steps_for_reach
from tocsin.protocols.reliability_tree.knowledge import link_key
from tocsin.protocols.reliability_tree.plans import Plan, read_plan
from tocsin.sim.simulation import Simulation


class Completeness:
    """Broadcasts of one process after another: what was promised, and what became of them."""

    def __init__(self) -> None:
        self.broadcasts = 0
        self.incomplete = 0  # did not reach everybody
        self.promised = 0.0  # the smallest promise
        self.messages = 0  # of the plans, the largest


def broadcasts_from(simulation: Simulation, sources: int, reach: float, broadcasts: int) -> Completeness:
    """Broadcast from several processes of a run, with what they know by now."""
    sites = len(simulation.world.sites)
    found = Completeness()
    found.promised = 1.0
    chosen = [place * sites // sources for place in range(min(sources, sites))]
    for source in chosen:
        plan = machines(simulation)[source].plan(0, reach)
        assert not plan.left_out
        found.promised = min(found.promised, plan.reach)
        found.messages = max(found.messages, plan.messages)
    now = simulation.kernel.now
    for number in range(broadcasts):
        now += 100
        run_until(simulation, now)
        simulation.world.sites[chosen[number % len(chosen)]].broadcast(now, 0, b"x")
    run_until(simulation, now + 10 * PERIOD_US)
    found.broadcasts = broadcasts
    found.incomplete = incomplete(simulation, sites)
    return found


def true_reach(plan: Plan, source: int, sites: int, losses: dict[int, float]) -> float:
    """The probability that a plan reaches all it names, with the true losses instead of the believed ones."""
    reach = 1.0
    waiting = [(source, target, copies, below) for target, copies, below in plan.sends]
    while waiting:
        sender, target, copies, below = waiting.pop()
        reach *= 1.0 - losses[link_key(sender, target, sites)] ** copies
        waiting += [(target, *child) for child in read_plan(below, sites, 1 << 30)]
    return reach


class GossipCost:
    """What the paper's reference algorithm needs for the same reach."""

    def __init__(self, steps: int, messages: float, acknowledgements: float) -> None:
        self.steps = steps
        self.messages = messages  # data messages of a broadcast
        self.acknowledgements = acknowledgements  # beside them, not in the paper's ratio


def gossip_cost(topology: Topology, reach: float, executions: int, seed: int, broadcasts: int = 50) -> GossipCost:
    """The fewest steps for the reach, found by trying, and the messages that they cost in the simulator."""
    sites = topology.node_count()
    lost = truth(topology)
    neighbours = [topology.neighbours(node) for node in range(sites)]
    losses = [[lost[link_key(node, other, sites)] for other in beside] for node, beside in enumerate(neighbours)]
    steps = steps_for_reach(Rounds(neighbours, losses), reach, executions, Rng(seed))
    simulation = _gossip(topology, steps, broadcasts, seed)
    sends = simulation.world.tally.sends
    return GossipCost(steps, sends["data"] / broadcasts, sends.get("ack", 0) / broadcasts)


def _gossip(topology: Topology, steps: int, broadcasts: int, seed: int) -> Simulation:
    shape = {"shape": "ring", "nodes": topology.node_count()}
    simulation = built(network("push_gossip", shape, {"steps": steps}, broadcasts, 50_000), seed, topology)
    simulation.start()
    run_until(simulation, broadcasts * 50_000 + 10_000 * (steps + 10))
    return simulation
