"""Section 6: what recovery costs, link by link, beside the basic algorithm (`ack_all` with a message to each host)."""

from pathlib import Path

import pytest

from papers.kogan.experiments.recovery import Repair
from papers.kogan.experiments.runs import DELAY_US, PARTED_US, TREE_KINDS, bridge_fails, repaired_us, two_sides
from tests.protocols.coordinator_tree.runs import FIGURE_2_1, Run, scenario
from tocsin.core.message import Message
from tocsin.protocols.coordinator_tree.messages import Data

NETWORK = {"model": "switched", "delay_us": DELAY_US}


def check_repair(folder: Path, hosts: int, messages: int) -> None:
    run = Run(scenario(folder, two_sides(hosts), network=NETWORK, **bridge_fails(messages)), link="bridge")
    run.until(repaired_us(messages) - 1)
    far = [f"k{number}" for number in range(hosts)]
    before = dict(run.network.crossed)
    # During the partition: the source sends each message once and never again, and one host of the far side probes.
    assert len(run.sent("data", by="h1")) == messages + 1
    assert len(run.sent("data")) == messages + 1
    formed = PARTED_US + 1_500_000
    assert {noted.source for noted in run.sent("probe", formed)} == {run.names.index(run.probers(far, "h1")[0])}
    # After the repair: every missed message crosses the bridge once.
    run.until_quiet()
    assert run.lacking() == 0
    after = {kind: count - before.get(kind, 0) for kind, count in run.network.crossed.items()}
    assert after["data"] == messages
    control = sum(after.get(kind, 0) for kind in TREE_KINDS)
    assert control <= 8 * hosts + 20  # a few rounds of announcement and report; no term for the messages
    basic = Repair(protocol="ack_all", hosts=hosts, messages=messages).measure(0)
    assert basic["lacking"] == 0
    assert basic["data"] >= hosts * messages


@pytest.mark.parametrize(("hosts", "messages"), [(1, 30), (5, 20), (20, 30)])
def test_a_repaired_link_carries_each_missed_message_once(tmp_path: Path, hosts: int, messages: int) -> None:
    check_repair(tmp_path, hosts, messages)


@pytest.mark.long
@pytest.mark.parametrize(("hosts", "messages"), [(50, 100), (10, 1_000), (50, 1_000)])
def test_a_repaired_link_carries_each_missed_message_once_at_full_size(
    tmp_path: Path, hosts: int, messages: int
) -> None:
    check_repair(tmp_path, hosts, messages)


@pytest.mark.parametrize(
    ("options", "most", "growth"),
    [
        ({"relays": False}, 1_000, 1.03),  # the paper's network, which finds its ways by itself: 684 and 704
        ({}, 3_000, 1.1),  # 777 and 825: descriptions while the bridge is down; 300 times as much data
    ],
)
def test_control_traffic_does_not_depend_on_the_number_of_messages(
    tmp_path: Path, options: dict[str, bool], most: int, growth: float
) -> None:
    counts = []
    for messages in (10, most):
        run = Run(
            scenario(
                tmp_path,
                two_sides(5),
                duration_us=20_000_000,
                workload={"messages": messages, "every_us": 10_000_000 // messages, "senders": ["h1"]},
                network=NETWORK,
                options=options,
                faults=[{"at_us": 3_000_000, "fail": ["bridge"]}, {"at_us": 6_000_000, "repair": ["bridge"]}],
            )
        ).until(20_000_000)
        assert run.lacking() == 0
        counts.append(sum(noted.kind != "data" for noted in run.network.noted))
    few, many = counts
    assert many <= growth * few  # a source that speaks has less reason for null messages; the tree costs the same


def test_a_transient_loss_is_repaired_by_a_near_host(tmp_path: Path) -> None:
    """h5 misses one message; the nearest host of its list, h3 behind the same switch, sends it, and only it."""
    run = Run(
        scenario(
            tmp_path,
            FIGURE_2_1,
            duration_us=20_000_000,
            workload={"messages": 10, "every_us": 10_000, "senders": ["h1"]},
            network={"model": "switched", "delay_us": 200},
        ),
        link="l6",
    )
    h5 = run.names.index("h5")

    def loses(source: int, target: int, message: Message) -> bool:
        return target == h5 and source == 0 and isinstance(message, Data) and message.number == 4

    run.network.loses = loses
    run.until(3_000_000)
    assert run.lacking() == 0
    assert len(run.sent("data", by="h1")) == 10  # the source was not disturbed
    again = [noted for noted in run.sent("data") if noted.source != 0]
    assert [(run.names[noted.source], noted.targets) for noted in again] == [("h3", [h5])]
    asked = run.sent("probe") + run.sent("answer") + run.sent("desc") + run.sent("coordinator")
    assert {run.names[noted.source] for noted in asked} == {"h3", "h5"}
    assert run.network.crossed["data"] == 10  # nothing more crossed the expensive link


def test_epidemic_one_host_of_the_partition_is_enough(tmp_path: Path) -> None:
    """Section 3: the source's server fails when a message has reached h2 only; all of them get it from h2."""
    run = Run(
        scenario(
            tmp_path,
            FIGURE_2_1,
            duration_us=60_000_000,
            workload={"messages": 3, "every_us": 1_000, "senders": ["h1"]},
            network={"model": "switched", "delay_us": 200},
            faults=[{"at_us": 6_000, "fail": ["l1"]}],
        )
    )
    reached = {0: "h5", 1: "h4", 2: "h2"}  # each message reaches another host, and only that one

    def loses(source: int, target: int, message: Message) -> bool:
        return source == 0 and isinstance(message, Data) and run.names[target] != reached[message.number]

    run.network.loses = loses
    run.until(6_000)
    assert run.machine("h3").stream(0, 0) is None
    assert {host: run.stream(host, "h1").received.values() for host in reached.values()} == {
        "h5": [0],
        "h4": [1],
        "h2": [2],
    }
    run.until(5_000_000)  # the source is still away
    assert run.lacking() == 0
    assert len(run.sent("data", by="h1")) == 3


def test_a_host_that_never_heard_of_the_source_gets_its_messages_in_the_partition(tmp_path: Path) -> None:
    """The tidings of a coordinator: h5 knows nothing of h1, and h2 has its only message."""
    run = Run(
        scenario(
            tmp_path,
            FIGURE_2_1,
            duration_us=60_000_000,
            workload={"messages": 1, "every_us": 1, "senders": ["h1"]},
            network={"model": "switched", "delay_us": 200},
            faults=[{"at_us": 1_000, "fail": ["l1"]}],
        )
    )
    run.network.loses = lambda source, target, message: source == 0 and run.names[target] != "h2"
    run.until(100_000)
    assert run.machine("h5").stream(0, 0) is None
    run.until(5_000_000)
    assert run.lacking() == 0
    assert run.sent("tidings")
