"""What opens, what does not, and why; nonces and replays over restarts; changing keys."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.live.wire.seal import HEADER, UNMET_MAX, WINDOW, Keyring, Opener, ReplayWindow, Sealer

KEY = bytes(range(32))
OTHER = bytes(32)


def _pair() -> tuple[Sealer, Opener]:
    return Sealer(Keyring(b"group", [KEY]), 2), Opener(Keyring(b"group", [KEY]))


def test_a_frame_opens_once() -> None:
    sealer, opener = _pair()
    header, sealed = sealer.seal(b"content")
    assert opener.open(header, sealed) == (b"content", "")
    assert opener.open(header, sealed) == (None, "replay")


@pytest.mark.parametrize("place", ["header", "sealed"])
def test_every_flipped_bit_is_found(place: str) -> None:
    sealer, _ = _pair()
    header, sealed = sealer.seal(b"content of a frame")
    target = header if place == "header" else sealed
    for index in range(len(target)):
        for bit in range(8):
            changed = bytearray(target)
            changed[index] ^= 1 << bit
            opener = Opener(Keyring(b"group", [KEY]))
            parts = (bytes(changed), sealed) if place == "header" else (header, bytes(changed))
            assert opener.open(*parts)[0] is None


def test_another_key_or_another_group_does_not_open() -> None:
    sealer, _ = _pair()
    header, sealed = sealer.seal(b"content")
    assert Opener(Keyring(b"group", [OTHER])).open(header, sealed) == (None, "key")
    assert Opener(Keyring(b"other group", [KEY])).open(header, sealed) == (None, "mark")


def test_two_starts_never_share_key_and_nonce() -> None:
    first, second = Sealer(Keyring(b"group", [KEY]), 2), Sealer(Keyring(b"group", [KEY]), 2)
    assert first.session != second.session
    assert first.seal(b"same content")[1] != second.seal(b"same content")[1]


def test_one_session_lives_at_a_time_and_is_told_apart_from_all_others() -> None:
    old, opener = _pair()
    assert opener.open(*old.seal(b"one"))[0] == b"one"
    assert not opener.has_met(2, old.session)
    opener.meet(2, old.session)
    assert opener.has_met(2, old.session)
    new = Sealer(Keyring(b"group", [KEY]), 2)
    assert opener.open(*new.seal(b"new"))[0] == b"new"
    assert opener.has_met(2, old.session) and not opener.has_met(2, new.session)
    opener.meet(2, new.session)
    assert opener.has_met(2, new.session) and not opener.has_met(2, old.session)


def test_what_is_older_than_the_meeting_is_not_taken_though_it_never_came() -> None:
    """A receiver that has just started cannot know what of a living session was recorded before."""
    sealer, opener = _pair()
    recorded = [sealer.seal(b"before") for _ in range(50)]
    assert opener.open(*sealer.seal(b"the greeting that proved it"))[0] is not None
    opener.meet(2, sealer.session)
    assert {opener.open(*packet) for packet in recorded} == {(None, "replay")}
    assert opener.open(*sealer.seal(b"after"))[0] == b"after"


def test_a_session_that_gave_way_is_not_known() -> None:
    sealer, opener = _pair()
    opener.open(*sealer.seal(b"x"))
    assert opener.knows(2, sealer.session)
    for _ in range(UNMET_MAX):
        opener.open(*Sealer(Keyring(b"group", [KEY]), 2).seal(b"recorded"))
    assert not opener.knows(2, sealer.session)


def test_parts_of_packets_are_taken_of_living_sessions_with_marked_headers_only() -> None:
    sealer, opener = _pair()
    header, sealed = sealer.seal(bytes(5000))
    assert not opener.may_begin(header, HEADER.unpack(header)), "not met"
    assert opener.open(header, sealed)[0] is not None
    opener.meet(2, sealer.session)
    assert not opener.may_begin(header, HEADER.unpack(header)), "taken"
    header, sealed = sealer.seal(bytes(5000))
    assert opener.may_begin(header, HEADER.unpack(header))
    for index in range(len(header)):
        forged = bytearray(header)
        forged[index] ^= 1
        assert not opener.may_begin(bytes(forged), HEADER.unpack(forged))


def test_what_has_no_mark_costs_no_key() -> None:
    sealer, opener = _pair()
    for number in range(100):
        header, sealed = sealer.seal(b"x")
        forged = header[:12] + number.to_bytes(12, "big") + header[24:]
        assert opener.open(forged, sealed) == (None, "mark")
    assert not opener._unmet, "a session is remembered when its key was derived"
    header, sealed = Sealer(Keyring(b"group", [KEY]), 2).seal(b"genuine header")
    for number in range(100):
        assert opener.open(header, number.to_bytes(len(sealed), "big")) == (None, "seal")
    assert len(opener._unmet[2]) == 1
    for _ in range(3 * UNMET_MAX):
        assert opener.open(*Sealer(Keyring(b"group", [KEY]), 2).seal(b"old"))[0] == b"old"
    assert len(opener._unmet[2]) == UNMET_MAX


def test_keys_are_changed_in_steps_without_a_frame_lost() -> None:
    sender_ring, receiver_ring = Keyring(b"group", [KEY]), Keyring(b"group", [KEY])
    sealer, opener = Sealer(sender_ring, 0), Opener(receiver_ring)
    steps = [([KEY], [KEY, OTHER]), ([KEY, OTHER], [KEY, OTHER]), ([OTHER, KEY], [KEY, OTHER]), ([OTHER], [OTHER, KEY])]
    for sender_keys, receiver_keys in steps:
        sender_ring.replace(sender_keys)
        sealer.rekey()
        receiver_ring.replace(receiver_keys)
        frame = sealer.seal(b"through")
        assert opener.open(*frame)[0] == b"through"
        assert opener.open(*frame) == (None, "replay")
    receiver_ring.replace([KEY])
    assert Opener(receiver_ring).open(*sealer.seal(b"too late")) == (None, "key")


def test_plaintext_finds_accidents() -> None:
    sealer = Sealer(Keyring(b"group", []), 1)
    header, sealed = sealer.seal(b"content")
    damaged = bytearray(sealed)
    damaged[0] ^= 1
    opener = Opener(Keyring(b"group", []))
    assert opener.open(header, bytes(damaged)) == (None, "seal")
    assert opener.open(header, sealed)[0] == b"content"


@given(st.lists(st.integers(0, 3 * WINDOW), max_size=200))
@settings(max_examples=100, deadline=None)
def test_the_window_agrees_with_a_set(counters: list[int]) -> None:
    window = ReplayWindow()
    taken: set[int] = set()
    for counter in counters:
        newest = max(taken, default=-1)
        expected = counter in taken or counter <= newest - WINDOW
        assert window.refuses(counter) == expected
        if not expected:
            window.take(counter)
            taken.add(counter)
