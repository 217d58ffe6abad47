"""Stable storage: crashes and recoveries, checkpoints, trimming, and messages that were missed for good."""

from pathlib import Path
from typing import Any

import pytest

from tests.protocols.coordinator_tree.runs import Run, scenario
from tocsin.core.config import decode_config
from tocsin.core.effects import Checkpoint, Deliver, Effect, Missed, Multicast, Persist
from tocsin.core.message import RECORDS_MAX, Message
from tocsin.protocols.coordinator_tree import PROTOCOL
from tocsin.protocols.coordinator_tree.machine import CoordinatorTree
from tocsin.protocols.coordinator_tree.messages import Data, Have, Held, Null, Prefix, Progress, Summary
from tocsin.protocols.coordinator_tree.stream import Stream
from tocsin.sim import manual_site
from tocsin.sim.manual_site import Input, ManualSite


def a_site(site: int = 1, sites: int = 3, groups: list[list[int]] | None = None, **options: Any) -> ManualSite:
    """One site, started."""
    everybody = list(range(sites))
    decoded = decode_config({"measure_periods": 0, **options}, PROTOCOL.options, "test")
    made = ManualSite(site, PROTOCOL, decoded, sites, everybody, groups or [everybody], None, 0)
    made.apply(Input(manual_site.START, 0))
    return made


def receive(site: ManualSite, source: int, message: Message) -> list[Effect]:
    happening = Input(manual_site.RECEIVE, 0)
    happening.peer = source
    happening.message = message
    return site.apply(happening)


def broadcast(site: ManualSite, payload: bytes, group: int = 0) -> list[Effect]:
    happening = Input(manual_site.BROADCAST, 0)
    happening.payload = payload
    happening.number = group
    return site.apply(happening)


def restart(site: ManualSite) -> list[Effect]:
    site.apply(Input(manual_site.CRASH, 0))
    return site.apply(Input(manual_site.START, 0))


def stream_of(site: ManualSite, origin: int, group: int = 0) -> Stream:
    assert isinstance(site.machine, CoordinatorTree)
    stream = site.machine.stream(group, origin)
    assert stream is not None
    return stream


def data(number: int) -> Data:
    return Data(0, 0, number, number, b"%d" % number)


def delivered(effects: list[Effect]) -> list[int]:
    return [effect.seqno for effect in effects if isinstance(effect, Deliver)]


def test_a_recovered_host_has_what_it_had_and_can_send_it_again() -> None:
    site = a_site()
    for number in (0, 1, 3):
        receive(site, 0, data(number))
    restart(site)
    stream = stream_of(site, 0)
    assert stream.received.values() == [0, 1, 3]
    assert stream.height == 4
    assert {number: kept.payload for number, kept in stream.kept.items()} == {0: b"0", 1: b"1", 3: b"3"}
    assert delivered(receive(site, 0, data(1))) == []
    assert delivered(receive(site, 0, data(2))) == [2]


def test_a_recovered_host_asks_only_for_what_it_lacks(tmp_path: Path) -> None:
    run = Run(
        scenario(
            tmp_path,
            sites=3,
            duration_us=60_000_000,
            workload={"messages": 200, "every_us": 10_000, "senders": ["a"]},
            network={"model": "lan", "delay_us": 500},
            faults=[{"at_us": 500_000, "crash": ["c"]}, {"at_us": 1_500_000, "recover": ["c"]}],
        )
    )
    run.until(1_499_999)
    lacking = run.lacking()
    assert 90 <= lacking <= 110
    run.until(3_000_000)
    again = [noted for noted in run.sent("data", 1_500_000) if noted.targets == [2]]
    missed = {noted.message.number for noted in again if isinstance(noted.message, Data)}
    assert len(again) == len(missed) == lacking  # each once, and none that it had
    assert run.lacking() == 0


def test_own_numbers_are_never_used_again_over_crashes() -> None:
    site = a_site(0)
    numbers = []
    for life in range(3):
        for count in range(2):
            broadcast(site, b"%d %d" % (life, count))
            numbers.append(site.accepted)
        restart(site)
    assert numbers == list(range(6))
    assert stream_of(site, 0).height == 6


def test_a_recovered_source_says_at_once_how_far_it_is() -> None:
    site = a_site(0)
    broadcast(site, b"x")
    told = [effect.message for effect in restart(site) if isinstance(effect, Multicast)]
    assert told == [Null((Progress(0, 1, 0, 0),))]


@pytest.mark.parametrize("order", ["none", "fifo"])
def test_checkpoints_fold_records_and_lose_nothing(order: str) -> None:
    site = a_site(order=order)
    count = 4 * RECORDS_MAX  # a trim lags a checkpoint behind
    arrivals = [number ^ 1 for number in range(count)]  # 1, 0, 3, 2, …
    seen: list[int] = []
    folded = 0
    for place, number in enumerate(arrivals):
        effects = receive(site, 0, data(number))
        if place % 64 == 63:  # everybody has all but the last fifty: they need not be kept
            stable = max(0, stream_of(site, 0).prefix() - 50)
            effects += receive(site, 0, Null((Progress(0, number + 2, stable, 0),)))
        folded += sum(isinstance(effect, Checkpoint) for effect in effects)
        seen += delivered(effects)
        if place % 1500 == 1499:
            restart(site)
    assert folded > 0
    assert isinstance(site.disk.records[0], Summary)
    assert len(site.disk.records) < RECORDS_MAX + 300
    assert seen == (list(range(count)) if order == "fifo" else arrivals)
    assert site.disk.first(0) > 0  # the log was trimmed …
    kept = {number: message.payload for number, message in stream_of(site, 0).kept.items()}
    assert set(kept) >= set(range(count - 50, count))
    restart(site)
    assert stream_of(site, 0).received.values() == list(range(count))
    again = {number: message.payload for number, message in stream_of(site, 0).kept.items()}
    assert {number: again[number] for number in kept} == kept  # … not too far: at worst too much is kept
    assert delivered(receive(site, 0, data(0))) == []


def test_what_everybody_has_is_dropped_by_source_and_hosts() -> None:
    source = a_site(0)
    for number in range(4):
        broadcast(source, b"%d" % number)
    receive(source, 1, Have((Prefix(0, 3),)))
    assert stream_of(source, 0).stable == 0  # host 2 has said nothing
    receive(source, 2, Have((Prefix(0, 2),)))
    assert stream_of(source, 0).stable == 2
    assert sorted(stream_of(source, 0).kept) == [2, 3]
    host = a_site(1)
    for number in range(4):
        receive(host, 0, data(number))
    receive(host, 0, Null((Progress(0, 4, 2, 2),)))
    assert sorted(stream_of(host, 0).kept) == [2, 3]


@pytest.mark.parametrize("order", ["none", "fifo"])
def test_who_was_away_too_long_is_told_what_it_missed_and_goes_on(order: str) -> None:
    site = a_site(order=order)
    receive(site, 0, data(0))
    receive(site, 0, data(4))
    effects = receive(site, 0, Null((Progress(0, 9, 0, 6),)))  # the source has 6, 7 and 8 only
    missed = [(effect.first, effect.count) for effect in effects if isinstance(effect, Missed)]
    assert missed == [(1, 3), (5, 1)]
    assert delivered(effects) == ([4] if order == "fifo" else [])
    assert stream_of(site, 0).prefix() == 6
    assert delivered(receive(site, 0, data(6))) == [6]
    assert delivered(receive(site, 0, data(2))) == []  # too late: the application has been told
    restart(site)
    assert stream_of(site, 0).prefix() == 7
    assert not [effect for effect in receive(site, 0, Null((Progress(0, 9, 0, 6),))) if isinstance(effect, Missed)]


def test_a_host_away_longer_than_the_log_in_a_whole_run(tmp_path: Path) -> None:
    run = Run(
        scenario(
            tmp_path,
            sites=4,
            duration_us=60_000_000,
            options={"retain": 20, "order": "fifo"},
            workload={"messages": 100, "every_us": 20_000, "senders": ["a"]},
            network={"model": "lan", "delay_us": 500},
            faults=[{"at_us": 500_000, "partition": [["a", "b"], ["c", "d"]]}, {"at_us": 1_700_000, "heal": True}],
        )
    ).until(5_000_000)
    tally = run.simulation.world.tally
    assert run.lacking() == 0
    assert tally.missed > 0
    assert tally.missed % 2 == 0  # c and d missed the same
    assert tally.deliveries + tally.missed == 400
    assert run.simulation.world.all_quiet()


def test_messages_for_a_group_of_others_are_kept_by_their_source() -> None:
    site = a_site(0, groups=[[0, 1], [1, 2]])
    broadcast(site, b"mine", 0)
    effects = broadcast(site, b"theirs", 1)
    assert delivered(effects) == []
    assert [effect.record for effect in effects if isinstance(effect, Persist)] == [Held(1, 0, 0, 1, b"theirs")]
    restart(site)
    assert stream_of(site, 0, 1).kept[0].payload == b"theirs"
    broadcast(site, b"next", 1)
    assert site.accepted == 2
    assert stream_of(site, 0, 1).height == 2


def test_changing_to_unordered_delivery_delivers_what_waited() -> None:
    site = a_site(order="fifo")
    assert delivered(receive(site, 0, data(2))) == []
    site._options = decode_config({"measure_periods": 0}, PROTOCOL.options, "test")
    assert delivered(restart(site)) == [2]


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("records_max", [8, RECORDS_MAX])
def test_the_edge_of_a_gap_is_known_when_it_is_no_longer_kept(restarts: bool, records_max: int) -> None:
    """Numbers of other groups lie between those of a stream: what is missed is told from the right one on."""
    site = a_site(groups=[[0, 1, 2], [0, 1]], retain=4, records_max=records_max)
    for number in (0, 1, 2, *range(4, 20)):
        receive(site, 0, Data(0, 0, number, 10 * number, b""))
    assert 2 not in stream_of(site, 0).kept
    if restarts:
        restart(site)
    effects = receive(site, 0, Null((Progress(0, 20, 0, 16),)))
    assert [(effect.first, effect.count) for effect in effects if isinstance(effect, Missed)] == [(21, 1)]
    assert list(stream_of(site, 0).edges) == []
