"""Every schedule that the explorer finds can be told, and acted again: the transcript has the same effects then."""

from pathlib import Path

import msgspec
import pytest

from tests.protocols.tree_ack.small import small
from tests.sim.test_explore_faults import FAULTS, SCRIPTS
from tests.sim.toys import PROTOCOL, toy
from tocsin.protocols.protocol import Protocol
from tocsin.sim.explore.exploration import Limits, Violation
from tocsin.sim.explore.local_states import Local
from tocsin.sim.explore.search import Explorer
from tocsin.sim.explore.telling import Telling, tell_violation
from tocsin.sim.scenario import Scenario, scenario_from_document
from tocsin.sim.transcript import perform

STATES = 1_000  # of each world
SAMPLE = 40  # of these


def told(scenario: Scenario, violation: Violation | None, protocol: Protocol) -> str:
    """The story, which is the same when it is acted again."""
    assert violation is not None
    story = tell_violation(scenario, violation, 0)
    assert perform(story, protocol) == story
    return story


@pytest.mark.parametrize("name", FAULTS)
def test_what_happens_within_the_budgets(name: str) -> None:
    limits, bug, world = FAULTS[name]
    scenario = toy(bug, **world)
    told(scenario, Explorer(scenario, limits).run().violation, PROTOCOL)


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_faults_of_a_scenario(name: str) -> None:
    faults, bug, world = SCRIPTS[name]
    scenario = toy(bug, faults=faults, **world)
    assert f"{name} " in told(scenario, Explorer(scenario, Limits()).run().violation, PROTOCOL)


OVERLAPPING = {"groups": {"x": ["a", "b"], "y": ["b", "c"]}, "sites": 3}
CHANGES = [{"at_us": 0, "change": {"x": ["b", "c"]}}, {"at_us": 1, "change": {"y": ["a", "b"]}, "by": "b"}]
OUTAGE = [{"at_us": 0, "crash": ["a", "b"]}, {"at_us": 1, "recover": ["a"]}, {"at_us": 2, "recover": ["b"]}]
MOVING = [
    {"at_us": 0, "join": ["c"]},
    {"at_us": 1, "partition": [["a", "b"], ["c"]]},
    {"at_us": 1, "heal": True},
    {"at_us": 2, "leave": ["b"]},
]


def scenario(protocol: str, **more: object) -> Scenario:
    workload = {"messages": 2, "every_us": 1, "senders": ["b"]}
    document = {"protocol": protocol, "sites": 3, "duration_us": 100_000, "workload": workload, **more}
    return scenario_from_document(document, "told", Path())


WORLDS: dict[str, tuple[Scenario, Limits]] = {
    "groups change": (scenario("propagation_graph", **OVERLAPPING, faults=CHANGES), Limits(losses=1)),
    "sites come and go": (scenario("counter_token", faults=MOVING), Limits(leaves=1, early=1)),
    "crashes": (scenario("counter_token", faults=OUTAGE), Limits(repeats=1)),
    "a detector": (small(3, shape="chain"), Limits(crashes=2, repeats=1)),
    "a prompt detector": (small(3, shape="chain"), Limits(crashes=2, prompt_detector=True, early=1)),
    "disks": (scenario("ack_all", workload={"messages": 1, "every_us": 1}), Limits(wipes=1, restores=1, dead_links=1)),
}


@pytest.mark.parametrize("name", WORLDS)
def test_every_state_can_be_reached_by_what_is_told(name: str) -> None:
    """Of a sample of all states: the transcript's machines are then as the explorer's are."""
    world, limits = WORLDS[name]
    limits = msgspec.structs.replace(limits, states_max=STATES, liveness=False, symmetry=False)
    explorer = Explorer(world, limits)
    explorer.run()
    states = explorer.states()
    for index in range(0, len(states), 1 + len(states) // SAMPLE):
        telling = Telling(world, limits.seed)
        for step in explorer.path(index):
            telling.tell(step)
        for site, local in zip(telling.transcript.sites, explorer.locals_of(states[index]), strict=True):
            seen = Local(local.site, [], (), frozenset())
            seen.look_at(site)
            assert (seen.up, seen.left, seen.quiet, seen.timers) == (local.up, local.left, local.quiet, local.timers)
        assert perform("\n".join(telling.lines), world.protocol) == "\n".join(telling.lines)
