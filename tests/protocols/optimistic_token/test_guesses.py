"""Guesses alone: what the application sees when they were right, wrong, or become guesses again."""

from tests.protocols.recording import Recording
from tocsin.core.message import RECORDS_MAX
from tocsin.core.records import Records
from tocsin.protocols.baselines.optimistic_token.guesses import Guesses
from tocsin.protocols.baselines.optimistic_token.messages import Tentative
from tocsin.protocols.baselines.sequencer.application import Application
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.messages import Appended, Item, Truncated
from tocsin.sim.disk import Disk


def item(origin: int, seqno: int, term: int = 0) -> Item:
    return Item(term, 0, origin, seqno, b"")


def fresh() -> tuple[Guesses, Log, Recording]:
    outbox = Recording()
    records = Records(outbox, RECORDS_MAX)
    log = Log(3, 1, 16, 64, records)
    return Guesses(3, records, log, Application(0, [[0, 1, 2]], Disk(1), outbox)), log, outbox


def guessed(*items: Item) -> tuple[Guesses, Log, Recording]:
    """Each is submitted, and guessed as it comes."""
    guesses, log, outbox = fresh()
    for each in items:
        log.submissions.add(log.order, each)
        guesses.guess_waiting(each.origin)
    assert [said for said in outbox.heard() if "deliver" in said] == [f"deliver {i.origin}:{i.seqno}" for i in items]
    return guesses, log, outbox


def test_a_right_guess_is_not_delivered_again() -> None:
    guesses, _, outbox = guessed(item(1, 0), item(2, 0))
    guesses.append(item(1, 0, 1))
    guesses.deliver_again()
    assert outbox.heard() == ["persist Appended"] and guesses.items == [item(2, 0)]


def test_wrong_guesses_are_taken_back_newest_first_and_follow_the_order() -> None:
    guesses, _, outbox = guessed(item(1, 0), item(2, 0), item(1, 1))
    guesses.append(item(2, 0, 1))
    guesses.deliver_again()
    taken_back = ["rollback 1:1", "rollback 2:0", "rollback 1:0"]
    assert outbox.heard() == [*taken_back, "persist Appended", "deliver 2:0", "deliver 1:0", "deliver 1:1"]


def test_what_loses_its_place_is_the_first_guess_and_the_application_hears_nothing() -> None:
    guesses, log, outbox = guessed(item(1, 0), item(2, 0))
    guesses.append(item(1, 0, 1))
    outbox.heard()
    guesses.truncate(0)
    guesses.deliver_again()
    assert outbox.heard() == ["persist Truncated"]
    assert guesses.items == [item(1, 0, 1), item(2, 0)] and (1, 0) in log.submissions.waiting


def test_a_restart_finds_the_same_guesses() -> None:
    guesses, log, _ = fresh()
    for record in (Tentative(item(1, 0)), Tentative(item(2, 0)), Appended(item(1, 0, 1)), Truncated(0)):
        guesses.recall(record)
    assert guesses.items == [item(1, 0, 1), item(2, 0)] and log.end() == 0
    assert guesses.records() == [Tentative(each) for each in guesses.items]
