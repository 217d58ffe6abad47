"""The objects of the recipes, each alone: what holds after any sequence of calls and ends of lives."""

import copy

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.core.errors import InputError
from tocsin.state.recipes.lock_state import Claim, LockState
from tocsin.state.recipes.map_state import MapState
from tocsin.state.recipes.objects import KINDS, Objects, decode_answer, encode_call
from tocsin.state.recipes.queue_state import QueueState
from tocsin.state.states import Caller, LivesState

SITES = st.sampled_from("abc")
STEPS = st.lists(
    st.tuples(st.sampled_from(["call", "call", "call", "end", "gone"]), SITES, st.integers(0, 9)), max_size=60
)


class Lives:
    """Calls with growing positions, by sites in lives that end."""

    def __init__(self) -> None:
        self.lives = {"a": 1, "b": 1, "c": 1}
        self.position = 0

    def caller(self, site: str) -> Caller:
        self.position += 1
        return Caller(site, self.lives[site], self.position, 0)

    def end(self, site: str) -> tuple[str, int]:
        self.lives[site] += 1
        return site, self.lives[site] - 1


@given(STEPS)
@settings(deadline=None)
def test_a_lock_has_one_holder_in_turn_and_tokens_grow(steps: list[tuple[str, str, int]]) -> None:
    lock, lives = LockState(), Lives()
    tickets: list[int] = []
    holders: list[Claim] = []
    for kind, site, number in steps:
        token, holder = lock.token, lock.holder
        if kind == "call":
            ticket = lock.apply("acquire", [], lives.caller(site))
            assert isinstance(ticket, int)
            tickets.append(ticket)
        elif kind == "end" and tickets:
            lock.apply("release", [tickets[number % len(tickets)]], lives.caller(site))
        elif kind == "gone":
            lock.on_gone(*lives.end(site))
        if lock.holder is not None and lock.holder != holder:
            holders.append(lock.holder)
            assert lock.token == token + 1
        else:
            assert lock.token == token
        assert lock.holder is not None or not lock.waiting
        for claim in [lock.holder, *lock.waiting]:
            assert claim is None or claim.life == lives.lives[claim.site], "a life that has ended still has something"
    assert [claim.ticket for claim in holders] == sorted({claim.ticket for claim in holders}), "in turn, each once"


def test_only_its_own_site_releases_a_lock() -> None:
    lock, lives = LockState(), Lives()
    ticket = lock.apply("acquire", [], lives.caller("a"))
    assert lock.apply("release", [ticket], lives.caller("b")) is False and lock.knows(1)
    assert lock.apply("release", [ticket], lives.caller("a")) is True and not lock.knows(1)
    assert lock.apply("release", [ticket], lives.caller("a")) is False


@given(STEPS)
@settings(deadline=None)
def test_every_item_is_free_taken_or_done(steps: list[tuple[str, str, int]]) -> None:
    queue, lives = QueueState(), Lives()
    put: set[int] = set()
    done: set[int] = set()
    for kind, site, number in steps:
        if kind == "call" and number < 5:
            item = queue.apply("put", [b"x"], lives.caller(site))
            assert isinstance(item, int)
            put.add(item)
        elif kind == "call":
            queue.apply("take", [], lives.caller(site))
        elif kind == "end" and queue.taken:
            item, taken = sorted(queue.taken.items())[number % len(queue.taken)]
            if number % 3 == 0:
                queue.apply("give_up", [taken.ticket], lives.caller(taken.site))
            elif queue.apply("done", [item, taken.ticket], lives.caller(site)):
                assert site == taken.site
                done.add(item)
        elif kind == "gone":
            queue.on_gone(*lives.end(site))
        assert set(queue.free) | set(queue.taken) | done == put
        assert not set(queue.free) & set(queue.taken) and not done & set(queue.items)
        assert queue.free == sorted(queue.free) and not (queue.free and queue.waiting)
        for taken in [*queue.taken.values(), *queue.waiting]:
            assert taken.life == lives.lives[taken.site]


OPERATIONS = st.one_of(
    st.tuples(st.just("map"), st.just("set"), st.tuples(st.binary(max_size=1), st.binary(max_size=1))),
    st.tuples(st.just("map"), st.just("delete"), st.tuples(st.binary(max_size=1))),
    st.tuples(
        st.just("map"),
        st.just("compare_and_set"),
        st.tuples(st.binary(max_size=1), st.none() | st.binary(max_size=1), st.none() | st.binary(max_size=1)),
    ),
    st.tuples(st.sampled_from(["lock", "leader"]), st.sampled_from(["acquire", "release"]), st.just(())),
    st.tuples(st.just("queue"), st.sampled_from(["put", "take"]), st.tuples(st.binary(max_size=1))),
    st.tuples(st.just("counter"), st.just("add"), st.tuples(st.integers(-3, 3))),
    st.tuples(st.sampled_from([*KINDS, "?"]), st.sampled_from(["?", "add", "put"]), st.just((None, 1.5))),
)


@given(st.lists(st.tuples(OPERATIONS, SITES, st.sampled_from(["x", "y"]))), st.integers(0, 20))
@settings(deadline=None)
def test_a_snapshot_at_any_time_changes_nothing(
    calls: list[tuple[tuple[str, str, tuple[object, ...]], str, str]], at: int
) -> None:
    """The same answers and the same bytes as without; and what cannot be done is refused alike."""
    objects, other, lives = Objects(), Objects(), Lives()
    assert isinstance(objects, LivesState)
    for number, ((kind, operation, arguments), site, name) in enumerate(calls):
        if number == at:
            fresh = Objects()
            fresh.get("map", "only looked at")
            fresh.restore(other.snapshot())
            other = fresh
        caller = lives.caller(site)
        answers = []
        for each in (objects, other):
            try:
                answers.append(repr(each.apply_from(encode_call(kind, name, operation, *arguments), caller)))
            except Exception as error:
                answers.append(repr(error))
        assert answers[0] == answers[1]
        if number % 7 == 6:
            gone = lives.end(site)
            objects.on_gone(*gone, lives.position)
            other.on_gone(*gone, lives.position)
        assert objects.snapshot() == other.snapshot()


def test_objects_are_told_of_what_a_snapshot_changes() -> None:
    objects, before = Objects(), Objects()
    news: list[tuple[bytes, bytes | None]] = []
    prices = objects.get("map", "prices")
    assert isinstance(prices, MapState)
    prices.listeners.add(news.append)
    caller = Caller("a", 1, 1, 0)
    for key, value in ((b"k", b"1"), (b"l", b"2")):
        objects.apply_from(encode_call("map", "prices", "set", key, value), caller)
    before.apply_from(encode_call("map", "prices", "set", b"k", b"0"), caller)
    objects.restore(before.snapshot())
    assert news == [(b"k", b"1"), (b"l", b"2"), (b"k", b"0"), (b"l", None)]
    assert objects.get("map", "prices") is prices


@pytest.mark.parametrize(
    "command",
    [
        encode_call("map", "m", "set", "text", b"v"),
        encode_call("map", "m", "set", b"k", 1),
        encode_call("queue", "q", "put", 7),
        encode_call("counter", "c", "add", b"1"),
        encode_call("counter", "c", "add", (1 << 63) - 1),
        encode_call("map", "", "set", b"k", b"v"),
        encode_call("tree", "t", "set", b"k", b"v"),
    ],
)
def test_bad_calls_change_nothing(command: bytes) -> None:
    objects = Objects()
    objects.apply_from(encode_call("counter", "c", "add", 1), Caller("a", 1, 0, 0))
    before = copy.deepcopy(objects.snapshot())
    with pytest.raises(InputError):
        objects.apply_from(command, Caller("a", 1, 1, 0))
    assert objects.snapshot() == before
    with pytest.raises(msgspec.MsgspecError):
        objects.apply_from(b"\x93", Caller("a", 1, 2, 0))


def test_a_counter_counts() -> None:
    objects = Objects()
    answers = [objects.apply_from(encode_call("counter", "n", "add", each), Caller("a", 1, 0, 0)) for each in (3, -1)]
    assert [decode_answer(each) for each in answers] == [3, 2]
