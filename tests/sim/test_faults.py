"""Faults of scenarios: what each does to sites, groups, clocks and links, and how it is counted."""

from pathlib import Path

import msgspec
import pytest

from tests.sim.happenings import counted, happen, scenario
from tests.sim.worlds import SCRIBE, Scribe, SmallWorld, Word
from tocsin.core.config import decode_config
from tocsin.core.errors import InputError
from tocsin.core.message import Record
from tocsin.core.rng import Rng
from tocsin.protocols.registry import REGISTRY
from tocsin.sim import faults
from tocsin.sim.clock import Clock
from tocsin.sim.conditions import Conditions, Constant
from tocsin.sim.explore.exploration import Limits
from tocsin.sim.explore.search import explore
from tocsin.sim.faults import Fault
from tocsin.sim.run import run_to_end, simulate
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.simulation import Simulation

# Coming back after leaving


def test_a_site_that_left_is_restarted_with_its_disk_and_delivers_again() -> None:
    away = scenario(
        {"at_us": 200_000, "leave": ["c"]},
        {"at_us": 900_000, "restart": ["c"]},
        protocol="counter_token",
        duration_us=8_000_000,
        workload={"messages": 200, "every_us": 20_000, "senders": ["a", "b"]},
    )
    simulation = away.build(1, None)
    run_to_end(simulation, away.config.duration_us)
    assert counted(simulation.world.tally) == {"leave": 1, "restart": 1}
    assert simulation.world.tally.crashes == simulation.world.tally.recoveries == 1
    assert len({site.disk.end(0) for site in simulation.world.sites}) == 1
    assert simulation.world.tally.deliveries > 3 * simulation.world.tally.broadcasts


# Changes of groups


def test_a_change_is_asked_of_the_named_site_only() -> None:
    small = SmallWorld(3, "mesh")
    assert small.simulation.change_group(0, 1, 0, [2, 1])
    assert small.world.groups == [[1, 2]]
    small.simulation.crash(0, 0)
    assert not small.simulation.change_group(0, 0, 0, []), "who is down is asked in vain"
    assert small.world.groups == [[1, 2]]
    assert small.simulation.change_group(0, faults.FIRST_UP, 0, [])
    assert small.world.groups == [[]], "disbanded"


def test_a_change_names_who_is_asked() -> None:
    changed = scenario(
        {"at_us": 5, "change": {"all": ["a", "b"], "new": ["c"]}, "by": "c"},
        {"at_us": 6, "change": {"new": []}},
        protocol="propagation_graph",
    )
    assert [(fault.group, fault.sites, fault.asked) for fault in changed.faults] == [
        (0, [0, 1], 2),
        (1, [2], 2),
        (1, [], faults.FIRST_UP),
    ]
    answer, _ = simulate(changed, 1)
    assert answer["happened"]["change"] == 3
    with pytest.raises(InputError, match=r"`faults\[0\].by`: unknown site `x`"):
        scenario({"at_us": 5, "change": {"all": ["a"]}, "by": "x"}, protocol="propagation_graph")
    with pytest.raises(InputError, match=r"`faults\[0\].by`: expected it beside `change`, found `crash`"):
        scenario({"at_us": 5, "crash": ["a"], "by": "b"})


# Voters


@pytest.mark.parametrize("what", ["add", "remove"])
@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_voters_that_are_fixed_cannot_be_changed(name: str, what: str) -> None:
    if not REGISTRY[name].assumptions.voter_changes:
        with pytest.raises(InputError, match=rf"`faults\[0\].{what}`: outside the assumptions of `{name}`"):
            scenario({"at_us": 5, what: ["a"]}, protocol=name)
        with pytest.raises(InputError, match=f"`founders`: outside the assumptions of `{name}`"):
            scenario(protocol=name, founders=["a", "b"])


class Voting(Scribe):
    """Notes whom it is asked to add and to remove, and who founded the group."""

    def on_start(self, now: int, records: list[Record]) -> None:
        self.told.append(f"{now} founded by {self.setup.members}")

    def add_site(self, now: int, site: int) -> None:
        self.told.append(f"{now} add {site}")

    def remove_site(self, now: int, site: int) -> None:
        self.told.append(f"{now} remove {site}")


def voting(*happenings: dict[str, object], **changes: object) -> Simulation:
    assumptions = msgspec.structs.replace(SCRIBE.assumptions, voter_changes=True)
    protocol = msgspec.structs.replace(SCRIBE, make=Voting, assumptions=assumptions)
    document = {"protocol": "scribe", "sites": 4, "workload": {"messages": 0}, "faults": list(happenings), **changes}
    simulation = Scenario(decode_config(document, ScenarioConfig, "test"), "test", Path(), protocol).build(1, None)
    run_to_end(simulation, 1_000)
    return simulation


def told_by(simulation: Simulation, site: int) -> list[str] | None:
    machine = simulation.world.sites[site].machine
    return machine.told if isinstance(machine, Voting) else None


def test_voters_are_added_by_any_site_and_start_then() -> None:
    simulation = voting(
        {"at_us": 5, "add": ["d"], "by": "c"},
        {"at_us": 6, "remove": ["b", "a"]},
        {"at_us": 7, "crash": ["c"]},
        {"at_us": 8, "remove": ["b"], "by": "c"},  # who is down is asked in vain
        founders=["a", "b", "c"],
    )
    assert told_by(simulation, 0) == ["0 founded by [0, 1, 2]", "6 remove 1", "6 remove 0"]
    assert told_by(simulation, 3) == ["5 founded by [0, 1, 2]"]
    assert told_by(simulation, 2) is None
    assert counted(simulation.world.tally) == {"add": 1, "remove": 2, "crash": 1}


def test_who_is_added_later_is_no_founder() -> None:
    assert told_by(voting({"at_us": 5, "add": ["b"]}), 0) == ["0 founded by [0, 2, 3]", "5 add 1"]
    with pytest.raises(InputError, match="`founders`: expected who joins later not to be one, found `a`"):
        voting({"at_us": 5, "join": ["a"]}, founders=["a", "b"])
    with pytest.raises(InputError, match="`founders`: unknown site `x`"):
        voting(founders=["x"])


# Clocks


def test_a_clock_runs_at_its_own_rate_and_its_timers_with_it() -> None:
    small = SmallWorld(2, "mesh")
    small.world.sites[0].clock = Clock(-100_000)
    small.run(1_000)
    small.world.sites[0].outbox.set_timer("own", 0, 900)
    small.world.sites[0].end_step(small.kernel.now)
    small.outbox(1).set_timer("plain", 0, 1_500)
    small.run(5_000)
    assert small.told(0) == ["900 own/0"] and small.told(1) == ["1500 plain/0"]


@pytest.mark.parametrize("drift_ppm", [-500_000, -99_999, -1, 0, 1, 123_457, 500_000])
def test_a_deadline_comes_when_the_clock_first_shows_it(drift_ppm: int) -> None:
    clock = Clock(drift_ppm)
    for now, by_us in ((0, 0), (1_000, 77), (5_000, 123_456), (9_000, -5_000)):
        clock.jump(now, by_us)
        shown = clock.shows(now)
        for ahead in (*range(1, 40), 999_983, 10**12 + 1):
            at = clock.comes_at(shown + ahead)
            assert clock.shows(at) >= shown + ahead > clock.shows(at - 1)
        assert clock.comes_at(shown) == clock.comes_at(shown - 10) == now


def test_a_jump_lets_timers_fire_and_never_goes_back_while_up() -> None:
    small = SmallWorld(2, "mesh")
    for site in small.world.sites:
        site.clock = Clock(0)
    small.outbox(0).set_timer("later", 1, 100)
    small.outbox(0).set_timer("much later", 2, 100_000)

    def jump(at: int, by_us: int) -> None:
        fault = Fault(at, faults.JUMP)
        fault.sites = [0]
        fault.by_us = by_us
        small.run(at)
        small.simulation.apply(small.kernel.now, fault)

    jump(0, 5_000)
    jump(0, -4_000)
    small.run(200)
    assert small.told(0) == ["5000 later/1"], "once, and at once"
    small.run(200_000)
    assert small.told(0) == ["5000 later/1", "100000 much later/2"]
    happen(small, faults.CRASH, 0, at=small.kernel.now)
    jump(small.kernel.now, -90_000)
    happen(small, faults.RECOVER, 0, at=small.kernel.now)
    assert small.scribe(0).told == ["15000 start "]
    assert counted(small.world.tally) == {"jump": 2, "crash": 1, "recover": 1}


# Workloads


def test_nobody_broadcasts_in_the_still_time() -> None:
    for way in ({"every_us": 10_000}, {"rate_per_site": 100.0}, {"outstanding": 1}):
        spells = {"messages": 400, "still_us": [50_000, 150_000], **way}
        still = scenario(protocol="lamport", workload=spells, network={"delay_us": 2_000}, duration_us=9_000_000)
        simulation = still.build(1, None)
        run_to_end(simulation, still.config.duration_us)
        times = simulation.world.tally.broadcast_at.values()
        assert len(times) == 400 and not [at for at in times if 50_000 <= at < 150_000]
        assert min(times) < 50_000 and max(times) >= 150_000
    with pytest.raises(InputError, match=r"`workload.still_us`: expected \[from, to\], found \[2, 1\]"):
        scenario(workload={"messages": 1, "every_us": 1, "still_us": [2, 1]})


# Links


def test_a_dead_link_survives_a_heal_in_one_direction() -> None:
    small = SmallWorld(2, "mesh")
    dead = Fault(0, faults.DEAD)
    dead.pairs = [(0, 1)]
    small.simulation.apply(0, dead)
    small.simulation.apply(0, Fault(0, faults.HEAL))
    small.outbox(0).send(1, Word("lost"))
    small.outbox(1).send(0, Word("heard"))
    small.run()
    assert small.told(1) == [] and small.told(0) == ["10 heard from 1"]
    assert small.world.tally.drops == {"cut": 1}
    assert counted(small.world.tally) == {"dead": 1, "heal": 1}


def test_a_slow_site_receives_a_tenth_until_it_is_quick_again() -> None:
    small = SmallWorld(2, "mesh")
    for _ in range(2):
        happen(small, faults.SLOW, 1)
    for _ in range(1_000):
        small.outbox(0).send(1, Word("x"))
        small.outbox(1).send(0, Word("y"))
    small.run()
    heard = len(small.told(1))
    assert 60 < heard < 140 and len(small.told(0)) == 1_000
    assert small.world.tally.drops == {"slow": 1_000 - heard}
    happen(small, faults.QUICK, 1)
    for _ in range(10):
        small.outbox(0).send(1, Word("z"))
    small.run(2_000_000)
    assert len(small.told(1)) == heard + 10
    assert counted(small.world.tally) == {"slow": 1, "quick": 1}


def test_nobody_draws_random_numbers_for_sites_that_are_not_slow() -> None:
    drawn, fresh = Rng(7), Rng(7)
    conditions = Conditions(3, Constant(1), drawn)
    conditions.slow.add(2)
    assert not conditions.is_missed(0)
    assert drawn.bits() == fresh.bits()


# Counting


def test_the_answer_counts_every_kind_of_fault_that_happened() -> None:
    answer, _ = simulate(
        scenario(
            {"at_us": 10_000, "save": ["a", "b"]},
            {"at_us": 20_000, "crash": ["a"]},
            {"at_us": 30_000, "crash": ["a", "b"]},  # a is down
            {"at_us": 40_000, "restore": ["b"]},
            {"at_us": 50_000, "recover": ["a", "b", "c"]},  # c is up
            {"at_us": 60_000, "restart": "*"},
            {"at_us": 70_000, "partition": [["a", "b"], ["c", "d"]]},
            {"at_us": 80_000, "cut": [["a", "b"], ["b", "a"]]},
            {"at_us": 90_000, "heal": True},
            {"at_us": 100_000, "pause": ["d"]},
            {"at_us": 110_000, "resume": ["c", "d"]},
            {"at_us": 120_000, "calm": True},
        ),
        5,
    )
    happened = answer["happened"]
    expected = {"save": 2, "crash": 2, "restore": 1, "recover": 2, "restart": 4, "partition": 1, "cut": 2, "heal": 1}
    expected |= {"pause": 1, "resume": 1, "calm": 1}
    assert {kind: happened[kind] for kind in faults.COUNTED if happened[kind]} == expected
    assert happened["crashes"] == happened["recoveries"] == 6 and happened["views"] == 0


def test_runs_with_the_new_faults_repeat() -> None:
    rough = scenario(
        {"at_us": 20_000, "tear": ["a"]},
        {"at_us": 30_000, "slow": ["b"]},
        {"at_us": 40_000, "recover": ["a"]},
        {"at_us": 50_000, "wipe": ["c"]},
        {"at_us": 60_000, "recover": ["c"]},
        {"at_us": 90_000, "quick": ["b"]},
        disk={"sync_us": 5_000},
        network={"loss": 0.1},
    )
    assert simulate(rough, 3)[0] == simulate(rough, 3)[0]


# Exploring


def test_faults_that_are_not_explored_are_refused_there() -> None:
    with pytest.raises(InputError, match="`slow` is simulated, not explored"):
        explore(scenario({"at_us": 0, "slow": ["c"]}), Limits())


def test_an_explored_link_stays_dead() -> None:
    dead = {"at_us": 0, "dead": [["a", "b"]]}
    heal: dict[str, object] = {"at_us": 0, "heal": True}
    fields = {"sites": 2, "workload": {"messages": 1, "every_us": 1, "senders": ["a"]}, "duration_us": 200_000}
    healed = explore(scenario({"at_us": 0, "cut": [["a", "b"]]}, heal, **fields), Limits())
    assert healed.violation is None
    found = explore(scenario(dead, heal, **fields), Limits())
    assert found.violation is not None and "agreement" in found.violation.why
