"""What opens, what does not, and why; nonces and replays over restarts; changing keys."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.live.wire.seal import HEADER, WINDOW, Keyring, Opener, ReplayWindow, Sealer

KEY = bytes(range(32))
OTHER = bytes(32)


def _pair(session: int = 5) -> tuple[Sealer, Opener]:
    return Sealer(Keyring(b"group", [KEY]), 2, session), Opener(Keyring(b"group", [KEY]), {})


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
            opener = Opener(Keyring(b"group", [KEY]), {})
            parts = (bytes(changed), sealed) if place == "header" else (header, bytes(changed))
            assert opener.open(*parts)[0] is None


def test_another_key_or_another_group_does_not_open() -> None:
    sealer, _ = _pair()
    header, sealed = sealer.seal(b"content")
    assert Opener(Keyring(b"group", [OTHER]), {}).open(header, sealed) == (None, "key")
    assert Opener(Keyring(b"other group", [KEY]), {}).open(header, sealed) == (None, "seal")


def test_an_older_session_is_refused_also_after_a_restart_of_the_receiver() -> None:
    old, opener = _pair(session=5)
    recorded = [old.seal(b"recorded") for _ in range(2)]
    assert opener.open(*recorded[0])[0] == b"recorded"
    new = Sealer(Keyring(b"group", [KEY]), 2, 6)
    assert opener.open(*new.seal(b"new"))[0] == b"new"
    assert opener.open(*recorded[1]) == (None, "session")
    restarted = Opener(Keyring(b"group", [KEY]), dict(opener.newest))
    assert restarted.open(*recorded[1]) == (None, "session")
    assert restarted.has_taken(2, *HEADER.unpack(recorded[1][0])[4:7])


def test_two_starts_with_the_same_session_number_never_share_key_and_nonce() -> None:
    """The disk was lost and the clock set back: the random bits of the session keep the keys apart."""
    first, second = Sealer(Keyring(b"group", [KEY]), 2, 5), Sealer(Keyring(b"group", [KEY]), 2, 5)
    assert first.session != second.session
    assert first.seal(b"same content")[1] != second.seal(b"same content")[1]


def test_a_bad_frame_of_a_new_session_changes_nothing() -> None:
    sealer, opener = _pair(session=5)
    opener.open(*sealer.seal(b"good"))
    header, sealed = Sealer(Keyring(b"group", [OTHER]), 2, 9).seal(b"forged")
    forged = bytearray(header)
    forged[4:8] = Keyring(b"group", [KEY]).sealing_id
    assert opener.open(bytes(forged), sealed) == (None, "seal")
    assert opener.open(*sealer.seal(b"good again"))[0] == b"good again"
    assert opener.newest == {2: 5}


def test_keys_are_changed_in_steps_without_a_frame_lost() -> None:
    sender_ring, receiver_ring = Keyring(b"group", [KEY]), Keyring(b"group", [KEY])
    sealer, opener = Sealer(sender_ring, 0, 1), Opener(receiver_ring, {})
    steps = [([KEY], [KEY, OTHER]), ([KEY, OTHER], [KEY, OTHER]), ([OTHER, KEY], [KEY, OTHER]), ([OTHER], [OTHER, KEY])]
    for sender_keys, receiver_keys in steps:
        sender_ring.replace(sender_keys)
        sealer.rekey()
        receiver_ring.replace(receiver_keys)
        frame = sealer.seal(b"through")
        assert opener.open(*frame)[0] == b"through"
        assert opener.open(*frame) == (None, "replay")
    receiver_ring.replace([KEY])
    assert Opener(receiver_ring, {}).open(*sealer.seal(b"too late")) == (None, "key")


def test_plaintext_finds_accidents() -> None:
    sealer = Sealer(Keyring(b"group", []), 1, 1)
    header, sealed = sealer.seal(b"content")
    damaged = bytearray(sealed)
    damaged[0] ^= 1
    opener = Opener(Keyring(b"group", []), {})
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
