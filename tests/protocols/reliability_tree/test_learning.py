"""Processes that learn their network by heartbeats: topology, losses, what appears and vanishes."""

from collections import deque

import pytest

from tests.protocols.reliability_tree.runs import (
    PERIOD_US,
    built,
    estimates,
    machines,
    measuring,
    network,
    run_until,
    truth,
)
from tocsin.core.errors import InputError
from tocsin.core.generators import random_connected, ring, vary
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.protocols.reliability_tree.beliefs import credible_interval
from tocsin.protocols.reliability_tree.knowledge import link_key
from tocsin.sim.simulation import Simulation


def distances(topology: Topology, source: int) -> list[int]:
    found = [-1] * topology.node_count()
    found[source] = 0
    waiting = deque([source])
    while waiting:
        node = waiting.popleft()
        for other in topology.neighbours(node):
            if found[other] < 0:
                found[other] = found[node] + 1
                waiting.append(other)
    return found


def started(topology: Topology, seed: int = 1, **options: object) -> Simulation:
    document = {"shape": "ring", "nodes": topology.node_count()}
    simulation = built(network("reliability_tree", document, dict(options)), seed, topology)
    simulation.start()
    return simulation


def test_everybody_learns_the_topology_and_every_loss() -> None:
    topology = random_connected(10, 20, Rng(3))
    vary(topology, Rng(4), loss=(0.0, 0.3))
    simulation = started(topology)
    run_until(simulation, 400 * PERIOD_US)
    wanted = truth(topology)
    inside = total = 0
    for machine in machines(simulation):
        known = estimates(machine, 10)
        assert known.keys() == wanted.keys()
        assert machine.knowledge.process_count() == 10
        for key, (successes, failures) in known.items():
            low, high = credible_interval(successes, failures, 0.9)
            assert 300 < successes + failures <= 400  # an eighth behind at the most
            inside += low <= wanted[key] <= high
            total += 1
    assert inside / total > 0.75


def test_distortion_is_the_distance_from_whoever_tells() -> None:
    topology = random_connected(12, 16, Rng(5))
    simulation = started(topology, news_growth=1.0, full_every=10)
    run_until(simulation, 100 * PERIOD_US)
    for site, machine in enumerate(machines(simulation)):
        away = distances(topology, site)
        for other in range(12):
            assert machine.knowledge.distortion(other) == away[other]
        for link in range(topology.link_count()):
            ends = topology.link_first[link], topology.link_second[link]
            assert machine.knowledge.distortion(link_key(ends[0], ends[1], 12)) == away[ends[1]]
            assert machine.knowledge.distortion(link_key(ends[1], ends[0], 12)) == away[ends[0]]


def reached_over(simulation: Simulation, source: int) -> list[int]:
    """The children of a source in its plan."""
    plan = machines(simulation)[source].plan(0, 0.99)
    assert plan.left_out == []
    return sorted(child for child, _, _ in plan.sends)


def test_a_link_that_fails_is_gone_from_every_map_and_comes_back_when_repaired() -> None:
    topology = ring(6, loss=0.01)
    simulation = started(topology, vanish_after=5)
    assert simulation.world.network is not None
    links = simulation.world.network.links
    assert links is not None
    run_until(simulation, 30 * PERIOD_US)
    assert reached_over(simulation, 0) == [1, 5]
    links.fail(0)  # between 0 and 1
    run_until(simulation, 60 * PERIOD_US)
    assert reached_over(simulation, 0) == [5] and reached_over(simulation, 1) == [2]
    for machine in machines(simulation):
        assert len(estimates(machine, 6)) == 10
    links.repair(0)
    run_until(simulation, 90 * PERIOD_US)
    for machine in machines(simulation):
        assert len(estimates(machine, 6)) == 12
    links.fail(3)  # now it is needed
    run_until(simulation, 120 * PERIOD_US)
    assert reached_over(simulation, 0) == [1, 5]


def test_a_link_that_works_in_one_direction_only_is_known_for_that_direction() -> None:
    simulation = started(ring(5), vanish_after=5)
    run_until(simulation, 20 * PERIOD_US)
    network_model = simulation.world.network
    assert network_model is not None
    network_model.carrier.conditions.cut(3, 2)
    run_until(simulation, 60 * PERIOD_US)
    for machine in machines(simulation):
        assert link_key(3, 2, 5) not in estimates(machine, 5) and link_key(2, 3, 5) in estimates(machine, 5)
    assert reached_over(simulation, 3) == [4]
    assert network_model.links is not None
    network_model.links.fail(1)  # between 1 and 2: now the direction that is left is needed
    run_until(simulation, 100 * PERIOD_US)
    assert reached_over(simulation, 2) == [3]
    network_model.links.repair(1)
    network_model.carrier.conditions.heal()
    run_until(simulation, 140 * PERIOD_US)
    for machine in machines(simulation):
        assert link_key(3, 2, 5) in estimates(machine, 5)


def test_a_process_that_vanishes_is_left_out_and_one_that_appears_is_reached() -> None:
    simulation = started(ring(6, loss=0.02), vanish_after=5, settle_us=0)
    run_until(simulation, 30 * PERIOD_US)
    simulation.crash(simulation.kernel.now, 3)
    run_until(simulation, 60 * PERIOD_US)
    plan = machines(simulation)[0].plan(0, 0.999)
    assert plan.left_out == [3] and plan.reach >= 0.999
    simulation.recover(simulation.kernel.now, 3)
    run_until(simulation, 80 * PERIOD_US)
    assert machines(simulation)[0].plan(0, 0.5).left_out == []
    with pytest.raises(InputError, match="all who are needed are up"):
        machines(simulation)[0].plan(0, 0.999)  # it was down for a third of the time, and no copy helps against that


def test_two_halves_forget_each_other_and_meet_again() -> None:
    simulation = started(ring(8), vanish_after=4)
    run_until(simulation, 20 * PERIOD_US)
    network_model = simulation.world.network
    assert network_model is not None
    network_model.carrier.conditions.partition([[0, 1, 2, 3], [4, 5, 6, 7]])
    run_until(simulation, 50 * PERIOD_US)
    assert machines(simulation)[1].plan(0, 0.9).left_out == [4, 5, 6, 7]
    assert machines(simulation)[6].plan(0, 0.9).left_out == [0, 1, 2, 3]
    network_model.carrier.conditions.heal()
    run_until(simulation, 80 * PERIOD_US)
    for machine in machines(simulation):
        assert machine.plan(0, 0.9).left_out == []


def test_a_process_knows_how_much_of_the_time_it_is_down_and_tells_others() -> None:
    """Down for one tick in five, counted on stable storage (events 3 and 4)."""
    simulation = started(ring(3), tick_us=PERIOD_US)
    for cycle in range(60):
        run_until(simulation, cycle * 20 * PERIOD_US + 16 * PERIOD_US + 1)
        simulation.crash(simulation.kernel.now, 1)
        run_until(simulation, (cycle + 1) * 20 * PERIOD_US + 1)
        simulation.recover(simulation.kernel.now, 1)
    run_until(simulation, simulation.kernel.now + 10 * PERIOD_US)
    for machine in machines(simulation):
        sites, up, down = machine.knowledge.processes()
        assert sites == [0, 1, 2]
        assert down[1] / (up[1] + down[1]) == pytest.approx(0.2, abs=0.02)
        assert down[0] == down[2] == 0


def test_a_crash_does_not_forget_what_was_seen_of_the_links() -> None:
    simulation = started(ring(4, loss=0.1))
    run_until(simulation, 200 * PERIOD_US)
    before = estimates(machines(simulation)[0], 4)
    simulation.crash(simulation.kernel.now, 1)
    simulation.recover(simulation.kernel.now, 1)
    run_until(simulation, 220 * PERIOD_US)
    after = estimates(machines(simulation)[1], 4)
    assert after.keys() == before.keys()
    for key, (successes, failures) in before.items():
        assert sum(after[key]) > 0.8 * (successes + failures)


def test_heartbeats_carry_less_and_less() -> None:
    """Bytes of a heartbeat in the first and in later ten seconds, everything encoded; a hundredth of them tells all."""
    shape = {"shape": "random_regular", "nodes": 12, "degree": 4, "loss": 0.03}
    simulation = built(network("reliability_tree", shape), 1)
    sizes = measuring(simulation).sizes
    simulation.start()
    run_until(simulation, 100 * PERIOD_US)
    early = sum(sizes) / len(sizes)
    run_until(simulation, 300 * PERIOD_US)
    sizes.clear()
    run_until(simulation, 400 * PERIOD_US)
    late = sum(sizes) / len(sizes)
    assert early < 110 and late < 60 and min(sizes) < 40 and max(sizes) < 400  # all: 12 processes and 48 ways


def test_a_broadcast_may_say_its_own_reach() -> None:
    simulation = started(ring(6, loss=0.1), messages_per_site_max=10)
    run_until(simulation, 300 * PERIOD_US)
    machine = machines(simulation)[0]
    now = simulation.kernel.now
    assert machine.promise(now, 0, 0.9999) >= 0.9999
    cheap, dear = machine.plan(0, 0.9), machine.plan(0, 0.999999)
    assert 0.9 <= cheap.reach < 0.99 and cheap.messages < machine.plan(0, 0.9999).messages < dear.messages
    sent = simulation.world.tally.sends.get("data", 0)
    machine.broadcast_reaching(now, 0, b"x", 0.9)
    run_until(simulation, now + PERIOD_US)
    assert simulation.world.tally.sends["data"] - sent <= cheap.messages
    delivered = simulation.world.tally.deliveries
    with pytest.raises(InputError, match="needs more than the budget of 50 messages, which reach"):
        machine.broadcast_reaching(now, 0, b"x", 1 - 1e-15)
    with pytest.raises(InputError, match="cannot be promised"):
        machine.promise(now, 0, 1.0)
    assert simulation.world.tally.deliveries == delivered  # refused is not broadcast


def test_broadcasts_wait_until_every_member_was_heard_of_but_not_for_ever() -> None:
    patient = started(ring(12), settle_us=5_000_000)
    assert all(machine.room() == 0 for machine in machines(patient))
    run_until(patient, 20 * PERIOD_US)
    assert all(machine.room() > 0 for machine in machines(patient))
    alone = started(ring(5), settle_us=1_000_000)
    alone.crash(0, 2)
    run_until(alone, 999_999)
    assert machines(alone)[0].room() == 0
    run_until(alone, 1_000_000)
    assert machines(alone)[0].room() > 0
