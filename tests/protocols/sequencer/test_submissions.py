"""What waits to be ordered: bounded, each at its turn, and gone when it has its place."""

from tests.mutation import mutated
from tests.protocols.walks import Walk
from tocsin.protocols.baselines.sequencer import PROTOCOL
from tocsin.protocols.baselines.sequencer.messages import NO_GROUP, Item
from tocsin.protocols.baselines.sequencer.order import Order
from tocsin.protocols.baselines.sequencer.submissions import Submissions
from tocsin.protocols.protocol import Protocol

WINDOW = 4


def message(origin: int, seqno: int) -> Item:
    return Item(0, 0, origin, seqno, b"")


def test_only_the_next_of_an_origin_is_taken() -> None:
    order, submissions = Order(2, 1), Submissions(WINDOW)
    for origin, seqno in ((1, 1), (0, 1), (1, 0)):
        submissions.add(order, message(origin, seqno))
    first = submissions.take(order)
    assert first == message(1, 0)
    assert submissions.take(order) is None  # 0/0 has not come, and 1/0 has no place yet
    order.append(message(1, 0))
    assert submissions.take(order) == message(1, 1)


def test_neither_what_is_ordered_nor_what_is_far_ahead_waits() -> None:
    order, submissions = Order(1, 1), Submissions(WINDOW)
    order.append(message(0, 0))
    for seqno in range(10):
        submissions.add(order, message(0, seqno))
    assert sorted(submissions.waiting) == [(0, seqno) for seqno in range(1, 1 + WINDOW)]


def test_a_new_term_is_no_message_of_its_sequencer() -> None:
    order, submissions = Order(1, 1), Submissions(WINDOW)
    submissions.add(order, message(0, 2))
    submissions.drop(Item(2, NO_GROUP, 0, 2, b""))  # begins term 2
    assert (0, 2) in submissions.waiting


def left_waiting(protocol: Protocol) -> int:
    """What waits at the quiet end of some walks with a moving token; every message has its place then."""
    left = 0
    for seed in range(20):
        walk = Walk(protocol, 3, seed, 4, {"rotate": True})
        walk.run()
        for site in walk.sites:
            machine = site.machine
            left += len(machine._log.submissions.waiting)  # type: ignore[union-attr]
    return left


def test_nothing_waits_when_everything_has_its_place() -> None:
    assert left_waiting(PROTOCOL) == 0
    folder = "tocsin.protocols.baselines.sequencer."
    forgetful = mutated(PROTOCOL, folder + "log", "        self.submissions.drop(item)\n", "")
    assert left_waiting(forgetful) > 0
