"""The parts of `totem_ring`, each alone: passing the token, the queue, the store, the exchange."""

from tests.protocols.recording import Recording
from tocsin.core.data import Sent
from tocsin.core.machine import Setup
from tocsin.core.records import Records
from tocsin.core.rng import Rng
from tocsin.protocols.baselines.totem_ring.absence import Absence
from tocsin.protocols.baselines.totem_ring.exchange import Exchange
from tocsin.protocols.baselines.totem_ring.gathering import Gathering
from tocsin.protocols.baselines.totem_ring.messages import Commit, Item, Past, Token
from tocsin.protocols.baselines.totem_ring.options import TotemRingOptions
from tocsin.protocols.baselines.totem_ring.passing import Passing
from tocsin.protocols.baselines.totem_ring.queue import Queue
from tocsin.protocols.baselines.totem_ring.store import Store
from tocsin.sim.disk import Disk

TOKEN = Token(0, 0, 1, 0, 0, -1, (), 0)


def item(origin: int, seqno: int) -> Item:
    return Item(0, origin, seqno, b"")


def test_the_token_is_sent_again_until_there_is_a_sign_of_it() -> None:
    outbox = Recording()
    passing = Passing(20, 400, outbox)
    passing.pass_on(0, 1, TOKEN, 0)
    passing.retry(20)
    assert outbox.heard() == ["send 1 Token", "set RETRY 0 at 20", "send 1 Token", "set RETRY 0 at 40"]
    passing.arrived()
    passing.retry(40)
    assert outbox.heard() == ["cancel RETRY 0"]


def test_who_passes_a_token_on_waits_for_as_long_as_the_others_may_hold_it() -> None:
    outbox = Recording()
    passing = Passing(20, 400, outbox)
    passing.pass_on(0, 1, TOKEN, 30)
    passing.retry(50)
    passing.expect_return(50, 3, 30)
    assert outbox.heard()[1::2] == ["set RETRY 0 at 50", "set RETRY 0 at 100"]
    passing.expect_return(50, 3, 30)
    assert outbox.heard() == [f"set LOST 0 at {50 + 400 + 3 * 4 * (20 + 30)}"]


def test_a_token_may_be_away_the_longer_the_more_members_there_are() -> None:
    outbox = Recording()
    Passing(20, 400, outbox).expect_return(1_000, 3, 0)
    assert outbox.heard() == [f"set LOST 0 at {1_000 + 400 + 3 * 4 * 20}"]


def test_a_queue_after_a_restart_holds_what_had_found_no_place() -> None:
    queue = Queue(0, 0)
    for seqno in range(3):
        queue.recall(Sent(0, seqno, b""))
    queue.recall_placed(item(1, 0))  # another's
    queue.recall_placed(item(0, 0))
    assert queue.waiting == [item(0, 1), item(0, 2)] and queue.numbers.following == 3
    assert queue.take(1) == [item(0, 1)] and queue.records() == [Sent(0, 2, b"")]


def stored(outbox: Recording, safe_only: bool, places: dict[int, int]) -> Store:
    """The store of site 0 of three with a message at each place, by origin."""
    options = TotemRingOptions(delivery="safe" if safe_only else "agreed")
    setup = Setup(0, 3, [0, 1, 2], [[0, 1, 2]], options, Rng(0), Disk(1), None)
    records = Records(outbox, options.records_max)
    store = Store(setup, options, records, Absence(setup, options.join_us, records, outbox), outbox)
    for place, origin in places.items():
        store.store(place, item(origin, place))
    outbox.heard()
    return store


def test_agreed_delivery_stops_at_a_gap_and_safe_delivery_at_what_is_safe() -> None:
    outbox = Recording()
    places = {0: 1, 1: 2, 3: 1}
    stored(outbox, False, places).deliver_ready()
    assert outbox.heard() == ["deliver 1:0", "deliver 2:1", "persist Delivered"]
    store = stored(outbox, True, places)
    store.ring.note_safe(1)
    store.deliver_ready()
    assert outbox.heard() == ["deliver 1:0", "persist Delivered"]


def test_beyond_a_gap_only_what_companions_sent_is_delivered() -> None:
    outbox = Recording()
    stored(outbox, True, {0: 2, 2: 1, 3: 2}).deliver_rest([0, 1])
    assert outbox.heard() == ["deliver 2:0", "deliver 1:2"]


def test_a_new_ring_has_a_larger_number_than_any_that_was_heard_of() -> None:
    outbox = Recording()
    store = stored(outbox, True, {})
    store.hear_of(7)
    assert store.propose_ring() == 8 and store.propose_ring() == 10
    assert outbox.heard() == ["persist Seen"] * 2


def test_each_place_that_is_lacking_is_wanted_from_one_companion() -> None:
    outbox = Recording()
    store = stored(outbox, True, {0: 1})
    exchange = Exchange(0, store, outbox)
    pasts = (exchange.past(), Past(0, 0, 0, (0, 2)), Past(0, 0, 0, (0, 2)))
    commit = Commit(2, 0, (0, 1, 2), 1, pasts)
    assert list(exchange.lacking(commit).ranges()) == [(1, 2)]
    exchange.send_wants(commit)
    assert outbox.heard() == ["send 1 Want"]


def test_who_does_not_want_us_or_is_silent_is_given_up_in_time_and_not_before() -> None:
    gathering = Gathering(0, [1, 2])
    assert not gathering.hear(1, [0, 1], [0]) and gathering.alive() == [0, 1, 2]  # it may have changed its mind
    assert not gathering.is_agreed() and gathering.give_up_silent()
    assert gathering.alive() == [0] and gathering.is_agreed()
