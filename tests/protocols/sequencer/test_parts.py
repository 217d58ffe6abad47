"""The parts of `sequencer`, each alone: log and deliveries, the token list, votes, patience."""

from tests.protocols.recording import Recording
from tocsin.core.message import RECORDS_MAX
from tocsin.core.records import Records
from tocsin.core.rng import Rng
from tocsin.protocols.baselines.sequencer.application import Application
from tocsin.protocols.baselines.sequencer.contact import BACKOFF_MAX, Contact
from tocsin.protocols.baselines.sequencer.delivery import WhenCommitted, WhenOrdered
from tocsin.protocols.baselines.sequencer.election import Election
from tocsin.protocols.baselines.sequencer.log import Log
from tocsin.protocols.baselines.sequencer.messages import NO_GROUP, Item, Seek
from tocsin.protocols.baselines.sequencer.terms import NOBODY, Terms
from tocsin.protocols.baselines.sequencer.timers import Timers
from tocsin.protocols.baselines.sequencer.token_site import TokenSite
from tocsin.sim.disk import Disk

SITES = 5


class Bench:
    """The parts of site 0 of five, without a machine."""

    def __init__(self, rotate: bool = True) -> None:
        self.outbox = Recording()
        records = Records(self.outbox, RECORDS_MAX)
        self.log = Log(SITES, 1, 16, 64, records)
        self.application = Application(0, [[0, 1, 2, 3, 4], [1]], Disk(2), self.outbox)
        self.terms = Terms(SITES, records)
        timers = Timers(self.outbox)
        peers = [1, 2, 3, 4]
        self.token = TokenSite(0, peers, rotate, self.terms, self.log, timers, self.outbox)
        self.election = Election(0, peers, 100, Rng(1), self.terms, self.log, self.token, timers, self.outbox)


def item(origin: int, seqno: int, term: int = 0) -> Item:
    return Item(term, 0, origin, seqno, b"")


def test_what_has_a_place_is_delivered_and_taken_back_newest_first() -> None:
    bench = Bench()
    delivery = WhenOrdered(bench.log, bench.application)
    for each in (item(1, 0), Item(0, 1, 1, 1, b""), item(2, 0)):  # the second is for site 1 alone
        delivery.append(each)
    assert bench.outbox.heard() == ["persist Appended", "deliver 1:0"] + ["persist Appended"] * 2 + ["deliver 2:0"]
    delivery.truncate(0)
    assert bench.outbox.heard() == ["persist Truncated", "rollback 2:0", "rollback 1:0"]
    delivery.truncate(0)
    assert bench.outbox.heard() == [], "there is nothing more to take back"


def test_what_is_committed_is_delivered_and_never_taken_back() -> None:
    bench = Bench()
    delivery = WhenCommitted(bench.log, bench.application)
    delivery.append(item(1, 0))
    delivery.truncate(0)
    assert bench.outbox.heard() == ["persist Appended", "persist Truncated"]
    delivery.append(item(2, 0))
    delivery.commit(item(2, 0))
    assert bench.outbox.heard() == ["persist Appended", "deliver 2:0"] and delivery.revocable() == []


def test_own_messages_are_done_up_to_the_first_that_is_not_committed() -> None:
    log = Bench().log
    for each in (item(0, 0), item(1, 0), item(0, 1), Item(2, NO_GROUP, 0, 2, b"")):
        log.append(each)
    assert log.committed_seqno(0) == 0
    log.commit(2)
    assert log.committed_seqno(0) == 1
    log.commit(4)
    assert log.committed_seqno(0) == 2


def test_the_token_passes_by_those_who_are_not_on_the_list() -> None:
    token = Bench().token
    token.lead([1, 2])
    assert token.next_site() == 3
    token.give()
    assert (token.here, token.orderer, token.hop) == (False, 3, 1)
    token.note(3, 4, 2, (0,) * SITES, (1, 2))
    token.note(3, 3, 1, (0,) * SITES, (1, 2))  # late
    assert (token.orderer, token.hop) == (4, 2), "an old token changes nothing"


def test_a_token_list_has_a_majority_on_it() -> None:
    token = Bench().token
    assert token.is_sound(4, (1, 2)) and not token.is_sound(4, (1, 2, 3))
    assert not token.is_sound(SITES, ()) and not token.is_sound(0, (SITES,))


def test_after_a_restart_only_a_moving_token_is_refused() -> None:
    for rotate in (False, True):
        token = Bench(rotate).token
        token.bar()
        assert token.barred == rotate


def test_a_vote_is_given_once_in_a_term_and_durable_before_it_is_sent() -> None:
    bench = Bench()
    bench.token.forget_term()
    bench.terms.enter(1, NOBODY)
    bench.outbox.heard()
    for _ in range(2):
        bench.election.on_seek(0, 3, Seek(1, 0, 0))
    assert bench.outbox.heard() == ["persist Termed", "send 3 Vote", "send 3 Vote"]
    bench.election.on_seek(0, 4, Seek(1, 0, 0))
    assert bench.outbox.heard() == []


def test_nobody_follows_a_site_that_is_behind() -> None:
    bench = Bench()
    bench.token.forget_term()
    bench.terms.enter(1, NOBODY)
    bench.log.append(item(1, 0))
    bench.outbox.heard()
    bench.election.on_seek(0, 3, Seek(1, 0, 0))
    assert [said.split()[:2] for said in bench.outbox.heard()] == [["set", "ELECT"]]
    assert bench.terms.voted == NOBODY


def test_questions_in_vain_come_ever_more_slowly_up_to_a_limit() -> None:
    contact = Contact(20, 5)
    assert [contact.count_try() for _ in range(6)] == [False] * 5 + [True]
    assert contact.patience_us() == 20 << BACKOFF_MAX
    contact.answered()
    assert contact.patience_us() == 20
