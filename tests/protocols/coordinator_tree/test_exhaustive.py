"""Every order of events among a source and two or three hosts: no cycle of coordinators, nothing lost for ever."""

import pytest

from tests.protocols.coordinator_tree.exhaustive import Graph
from tocsin.protocols.coordinator_tree.stream import NIL


def verify(graph: Graph, states_max: int) -> None:
    """Explore everything, then look at every state of a site, and at what can go on for ever."""
    graph.explore(states_max)
    for local in graph.locals:
        # with lists by site number a coordinator has a smaller number: no cycle, at any time, in any order of events
        assert local.coordinator in (NIL, local.site) or local.coordinator < local.site
        assert local.delivered == sum(end - start for start, end in local.received)
    everything = ((0, graph.messages),)
    healed = [
        index
        for index, (locals_, _, done, _, weather) in enumerate(graph.states)
        if weather == 2
        and done == graph.messages
        and any(graph.locals[number].received != everything for number in locals_)
    ]
    assert healed, "nothing was ever missing: this proves nothing"
    assert not graph.lasting(healed)
    verify_partition(graph)


def verify_partition(graph: Graph) -> None:
    """While the partition lasts: one prober in each part without the source, and all of it has the same messages."""
    cut = [i for i, (_, _, done, _, weather) in enumerate(graph.states) if weather == 1 and done == graph.messages]
    lasting = [index for index in graph.lasting(cut) if not graph.states[index][1]]
    assert lasting
    formed = 0
    for index in lasting:
        for part in graph.parts[1:]:
            hosts = [graph.locals[graph.states[index][0][site]] for site in part]
            if any(host.received for host in hosts):
                assert [host.probing for host in hosts].count(True) == 1, index
                assert len({host.received for host in hosts}) == 1, index
                formed += 1
    assert formed, "no tree ever formed: this proves nothing"


def test_two_hosts_one_message_and_a_partition_at_any_moment() -> None:
    verify(Graph([[0], [1, 2]], messages=1, losses=0), 20_000)


def test_two_hosts_two_messages_one_loss_and_a_partition_that_comes_and_goes() -> None:
    verify(Graph([[0], [1, 2]], messages=2, losses=1, scripted=True), 40_000)


def test_three_hosts_two_messages_and_a_partition_that_comes_and_goes() -> None:
    verify(Graph([[0, 1], [2, 3]], messages=2, losses=0, scripted=True), 20_000)


@pytest.mark.long
def test_two_hosts_one_message_one_loss_and_a_partition_at_any_moment() -> None:
    verify(Graph([[0], [1, 2]], messages=1, losses=1), 200_000)


@pytest.mark.long
def test_three_hosts_one_message_and_a_partition_at_any_moment() -> None:
    verify(Graph([[0], [1, 2, 3]], messages=1, losses=0), 400_000)


@pytest.mark.long
@pytest.mark.parametrize("losses", [1, 2, 3])
def test_three_hosts_two_messages_losses_and_a_partition_that_comes_and_goes(losses: int) -> None:
    """With three losses five million states: ten minutes and 3.4 GB."""
    verify(Graph([[0, 1], [2, 3]], messages=2, losses=losses, scripted=True), 8_000_000)
