"""Parts of a site, each alone: what they own, and what they say."""

from tests.protocols.test_rival_hostile import Deaf
from tocsin.core.machine import Setup
from tocsin.core.message import RECORDS_MAX, Message
from tocsin.core.records import Records
from tocsin.core.rng import Rng
from tocsin.protocols.propagation_graph.asked import AskedChanges
from tocsin.protocols.propagation_graph.ballots import GraphBallots
from tocsin.protocols.propagation_graph.decided import DECISIONS_SENT_MAX, DecidedGraphs
from tocsin.protocols.propagation_graph.detector import Detector
from tocsin.protocols.propagation_graph.graph import AS_FOUND
from tocsin.protocols.propagation_graph.graphs import Graphs
from tocsin.protocols.propagation_graph.held import HELD_MAX, Held
from tocsin.protocols.propagation_graph.in_edge import InEdge
from tocsin.protocols.propagation_graph.manager import FAST, PLANS_MAX, Manager
from tocsin.protocols.propagation_graph.messages import (
    Accept,
    Accepted,
    Change,
    Decided,
    Decision,
    Heard,
    Hello,
    Prepare,
    Report,
    Wish,
)
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions
from tocsin.protocols.propagation_graph.outlets import Outlets
from tocsin.protocols.propagation_graph.places import SourcePlaces
from tocsin.protocols.propagation_graph.records import Counted, Passed, Promised, Voted
from tocsin.protocols.propagation_graph.standing import Standing
from tocsin.protocols.propagation_graph.successor import ends_tree, first_decision, successor
from tocsin.protocols.propagation_graph.wishes import Wishes

CHAIN = [[0, 1, 2], [1, 2]]  # 1 is above 0 and 2
OPTIONS = PropagationGraphOptions(suspect_after=2, resend_us=10, grace_us=100)


class Recorder(Deaf):
    """An outbox that keeps what is said and when timers are due."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[int, Message]] = []
        self.due: dict[tuple[str, int], int] = {}
        self.kept: list[object] = []

    def send(self, target: int, message: Message) -> None:  # type: ignore[override]
        self.sent.append((target, message))

    def multicast(self, targets: list[int], message: Message) -> None:  # type: ignore[override]
        self.sent.extend([(target, message) for target in targets])

    def set_timer(self, timer: str, key: int, deadline: int) -> None:
        self.due[(timer, key)] = deadline

    def persist(self, record: object) -> None:
        self.kept.append(record)


def site(number: int, outbox: Recorder, groups: list[list[int]] | None = None) -> tuple[Setup, Graphs]:
    setup = Setup(number, 3, [0, 1, 2], groups or CHAIN, OPTIONS, Rng(0), outbox.disk, None)
    return setup, Graphs(setup, OPTIONS)


def passed(place: int) -> Passed:
    return Passed(0, False, 0, 2, place, place, place, (place,), b"")


def test_places_go_back_and_are_counted() -> None:
    places = SourcePlaces(1)
    places.take(passed(0))
    places.take(passed(1))
    places.settle(passed(0))
    assert (places.following(0, 2), places.final(0, 2)) == (2, 1)
    places.take_back(passed(1))
    assert places.following(0, 2) == 1
    _, graphs = site(1, Recorder(), [[0, 2], [1, 2]])
    before = graphs.present.graph
    joined = successor(graphs.decision(), [(0, 1, 2), (1, 2)], {}, 0, 3, AS_FOUND, {})
    places.join(before, graphs.graph_of(joined))
    assert places.uncounted() == [0] and places.joined_in(0) == 1
    places.on_counted(Counted(0, ((2, 5), (0, 3))))
    assert places.is_counted(0) and places.of_group(0) == [(0, 3), (2, 5)]


def test_the_parents_edge_believes_no_more_than_has_come() -> None:
    edge = InEdge(0)
    for index in (0, 2, 3):  # the site ordered something itself in between
        edge.put(index)
    edge.hear_stable(4)
    assert edge.stable == 0
    edge.hear_stable(2)
    assert edge.first_unstable(4) == 3 and edge.settled(3) == 2
    edge.forget(3)
    assert (edge.floor, edge.following()) == (2, 3)
    assert edge.has_news(2)
    edge.acknowledge(2)
    assert not edge.has_news(2) and not edge.owes_ack


def test_what_is_held_has_a_limit() -> None:
    held = Held()
    for number in range(HELD_MAX + 1):
        held.put(0, Hello(number))
    assert len(held.take_all()) == HELD_MAX and held.is_empty()


def managing(number: int, outbox: Recorder) -> tuple[Graphs, Manager]:
    setup, graphs = site(number, outbox)
    return graphs, Manager(setup, OPTIONS, graphs, Records(outbox, RECORDS_MAX), outbox)


def learn(graphs: Graphs, manager: Manager, decision: Decision) -> Decision | None:
    graphs.learn(decision)
    return manager.on_newest(0, decision)


def test_the_manager_decides_with_a_majority_and_tells_all_until_they_have_heard() -> None:
    outbox = Recorder()
    graphs, manager = managing(0, outbox)
    assert manager.note_change(0, 2, Change(0, 1, (0, 1))) is None  # nobody has voted but itself
    assert [type(message) for _, message in outbox.sent] == [Accept, Accept]
    decision = manager.on_accepted(2, Accepted(1, FAST))
    assert decision is not None and decision.groups == ((0, 1, 2), (0, 1)) and decision.applied == ((2, 1),)
    assert (decision.since, decision.concerned, decision.by) == ((1, 1), (1,), 0)  # 1 was the only root
    outbox.sent.clear()
    learn(graphs, manager, decision)
    assert outbox.sent == [(1, Decided(decision)), (2, Decided(decision))]
    assert manager.note_change(0, 2, Change(0, 1, (0, 1))) is None  # it is in already, and the asker is told
    assert outbox.sent[2:] == [(2, Decided(decision))]
    manager.on_heard(0, 1, Heard(1, 0))
    assert not manager.is_settled()
    manager.on_heard(0, 2, Heard(1, 0))
    assert manager.is_settled()


def test_what_a_root_may_not_have_opened_comes_with_the_next_graphs_and_has_a_limit() -> None:
    outbox = Recorder()
    graphs, manager = managing(0, outbox)

    def change(number: int) -> Decision | None:
        manager.note_change(0, 2, Change(number, 1, (0, 1) if number % 2 == 0 else (1, 2)))
        return manager.on_accepted(2, Accepted(number + 1, FAST))

    for number in range(PLANS_MAX):
        decision = change(number)
        assert decision is not None
        assert [older.number for older in decision.pending] == list(range(1, number + 1))
        learn(graphs, manager, decision)
    assert change(PLANS_MAX) is None  # 1 has too many to open
    manager.on_heard(0, 1, Heard(PLANS_MAX, PLANS_MAX - 1))
    last = manager.on_accepted(2, Accepted(PLANS_MAX + 1, FAST))
    assert last is not None and not [older for older in last.pending if 1 in older.concerned]


def test_a_backup_manager_asks_for_promises_and_keeps_what_was_voted_for() -> None:
    outbox = Recorder()
    graphs, manager = managing(2, outbox)
    voted = successor(graphs.decision(), [(0, 1), (1, 2)], {0: 1}, 0, 3, graphs.balance, {})
    manager.note_change(0, 2, Change(0, 1, (0, 1)))
    prepare = outbox.sent[0][1]
    assert isinstance(prepare, Prepare) and prepare.number == 1 and prepare.ballot > FAST
    manager.on_report(0, 1, Report(1, prepare.ballot, FAST, (voted,), (), ()))
    assert outbox.sent[-1][1] == Accept(prepare.ballot, voted)
    assert manager.on_accepted(1, Accepted(1, prepare.ballot)) == voted
    outbox.sent.clear()
    learn(graphs, manager, voted)  # 0 made it and may not know; the change that is still wanted is proposed
    assert {type(message) for _, message in outbox.sent} == {Decided, Prepare}


def test_a_tree_that_a_change_does_not_touch_stays() -> None:
    first = first_decision([[0, 1], [2, 3], [4, 5]], 0, True)
    second = successor(first, [(0, 1), (2, 3), (4,)], {0: 1}, 0, 6, AS_FOUND, {})
    assert (second.since, second.concerned) == ((0, 0, 1), (4,))
    assert not ends_tree(second, first, 0) and ends_tree(second, first, 4) and ends_tree(second, first, 5)
    third = successor(second, [(0, 1), (), (4, 5)], {0: 2}, 0, 6, AS_FOUND, {})
    assert third.since == (0, 2, 2) and third.concerned == (2, 4, 5)  # 5 was in no group: nobody is above it
    assert third.knowing == ((0, 0), (3, 2), (5, 2))
    fourth = successor(third, [(0, 1), (0, 3), (4, 5)], {0: 3}, 0, 6, AS_FOUND, {})
    assert fourth.knowing[1] == (3, 2)  # 2 was the last to order messages of the group that is made again


def watching(number: int, outbox: Recorder) -> tuple[Graphs, Detector, Wishes, DecidedGraphs]:
    setup, graphs = site(number, outbox)
    detector = Detector(setup, OPTIONS, graphs, Outlets(setup, OPTIONS, graphs), outbox)
    decided = DecidedGraphs(outbox)
    asked = AskedChanges(number, Records(outbox, RECORDS_MAX))
    standing = Standing(
        setup, graphs, SourcePlaces(number), decided, GraphBallots(setup, Records(outbox, 4096)), outbox
    )
    return graphs, detector, Wishes(setup, OPTIONS, graphs, detector, decided, standing, asked, outbox), decided


def test_silence_is_taken_for_failure_and_a_word_ends_it() -> None:
    _, detector, _, _ = watching(1, Recorder())
    detector.watch(0)
    for _ in range(OPTIONS.suspect_after):
        detector.look()
        detector.hear(0)
    detector.look()
    assert detector.suspects == {2}
    detector.hear(2)
    detector.believe((0, 1, 2, 9))
    assert detector.suspects == {0}  # 2 was just heard, 1 is this site, 9 does not exist


def test_backups_wait_for_their_turn() -> None:
    """Site 2 tells site 0, the manager, of a failed site 1, and takes over when nothing comes."""
    outbox = Recorder()
    graphs, detector, wishes, decided = watching(2, outbox)
    detector.suspects.add(1)
    wishes.consider(0)
    assert outbox.sent == [(0, Wish(0, (1,)))]
    first = outbox.due[("WISH", 0)]
    assert first == OPTIONS.resend_us + (OPTIONS.grace_us + 2 * OPTIONS.resend_us)
    assert wishes.on_timer()
    wishes.wait_for_all(first)
    assert outbox.due[("WISH", 0)] - first > 2 * first  # two turns, and twice as long the second time
    decided.learn(Decision(1, graphs.decision().groups, ()))
    assert not wishes.on_timer()


def test_ballots_are_kept_before_they_are_said() -> None:
    outbox = Recorder()
    setup, _ = site(2, outbox)
    ballots = GraphBallots(setup, Records(outbox, RECORDS_MAX))
    ballots.start_graph(1)
    first = ballots.next_of_own()
    ballots.promise(1, first + 2)  # another site's
    assert ballots.next_of_own() > first + 2 and ballots.next_of_own() % 3 == 2
    decision = Decision(1, ((0, 1, 2),), ())
    ballots.vote(first + 2, decision)
    assert outbox.kept == [Promised(1, first + 2), Voted(first + 2, decision)] == ballots.fold()
    ballots.start_graph(1)  # it is about that one
    assert ballots.fold() != []
    ballots.start_graph(2)
    assert ballots.fold() == []


def test_decided_graphs_are_told_a_few_at_a_time_and_forgotten_when_nobody_is_away() -> None:
    outbox = Recorder()
    decided = DecidedGraphs(outbox)
    for number in range(8):
        decided.note(Decision(number, ((0, 1, 2),), (), (1,)))
    decided.send_after(1, 1)
    assert [message.decision.number for _, message in outbox.sent if isinstance(message, Decided)] == [2, 3, 4, 5]
    assert DECISIONS_SENT_MAX == 4
    decided.on_opened(Decision(8, ((0, 1, 2),), ()))
    assert [decision.number for decision in decided.all()] == [8]
