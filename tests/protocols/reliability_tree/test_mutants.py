"""Planted bugs in `reliability_tree`: the explorer, a bounded swarm, or what processes have learned finds each."""

import math
from typing import Any

import msgspec
import pytest

from tests.mutation import mutated
from tests.protocols.reliability_tree.coverage import LEVEL, Coverage, add_seed
from tests.protocols.reliability_tree.runs import PERIOD_US, built, estimates, machines, network, run_until
from tests.protocols.small import is_caught, small
from tocsin.core.generators import ring
from tocsin.protocols.protocol import Protocol
from tocsin.protocols.reliability_tree import PROTOCOL
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.scenario import Scenario

FOLDER = "tocsin.protocols.reliability_tree."
GIVEN = {"knowledge": "given", "given_loss": 0.3, "reach": 0.8}

DELIVERIES = {
    "delivers every copy": ("machine", "if self._memory.has_received(data.origin, data.seqno):", "if False:"),
    "forgets what it received": ("memory", "        self._records.persist(Received(origin, seqno))\n", ""),
    "forgets the number after a crash": (
        "memory",
        "                self._numbers.recall(record.seqno)\n",
        "                pass\n",
    ),
    "does not deliver its own": (
        "machine",
        "            self._outbox.deliver(group, self._site, seqno, payload)\n",
        "            pass\n",
    ),
    "forgets numbers in a checkpoint": (
        "memory",
        "        self._numbers.resume(summary.next_seqno)\n",
        "        pass\n",
    ),
}

ESTIMATES = {
    "line 19 as printed": (
        "direct",
        "lost = seqno - self._seqno - 1 if life == self._life",
        "lost = seqno - self._seqno if life == self._life",
    ),
    "never counts a loss": ("direct", "        self.evidence.add(1, lost)\n", "        self.evidence.add(1, 0)\n"),
    "never takes a suspicion back": (
        "direct",
        "        self.suspected = 0\n        self.heard = True\n",
        "        self.evidence.add(0, self.suspected)\n        self.suspected = 0\n        self.heard = True\n",
    ),
}


@pytest.mark.parametrize("name", DELIVERIES)
def test_planted_bug_in_deliveries_is_caught(name: str) -> None:
    module, old, new = DELIVERIES[name]
    options: dict[str, Any] = dict(GIVEN)
    mutant = mutated(PROTOCOL, FOLDER + module, old, new)
    if "checkpoint" in name:
        options["records_max"] = 4
        mutant = msgspec.structs.replace(mutant, variations={**PROTOCOL.variations, "records_max": (4,)})
    assert is_caught(mutant, [(small(mutant, 3, 2, 100_000, options), Limits(crashes=1, repeats=1))], range(30))


@pytest.mark.parametrize("name", ESTIMATES)
def test_planted_bug_in_estimates_is_caught_by_the_credible_intervals(name: str) -> None:
    module, old, new = ESTIMATES[name]
    mutant = mutated(PROTOCOL, FOLDER + module, old, new)
    coverage = Coverage()
    for seed in range(15):
        add_seed(coverage, seed, mutant)
    assert coverage.total > 100  # as much was learned as by the protocol itself: what is wrong are the estimates
    assert abs(coverage.rate() - LEVEL) > 4 * math.sqrt(LEVEL * (1 - LEVEL) / coverage.total) + 0.01


LEARNING = {
    "swaps successes and failures in what it hears": (
        "direct",
        "        self.peer_successes = successes\n        self.peer_failures = failures\n",
        "        self.peer_successes = failures\n        self.peer_failures = successes\n",
    ),
    "adopts the older version": (
        "knowledge",
        "return self._adopt(np.flatnonzero(ahead - 1 < RANK_HALF), places, news, via)",
        "return self._adopt(np.flatnonzero(ahead > RANK_HALF), places, news, via)",
    ),
    "leaves it to the owner to tell that a link is gone": (
        "machine",
        "                if direct.maybe_vanish():\n                    self._tell_gone(direct)\n",
        "                direct.maybe_vanish()\n",
    ),
    "takes hearing for being heard": (
        "direct",
        "        if self.works():\n            return self.peer_successes, self.peer_failures\n",
        "        if self.heard:\n            return max(self.peer_successes, 1), self.peer_failures\n",
    ),
    "forgets its evidence in a crash": (
        "direct",
        "        self.evidence.add(successes, failures)\n",
        "",
    ),
    "does not pass on what it hears": ("knowledge", "            self._changed[place] = self.changes\n", ""),
    "takes losses for impatience": ("direct", "if self.suspected - lost > 1 and", "if self.suspected > 0 and"),
}


def knows_the_ring(protocol: Protocol) -> bool:
    """Twelve processes in a ring that loses a fifth; one comes back from a crash, one link fails for ever, one in one
    direction, one process vanishes. Does everybody end up with the right map, good evidence, and quick timeouts?"""
    scenario = network("reliability_tree", {"shape": "ring", "nodes": 12}, {"vanish_after": 12, "news_max": 16})
    simulation = built(Scenario(scenario.config, "mutant", scenario._folder, protocol), 1, ring(12, loss=0.2))
    simulation.start()
    model = simulation.world.network
    assert model is not None and model.links is not None
    run_until(simulation, 100 * PERIOD_US)
    simulation.crash(simulation.kernel.now, 2)
    simulation.recover(simulation.kernel.now, 2)
    run_until(simulation, 110 * PERIOD_US)
    if any(machine.knowledge.process_count() < 12 for machine in machines(simulation)):
        return False
    if any(sum(pair) < 75 for machine in machines(simulation) for pair in estimates(machine, 12).values()):
        return False
    if any(direct.timeout > 3 for machine in machines(simulation) for direct in machine.neighbours):
        return False
    if machines(simulation)[5].plan(0, 0.9).messages > 60:  # eleven receivers, some four copies each
        return False
    model.links.fail(5)
    model.carrier.conditions.cut(4, 3)
    run_until(simulation, 160 * PERIOD_US)
    known = [len(estimates(machine, 12)) for machine in machines(simulation)]
    if known != [21 if site in (4, 5) else 20 for site in range(12)]:  # who still hear the rest, and are not heard
        return False
    model.links.repair(5)
    model.carrier.conditions.heal()
    run_until(simulation, 180 * PERIOD_US)
    simulation.crash(simulation.kernel.now, 0)
    run_until(simulation, 230 * PERIOD_US)
    return all(len(estimates(machine, 12)) == 20 for machine in machines(simulation))


def test_the_protocol_itself_learns_the_ring() -> None:
    assert knows_the_ring(PROTOCOL)


@pytest.mark.parametrize("name", LEARNING)
def test_planted_bug_in_learning_is_caught(name: str) -> None:
    module, old, new = LEARNING[name]
    assert not knows_the_ring(mutated(PROTOCOL, FOLDER + module, old, new))


def knows_a_line_again(protocol: Protocol) -> bool:
    """Twenty processes in a line; the first comes back from a crash: its only neighbour tells it in four pieces."""
    options = {"news_max": 16, "news_growth": 1.0}
    scenario = network("reliability_tree", {"shape": "ring", "nodes": 20}, options)
    simulation = built(Scenario(scenario.config, "mutant", scenario._folder, protocol), 1, ring(20))
    simulation.start()
    model = simulation.world.network
    assert model is not None and model.links is not None
    model.links.fail(19)
    run_until(simulation, 60 * PERIOD_US)
    simulation.crash(simulation.kernel.now, 0)
    simulation.recover(simulation.kernel.now, 0)
    run_until(simulation, 66 * PERIOD_US)
    first = machines(simulation)[0]
    return first.knowledge.process_count() == 20 and len(estimates(first, 20)) == 38


def test_news_that_do_not_fit_are_not_said_to_be_told() -> None:
    assert knows_a_line_again(PROTOCOL)
    mutant = mutated(
        PROTOCOL,
        FOLDER + "knowledge",
        "            upto = int(np.partition(numbers, most - 1)[most - 1])\n            rows = rows[numbers <= upto]\n",
        "            rows = rows[numbers <= int(np.partition(numbers, most - 1)[most - 1])]\n",
    )
    assert not knows_a_line_again(mutant)
