"""States that differ by names count once: the verdicts, the orbits and the executions are those of the full search."""

import msgspec
import pytest

from tests.protocols.small import small
from tests.protocols.tree_ack.small import small as tree
from tests.sim.toys import PROTOCOL, Toy, toy
from tocsin.core.machine import Micros
from tocsin.core.message import Record
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.explore.search import Explorer, explore
from tocsin.sim.explore.symmetry import Asymmetric, interchangeable, permuted
from tocsin.sim.explore.telling import tell_violation
from tocsin.sim.scenario import Scenario
from tocsin.sim.transcript import perform

ALIKE: dict[str, tuple[Scenario, Limits]] = {
    "toy, a dead link": (toy(sites=3, ticks=1), Limits(dead_links=1)),
    "toy, a leave": (toy(sites=3, ticks=1, messages=0), Limits(leaves=1)),
    "toy, a bug": (toy("relay", sites=3, ticks=1), Limits(dead_links=1)),
    "ack_all": (small(REGISTRY["ack_all"], 4, 1, 100_000), Limits(losses=2)),
    "lamport": (small(REGISTRY["lamport"], 3, 1, 100_000), Limits(losses=1)),
    "two_phase": (small(REGISTRY["two_phase"], 3, 1, 100_000), Limits(losses=1, early=1)),
    "sequencer": (small(REGISTRY["sequencer"], 3, 1, 100_000), Limits(losses=1)),
    "push_gossip": (small(REGISTRY["push_gossip"], 4, 1, 100_000, {"steps": 1}), Limits()),
    "tree_ack, a detector": (tree(3, shape="bush"), Limits(crashes=1, recoveries=0)),
}


def without(limits: Limits) -> Limits:
    return msgspec.structs.replace(limits, symmetry=False)


@pytest.mark.parametrize("name", ALIKE)
def test_as_the_full_search(name: str) -> None:
    scenario, limits = ALIKE[name]
    explorer = Explorer(scenario, limits)
    found, full = explorer.run(), explore(scenario, without(limits))
    assert found.finished == full.finished and found.executions == full.executions
    if full.violation is None:
        assert found.violation is None
        assert found.states < full.states == found.stands_for == full.stands_for
        images = {image.key() for state in explorer.states() for image in explorer.images(state)}
        assert len(images) == full.states
    else:
        assert found.violation is not None and len(found.violation.steps) == len(full.violation.steps)
        story = tell_violation(scenario, found.violation, 0)
        assert perform(story, scenario.protocol) == story


class Partial(Toy):
    """Prefers its first peer: the last one hears nothing at the start."""

    def on_start(self, now: Micros, records: list[Record]) -> None:
        super().on_start(now, records)
        if self._site == 1:
            self._outbox.set_timer("LATER", 0, now + 5)


def test_a_protocol_that_tells_sites_apart_is_found_out() -> None:
    """With the full search after all, and the same answer."""
    partial = msgspec.structs.replace(PROTOCOL, make=Partial)
    scenario = toy(sites=3, ticks=1)
    scenario.protocol = partial
    with pytest.raises(Asymmetric):
        Explorer(scenario, Limits()).run()
    assert explore(scenario, Limits()) == explore(scenario, without(Limits()))


@pytest.mark.parametrize("name", ["counter_token", "totem_ring", "coordinator_tree", "propagation_graph"])
def test_protocols_that_prefer_low_numbers_are_found_out(name: str) -> None:
    with pytest.raises(Asymmetric):
        Explorer(small(REGISTRY[name], 3, 1, 20_000), Limits(states_max=5_000)).run()


def test_who_has_a_part_of_its_own() -> None:
    groups = [[0, 1, 2, 3], [1, 2]]
    assert interchangeable(4, groups, {0}, [0, 1, 2, 3]) == [[1, 2]]
    assert interchangeable(4, groups[:1], {0}, [0, 1, 2, 3]) == [[1, 2, 3]]
    assert interchangeable(4, groups[:1], {0}, [0, 1, 2]) == [[1, 2]], "one joins later"
    assert interchangeable(3, groups[:1], {0, 1}, [0, 1, 2]) == []
    assert permuted(3, [[1, 2]]) == [[0, 1, 2], [0, 2, 1]]
    assert len(permuted(5, [[1, 2, 3], [0, 4]])) == 12
    named = toy(sites=3, faults=[{"at_us": 0, "crash": ["b"]}, {"at_us": 1, "recover": ["b"]}])
    assert Explorer(named, Limits()).run().stands_for == explore(named, without(Limits())).states
