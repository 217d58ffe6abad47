"""Each network model does what its file says, to the microsecond."""

from tests.sim.worlds import SmallWorld, Word
from tocsin.core.rng import Rng
from tocsin.core.topology import Topology
from tocsin.sim.conditions import Exponential, LongTail, Uniform


def test_mesh_sends_one_after_another() -> None:
    small = SmallWorld(4, "mesh", process_us=3)
    small.outbox(0).multicast([1, 2, 3], Word("x"))
    small.run()
    assert [small.told(site) for site in (1, 2, 3)] == [["10 x from 0"], ["13 x from 0"], ["16 x from 0"]]
    assert small.world.tally.sends == {"data": 3} and small.world.tally.multicasts == {}


def test_lan_carries_one_message_at_a_time() -> None:
    small = SmallWorld(3, "lan", medium_us=100)
    small.outbox(0).multicast([1, 2], Word("x"))
    small.outbox(1).send(2, Word("y"))
    small.run()
    assert small.told(1) == ["110 x from 0"]
    assert small.told(2) == ["110 x from 0", "210 y from 1"]
    assert small.world.tally.multicasts == {"data": 1} and small.world.tally.sends == {"data": 1}


def line() -> Topology:
    """h1 - s1 - s2 - h2, and h3 at s2: one multicast from h1 crosses the trunk once."""
    topology = Topology()
    for name in ("h1", "h2", "h3"):
        topology.add_node(name)
    for name in ("s1", "s2"):
        topology.add_node(name, is_switch=True)
    for first, second, label in ((0, 3, "up"), (3, 4, "trunk"), (4, 1, "left"), (4, 2, "right")):
        topology.add_link(first, second, name=label)
    return topology


def test_switched_multicast_is_one_copy_per_link() -> None:
    small = SmallWorld(3, "switched", line())
    small.outbox(0).multicast([1, 2], Word("x"))
    small.run()
    assert small.told(1) == small.told(2) == ["30 x from 0"]
    assert small.links.named_traffic() == {"up": 1, "trunk": 1, "left": 1, "right": 1}


def test_switched_routes_around_nothing_when_the_trunk_fails() -> None:
    small = SmallWorld(3, "switched", line())
    small.links.fail(1)
    small.outbox(0).send(1, Word("lost"))
    small.outbox(1).send(2, Word("local"))
    small.links.repair(1)
    small.outbox(0).send(1, Word("again"))
    small.run()
    assert small.told(1) == ["30 again from 0"] and small.told(2) == ["20 local from 1"]
    assert small.world.tally.drops == {"link": 1}


def test_lossy_knows_neighbours_only() -> None:
    topology = Topology()
    for name in ("p1", "p2", "p3"):
        topology.add_node(name)
    topology.add_link(0, 1)
    topology.add_link(1, 2)
    small = SmallWorld(3, "lossy", topology)
    small.outbox(0).multicast([1, 2], Word("x"))
    small.run()
    assert small.told(1) == ["10 x from 0"] and small.told(2) == []
    assert small.world.tally.drops == {"link": 1}


def test_lossy_loses_as_often_as_it_should() -> None:
    topology = Topology()
    topology.add_node("p1", crash=0.1)
    topology.add_node("p2", crash=0.2)
    topology.add_link(0, 1, loss=0.3)
    small = SmallWorld(2, "lossy", topology)
    for _ in range(20_000):
        small.outbox(0).send(1, Word("x"))
    small.run()
    arrived = len(small.told(1)) / 20_000
    assert abs(arrived - 0.9 * 0.7 * 0.8) < 0.012  # three standard deviations


def test_loss_duplication_and_reordering() -> None:
    small = SmallWorld(2, "mesh")
    small.conditions.loss = 0.1
    small.conditions.duplicate = 0.05
    small.conditions.reorder = 0.2
    small.conditions.reorder_us = 50
    for number in range(10_000):
        small.outbox(0).send(1, Word(str(number)))
    small.run()
    words = [line.split()[1] for line in small.told(1)]
    assert 880 < small.world.tally.drops["loss"] < 1_120
    assert small.network.carrier.duplicated == len(words) - len(set(words)) > 350
    assert small.network.carrier.held_up > 1_500
    assert words != sorted(words, key=int)


def test_partition_cuts_what_is_under_way_and_heals() -> None:
    small = SmallWorld(3, "mesh")
    small.outbox(0).send(1, Word("under way"))
    small.conditions.partition([[0], [1, 2]])
    small.outbox(1).send(2, Word("inside"))
    small.outbox(2).send(0, Word("across"))
    small.run()
    small.conditions.heal()
    small.outbox(0).send(1, Word("healed"))
    small.run()
    assert small.told(0) == [] and small.told(1) == ["20 healed from 0"] and small.told(2) == ["10 inside from 1"]


def test_a_cut_is_one_way() -> None:
    small = SmallWorld(2, "mesh")
    small.conditions.cut(0, 1)
    small.outbox(0).send(1, Word("lost"))
    small.outbox(1).send(0, Word("heard"))
    small.run()
    assert small.told(1) == [] and small.told(0) == ["10 heard from 1"]


def test_delay_distributions_have_their_means() -> None:
    rng = Rng(5)
    uniform = [Uniform(100, 300).draw(rng) for _ in range(20_000)]
    assert min(uniform) >= 100 and max(uniform) <= 300 and abs(sum(uniform) / 20_000 - 200) < 2
    exponential = [Exponential(50, 1_000).draw(rng) for _ in range(20_000)]
    assert min(exponential) >= 50 and abs(sum(exponential) / 20_000 - 1_050) < 25
    tail = sorted(LongTail(100).draw(rng) for _ in range(20_000))
    assert tail[0] >= 100 and tail[10_000] < 200 and tail[-1] > 10_000
