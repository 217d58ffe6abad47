"""The parts that protocols share: own numbers, sending again, what was received, records and when they are folded."""

from tests.protocols.recording import Recording
from tocsin.core.data import Data, Sent
from tocsin.core.message import RECORDS_MAX
from tocsin.core.own_messages import RESEND, OwnNumbers, Resending
from tocsin.core.received import ReceivedNumbers
from tocsin.core.records import EVERYTHING, Records


def test_numbers_go_on_after_a_checkpoint_and_the_records_that_follow_it() -> None:
    numbers = OwnNumbers()
    assert [numbers.take(), numbers.take(), numbers.take()] == [0, 1, 2]
    back = OwnNumbers()
    back.resume(7)
    back.recall(3)  # still outstanding at the checkpoint: an older number
    assert back.take() == 7
    back.recall(9)
    assert back.take() == 10


def test_messages_are_sent_again_only_to_those_who_owe_an_acknowledgement() -> None:
    outbox = Recording()
    own: Resending[Data] = Resending(outbox, 20)
    data = Data(0, 0, 5, b"x")
    own.add(5, data, [1, 2])
    own.arm(0, 5)
    assert not own.acknowledge(5, 1)
    assert not own.acknowledge(5, 1), "twice is once"
    own.send_again(20, 5)
    assert outbox.said == [f"set {RESEND} 5 at 20", "send 2 Data", f"set {RESEND} 5 at 40"]
    assert own.acknowledge(5, 2), "the last one"
    assert not own.outstanding and outbox.said[-1] == f"cancel {RESEND} 5"
    own.send_again(40, 5)
    assert outbox.said[-1] == f"cancel {RESEND} 5", "nobody waits for it any more"


def test_what_was_received_survives_a_checkpoint() -> None:
    received = ReceivedNumbers()
    for seqno in (0, 1, 5):
        received.add(3, seqno)
    received.add(1, 2)
    back = ReceivedNumbers()
    for origin, ranges in received.all_ranges():
        back.recall(origin, ranges)
    assert back.has(3, 5) and back.has(1, 2) and not back.has(3, 2) and not back.has(0, 0)
    assert back.all_ranges() == received.all_ranges()
    assert received.ranges(0) == ()


def test_records_are_folded_once_they_are_many_beside_what_is_needed() -> None:
    outbox = Recording()
    records = Records(outbox, RECORDS_MAX)
    records.recall([Sent(0, 0, b"")] * (RECORDS_MAX - 1))
    assert not records.are_many(0)
    records.persist(Sent(0, 1, b""))
    assert records.are_many(0) and not records.are_many(1)
    records.fold([Sent(0, 1, b"")])
    records.release_log(2)
    assert not records.are_many(0)
    assert outbox.said == ["persist Sent", "checkpoint 1", f"trim 0 {EVERYTHING}", f"trim 1 {EVERYTHING}"]
