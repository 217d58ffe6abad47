"""Consumers over made-up histories: whatever was acknowledged, and wherever the log begins, what comes is the rest, in
one order, nothing twice and nothing missing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.core.errors import InputError
from tocsin.live.events import Batch, BatchEvent, Delivery, Event, Missed, View
from tocsin.live.handed import Handed
from tocsin.live.replaying import Replay
from tocsin.live.storage.cursors import Cursor
from tocsin.live.storage.holding import place_of

HISTORIES = st.lists(
    st.sampled_from(["g", "h", "view"]).flatmap(lambda kind: st.tuples(st.just(kind), st.integers(1, 4)))
)


def history(steps: list[tuple[str, int]]) -> list[BatchEvent]:
    positions = {"g": 0, "h": 0}
    events: list[BatchEvent] = []
    for number, (kind, count) in enumerate(steps):
        if kind == "view":
            events.append(View(number, ("a",), True))
        else:
            payloads = [b"%s%d" % (kind.encode(), positions[kind] + index) for index in range(count)]
            events.append(Batch(kind, "a", positions[kind], positions[kind], 0, payloads))
            positions[kind] += count
    return events


def single(events: list[BatchEvent]) -> list[Event]:
    return [each for event in events for each in (event.deliveries() if isinstance(event, Batch) else [event])]


def edge_of(events: list[BatchEvent]) -> dict[str, int]:
    return {event.group: event.position + len(event.payloads) for event in events if isinstance(event, Batch)}


def replayed(
    cursor: Cursor, kept: list[BatchEvent], edge: dict[str, int], begins: dict[str, int] | None = None
) -> list[Event]:
    replay = Replay(place_of(cursor), edge, begins)
    return single([each for event in kept for each in replay.take(event)] + replay.end())


@given(HISTORIES, st.data())
@settings(max_examples=100, deadline=None)
def test_what_comes_after_a_restart_is_what_was_not_acknowledged(
    steps: list[tuple[str, int]], data: st.DataObject
) -> None:
    """Life after life: each acknowledges some of what it was handed, in any grain, and ends."""
    events = history(steps)
    everything = single(events)
    cursor, acknowledged = Cursor(b"", {}), 0
    for _ in range(3):
        coming = replayed(cursor, events, edge_of(events))
        assert coming == everything[acknowledged:]
        handed = Handed(cursor)
        for event in coming:
            handed.hand(event)
        for at in data.draw(st.lists(st.integers(0, len(coming) - 1), max_size=3)) if coming else []:
            cursor = handed.ack(coming[at])
            acknowledged = max(acknowledged, len(everything) - len(coming) + at + 1)
        assert handed.cursor == cursor


@given(HISTORIES, HISTORIES, st.data())
@settings(max_examples=100, deadline=None)
def test_replay_and_live_have_no_seam(
    before: list[tuple[str, int]], after: list[tuple[str, int]], data: st.DataObject
) -> None:
    events = history(before + after)
    logged, live = events[: len(before)], events[len(before) :]
    whole = single(events)
    handed = Handed(Cursor(b"", {}))
    for event in events[: data.draw(st.integers(0, len(before)))]:
        handed.hand(event)
        handed.ack(event)
    coming = replayed(handed.cursor, logged, edge_of(logged)) + single(live)
    assert coming == whole[len(whole) - len(coming) :]
    assert len(coming) == len(whole) - len(single(logged)) + len(replayed(handed.cursor, logged, edge_of(logged)))


@given(HISTORIES, st.data())
@settings(max_examples=100, deadline=None)
def test_what_retention_dropped_is_told_exactly(steps: list[tuple[str, int]], data: st.DataObject) -> None:
    events = history(steps)
    dropped = data.draw(st.integers(0, len(events)))
    handed = Handed(Cursor(b"", {}))
    for event in events[: data.draw(st.integers(0, len(events)))]:
        handed.hand(event)
        handed.ack(event)
    coming = replayed(handed.cursor, events[dropped:], edge_of(events))
    told = {(each.group, each.position) for each in coming if isinstance(each, Delivery)}
    for each in coming:
        if isinstance(each, Missed):
            missed = {(each.group, position) for position in range(each.first, each.first + each.count)}
            assert not missed & told
            told |= missed
    wanted = {(each.group, each.position) for each in single(events) if isinstance(each, Delivery)}
    assert told == {(group, at) for group, at in wanted if at >= handed.cursor.positions.get(group, 0)}


def test_a_missed_that_is_in_no_log_is_told_once() -> None:
    events = history([("g", 3), ("view", 1), ("g", 2)])
    coming = replayed(Cursor(b"", {}), events[2:], {"g": 5})
    assert coming[0] == Missed("g", None, 0, 3)
    handed = Handed(Cursor(b"", {}))
    handed.hand(coming[0], made=True)
    cursor = handed.ack(coming[0])
    assert cursor == Cursor(b"", {"g": 3}, "", 0)
    assert replayed(cursor, events[2:], {"g": 5}) == coming[1:]


def test_what_was_not_handed_out_cannot_be_acknowledged() -> None:
    handed = Handed(Cursor(b"", {}))
    handed.hand(Delivery("g", "a", 0, 0, 0, b""))
    with pytest.raises(InputError, match="found position 1 of `g`"):
        handed.ack(Delivery("g", "a", 1, 1, 0, b""))
    view = View(1, ("a",), True)
    handed.hand(view)
    with pytest.raises(InputError, match="a copy"):
        handed.ack(View(1, ("a",), True))
    assert handed.ack(view) == handed.ack(view) == Cursor(b"", {"g": 1}, "g", 1)


def test_runs_stay_few() -> None:
    handed = Handed(Cursor(b"", {}))
    for position in range(10_000):
        handed.hand(Delivery("g", "a", position, position, 0, b""))
    assert len(handed._runs) == 1
