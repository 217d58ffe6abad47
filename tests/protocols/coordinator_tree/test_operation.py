"""Normal operation: FIFO, null messages, sharing of control traffic, reordering of lists, and hostile peers."""

from pathlib import Path

import msgspec
import pytest

from tests.protocols.coordinator_tree.runs import FIGURE_2_1, Run, scenario
from tests.protocols.coordinator_tree.test_recovery import a_site, receive, stream_of
from tocsin.core.data import Links
from tocsin.core.effects import Deliver, Multicast, Send, sent
from tocsin.core.message import Message
from tocsin.core.rangeset import RangeSet, rangeset_of
from tocsin.core.rng import Rng
from tocsin.protocols.coordinator_tree import PROTOCOL
from tocsin.protocols.coordinator_tree import messages as wire
from tocsin.protocols.coordinator_tree.fills import STALLED_PERIODS, Fills
from tocsin.protocols.coordinator_tree.machine import CoordinatorTree
from tocsin.protocols.coordinator_tree.round_trips import RoundTrips
from tocsin.sim import manual_site
from tocsin.sim.manual_site import Input
from tocsin.sim.run import simulate
from tocsin.sim.swarm.draw import draw_scenario
from tocsin.sim.swarm.kinds import EARLIER
from tocsin.sim.swarm.swarm import run_document


@pytest.mark.parametrize("seed", range(6))
def test_fifo_holds_when_it_is_asked_for(seed: int, tmp_path: Path) -> None:
    asked = scenario(
        tmp_path,
        sites=4,
        duration_us=30_000_000,
        options={"order": "fifo"},
        workload={"messages": 80, "rate_per_site": 40.0},
        network={"model": "mesh", "delay_us": [0, 20_000], "loss": 0.2, "reorder": 0.2},
        faults=[{"at_us": 300_000, "crash": ["c"]}, {"at_us": 600_000, "recover": ["c"]}],
    )
    answer, _ = simulate(asked, seed)
    assert answer["verdicts"]["fifo"] == "pass"
    assert answer["verdicts"]["uniform_agreement"] == "pass"
    assert answer["deliveries"] == 320


def test_without_fifo_a_later_message_does_not_wait() -> None:
    """The red alert is not held back by the maneuvers of next month."""
    site = a_site()
    effects = receive(site, 0, wire.Data(0, 0, 1, 1, b"red alert"))
    assert [effect.payload for effect in effects if isinstance(effect, Deliver)] == [b"red alert"]


def test_swarm_scenarios_with_fifo_keep_it() -> None:
    """The registry promises what holds with every option; here fifo is checked on top, in the swarm's scenarios."""
    promising = msgspec.structs.replace(PROTOCOL, guarantees=(*PROTOCOL.guarantees, "fifo"))
    for seed in range(1_000, 1_015):
        document = draw_scenario(PROTOCOL, seed, only=EARLIER)
        document["options"]["order"] = "fifo"
        assert run_document(promising, document, seed).violated is None


def test_a_silent_source_says_null_and_a_talking_one_does_not(tmp_path: Path) -> None:
    run = Run(
        scenario(
            tmp_path,
            sites=3,
            duration_us=60_000_000,
            options={"report_periods": 0},
            workload={"messages": 100, "every_us": 20_000, "senders": ["a"]},
            network={"model": "lan", "delay_us": 500},
        )
    )
    run.until(1_990_000)
    assert run.sent("null") == []
    run.until(4_000_000)
    assert 18 <= len(run.sent("null")) <= 21  # every 100 ms
    assert not run.sent("probe")
    assert run.sent("null", by="b") == []  # only who has broadcast is a source


def test_control_traffic_of_several_sources_is_shared(tmp_path: Path) -> None:
    """When three sources fall silent at once, those who ask the same host ask for all three in one message."""
    run = Run(
        scenario(
            tmp_path,
            sites=6,
            duration_us=60_000_000,
            workload={"messages": 3, "every_us": 1, "senders": ["a", "b", "c"]},
            network={"model": "lan", "delay_us": 500},
            faults=[{"at_us": 500_000, "partition": [["a", "b", "c"], ["d", "e", "f"]]}],
        )
    ).until(3_000_000)
    for source in ("a", "b", "c"):
        assert run.probers(["d", "e", "f"], source) == ["d"]
    announced = run.sent("coordinator", 2_000_000)
    assert {noted.source for noted in announced} == {3}
    assert all(len(noted.message.entries) == 3 for noted in announced)  # type: ignore[attr-defined]
    assert len(announced) <= 11
    reports = run.sent("desc", 2_000_000)
    assert all(len(noted.message.entries) == 3 for noted in reports)  # type: ignore[attr-defined]


# Section 5.1: dynamic reordering


def test_lists_follow_the_measured_round_trips() -> None:
    trips = RoundTrips()
    assert trips.ordered(1_000, [4, 2, 3, 1]) == [4, 2, 3, 1]
    trips.note(1_000, 4, 1)
    trips.note(1_000, 3, 900)
    assert trips.ordered(1_000, [4, 2, 3, 1]) == [3, 2, 4, 1]  # 2 and 1 were never measured and keep their places
    trips.note(1_000, 1, 990)
    assert trips.ordered(1_000, [4, 2, 3, 1]) == [1, 2, 3, 4]
    for _ in range(60):
        trips.note(10_000, 1, 5_000)  # its path has become slow
    assert trips.ordered(1_000, [4, 2, 3, 1]) == [3, 2, 4, 1]


def test_a_stamp_that_makes_no_sense_measures_nothing() -> None:
    trips = RoundTrips()
    for stamp in (0, 2_000, 1 << 60):
        trips.note(1_000, 1, stamp)
    trips.note(1 << 40, 1, 1)
    assert trips.smoothed_us(1) == -1


@pytest.mark.parametrize(("measure_periods", "repairer"), [(0, "h1"), (3, "h3")])
def test_reordering_finds_the_near_host(tmp_path: Path, measure_periods: int, repairer: str) -> None:
    """h5 is told to ask the far source first. When it measures, it soon asks h3 behind the same switch."""
    lists = {"h2": ["h1"], "h3": ["h1", "h2"], "h4": ["h1", "h2", "h3"], "h5": ["h1", "h2", "h4", "h3"]}
    run = Run(
        scenario(
            tmp_path,
            FIGURE_2_1,
            duration_us=60_000_000,
            options={"lists": {"h1": lists}, "measure_periods": measure_periods},
            workload={"messages": 50, "every_us": 100_000, "senders": ["h1"]},
            network={"model": "switched", "delay_us": 300},
        )
    )
    h5 = run.names.index("h5")

    def loses(source: int, target: int, message: Message) -> bool:
        first = run.simulation.kernel.now <= 4_600_000
        return first and target == h5 and isinstance(message, wire.Data) and message.number == 45

    run.network.loses = loses
    run.until(8_000_000)
    assert run.lacking() == 0
    again = [noted for noted in run.sent("data") if noted.targets == [h5]]
    assert [run.names[noted.source] for noted in again] == [repairer]
    assert set(run.stream("h5", "h1").above) == {0, 1, 2, 3}  # who is on the list never changes


# fill(): each once, and not again while it is under way


def test_a_number_under_way_is_sent_again_when_it_was_overtaken_or_nothing_comes_at_all() -> None:
    fills = Fills()
    fills.owe(1, rangeset_of([3, 4]))
    fills.owe(2, rangeset_of([4]))
    assert [(batch.number, batch.targets) for batch in fills.take(10)] == [(3, [1]), (4, [1, 2])]
    fills.owe(1, rangeset_of([3, 4, 5]))
    assert [(batch.number, batch.targets) for batch in fills.take(10)] == [(5, [1])]
    fills.report(1, rangeset_of([4]))  # it has what was sent later
    fills.owe(1, rangeset_of([3, 5]))
    assert [batch.number for batch in fills.take(10)] == [3]
    for _ in range(STALLED_PERIODS - 1):
        fills.age()
        fills.owe(1, rangeset_of([3, 5]))
        assert not fills.pending()
    fills.age()
    fills.owe(1, rangeset_of([3, 5]))
    assert [batch.number for batch in fills.take(10)] == [3, 5]


def test_what_is_under_way_follows_from_what_arrives() -> None:
    fills = Fills()
    fills.begin_with(16)
    sent: list[int] = []
    for _ in range(4):  # everything arrives: twice as much each time
        fills.owe(1, rangeset_of(list(range(len(sent), 1_000))))
        taken = [batch.number for batch in fills.take(1_000)]
        sent += taken
        fills.report(1, rangeset_of(sent))
        fills.age()
    assert len(sent) == 16 + 32 + 64 + 128
    fills.owe(1, rangeset_of(list(range(len(sent), 1_000))))
    taken = [batch.number for batch in fills.take(1_000)]
    assert len(taken) == 256
    fills.report(1, rangeset_of(sent + taken[::5]))  # a buffer has overflown: a fifth arrives
    fills.age()
    fills.owe(1, rangeset_of(list(range(len(sent), 1_000))))
    assert len(fills.take(1_000)) <= 2 * 52


def test_a_long_redelivery_is_sent_in_batches_and_can_be_called_off() -> None:
    fills = Fills()
    fills.begin_with(100)
    fills.owe(1, rangeset_of(list(range(100))))
    assert [batch.number for batch in fills.take(64)] == list(range(64))
    assert fills.pending()
    fills.owe(2, rangeset_of([80]))
    fills.forget(1)
    assert [(batch.number, batch.targets) for batch in fills.take(64)] == [(80, [2])]
    assert not fills.pending()


# Hostile peers


def draw_message(rng: Rng) -> Message:
    """A message that decodes and need not make sense."""
    numbers = (0, 0, 1, 1, 2, 3, 5, 63, 1 << 20, (1 << 62) - 1)

    def some() -> int:
        return numbers[rng.below(len(numbers))]

    def ranges() -> tuple[int, ...]:
        return tuple(some() for _ in range(rng.below(6)))

    kind = rng.below(15)
    if kind == 0:
        return wire.Data(some(), some(), some(), some(), b"x")
    if kind == 1:
        return wire.Null((wire.Progress(some(), some(), some(), some()),))
    if kind == 2:
        return wire.Tidings((wire.Told(some(), some(), some()),))
    if kind == 3:
        return wire.Probe((wire.Searched(some(), some()),), some())
    if kind == 4:
        return wire.CoordinatorIs((wire.Pointer(some(), some(), some()),), some())
    if kind == 5:
        return wire.Desc((wire.Holding(some(), some(), some(), rng.chance(0.7), ranges()),), some())
    if kind == 6:
        return wire.IAmCoordinator((wire.Told(some(), some(), some()),))
    if kind == 7:
        return wire.Request((wire.Wanted(some(), some(), ranges()),))
    if kind == 8:
        return wire.Have((wire.Prefix(some(), some()),))
    if kind == 9:
        return wire.Anew()
    if kind == 10:
        return wire.Known((wire.KnownStream(some(), some(), ranges()),))
    if kind == 11:
        return wire.Relay((some(), some(), 1), rng.below(3), some(), wire.Ping(some()))
    if kind == 12:
        few = (rng.below(4), some(), rng.below(3), (rng.below(4), rng.below(4)))
        return Links((few,), ((rng.below(4), some()),))
    return wire.Ping(some()) if kind == 13 else wire.Pong(some())


@pytest.mark.parametrize("order", ["none", "fifo"])
def test_a_peer_can_never_crash_us(order: str) -> None:
    dropped = 0
    for seed in range(60):
        rng = Rng(seed).fork("hostile")
        site = a_site(1, 4, order=order, retain=5)
        for _ in range(120):
            if rng.chance(0.3) and site.timers:
                name, key = sorted(site.timers)[rng.below(len(site.timers))]
                happening = Input(manual_site.TIMER, 0)
                happening.timer = name
                happening.number = key
                site.apply(happening)
            else:
                receive(site, (0, 2, 3)[rng.below(3)], draw_message(rng))
        assert isinstance(site.machine, CoordinatorTree)
        dropped += site.machine.stat_dropped
        for stream in site.machine._streams.all:
            assert stream.seat.coordinator in {-1, 1, *stream.above}
            assert set(stream.kept) == set(stream.kept_numbers.values())
        site.apply(Input(manual_site.CRASH, 0))
        site.apply(Input(manual_site.START, 0))
    assert dropped > 1_000


def test_a_coordinator_below_us_is_not_believed() -> None:
    """A stale or foolish announcement cannot make a cycle: 2 has 1 on its list, so 1 never attaches to 2."""
    site = a_site(1, 4, silence=2)
    receive(site, 0, wire.Null((wire.Progress(0, 3, 0, 0),)))
    for _ in range(3):
        happening = Input(manual_site.TIMER, 0)
        happening.timer = "PERIOD"
        site.apply(happening)
    seat = stream_of(site, 0).seat
    assert seat.alarm and seat.coordinator == 1
    receive(site, 2, wire.IAmCoordinator((wire.Told(0, 0, 3),)))
    assert seat.coordinator == 1
    receive(site, 0, wire.CoordinatorIs((wire.Pointer(0, 0, 2),), 0))
    assert seat.coordinator == 0  # the one who answered, not the one it names


def test_desc_is_passed_on_to_the_coordinator_a_bounded_number_of_times() -> None:
    site = a_site(2, 4)
    have = RangeSet().to_wire()
    receive(site, 0, wire.Data(0, 0, 1, 1, b"x"))
    happening = Input(manual_site.TIMER, 10_000)
    happening.timer = "GAP"
    happening.number = 0
    site.apply(happening)
    receive(site, 1, wire.CoordinatorIs((wire.Pointer(0, 0, 1),), 0))
    receive(site, 1, wire.IAmCoordinator((wire.Told(0, 0, 2),)))
    told = wire.Holding(0, 0, 3, True, have)
    passed = receive(site, 3, wire.Desc((told,), 0))
    assert sent(passed) == [(1, wire.Desc((told,), 1))]
    assert receive(site, 3, wire.Desc((told,), 4)) == []


def test_nobody_else_numbers_our_messages() -> None:
    """A peer that claims to have more of our stream than there is changes nothing."""
    site = a_site(0, 3)
    foolish = wire.Holding(0, 0, 1, True, rangeset_of([0, 1, 2, 3]).to_wire())
    assert not [effect for effect in receive(site, 1, wire.Desc((foolish,), 0)) if isinstance(effect, Send)]
    receive(site, 1, wire.Tidings((wire.Told(0, 0, 9),)))
    happening = Input(manual_site.BROADCAST, 0)
    happening.payload = b"first"
    told = [effect.message for effect in site.apply(happening) if isinstance(effect, Multicast)]
    assert told == [wire.Data(0, 0, 0, 0, b"first")]
