"""Members meet: sessions prove that they live, recorded greetings never count, and files that differ are told."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tocsin
from tests.live.live_groups import run, until, write_group
from tocsin.live.known import Known
from tocsin.live.register import Register
from tocsin.live.wire.keys import new_key, write_keys
from tocsin.live.wire.meeting import (
    ANSWER_LAST_US,
    ANSWER_PAUSE_US,
    GREET_LAST_US,
    GREETING_BYTES,
    Meetings,
    settings_of,
)
from tocsin.live.wire.seal import VERSIONS

PROCESS = '[journal]\ndurability = "process"'
OURS = settings_of({"protocol": "ack_all", "groups.all": [0, 1]})


class Life:
    """One start of a member, greeting one peer."""

    def __init__(
        self, site: int, session: bytes, settings: list[tuple[str, bytes]] | None = None, sites: str = "ab"
    ) -> None:
        self.session = session
        self.peer = 1 - site
        self.register = Register(site, 2)
        self.register.asks = False
        self.meetings = Meetings(self.register, VERSIONS, tuple(sites), OURS if settings is None else settings)

    def greet(self, answered: bytes = b"") -> tuple[bytes, bytes]:
        return self.session, self.meetings.greeting(self.peer, answered)

    def hear(self, now: int, packet: tuple[bytes, bytes]) -> tuple[bool, bool]:
        heard = self.meetings.hear(now, self.peer, packet[0], memoryview(packet[1]))
        return heard.meets, heard.answers

    def has_met(self, session: bytes) -> bool:
        return self.meetings.of(self.peer).session == session


def _meet(a: Life, b: Life, now: int) -> list[tuple[bytes, bytes]]:
    """Three greetings; what went over the network."""
    first = a.greet()
    assert b.hear(now, first)[1]
    second = b.greet()
    assert a.hear(now, second) == (True, True)
    third = a.greet()
    assert b.hear(now, third) == (True, False)
    return [first, second, third]


def test_three_greetings_of_equal_size_make_two_met() -> None:
    a, b = Life(0, b"a1"), Life(1, b"b1")
    greetings = _meet(a, b, 0)
    assert a.has_met(b"b1") and b.has_met(b"a1")
    assert len({len(body) for _, body in greetings}) == 1
    assert GREETING_BYTES <= len(greetings[0][1]) < GREETING_BYTES + 8
    assert a.meetings.due(1 << 60) == [] and a.meetings.next_us() == -1


def test_recorded_greetings_never_count_again() -> None:
    a, b = Life(0, b"a1"), Life(1, b"b1")
    recorded = _meet(a, b, 0)
    restarted = Life(1, b"b2")
    _meet(restarted, a, 1_000_000)
    assert a.has_met(b"b2")
    fresh = Life(0, b"a2")
    for number, packet in enumerate(recorded):
        now = (2 + number) * 1_000_000
        assert a.hear(now, packet)[0] is False and a.has_met(b"b2")
        assert fresh.hear(now, packet)[0] is False and fresh.has_met(b"")


def test_a_restart_of_either_side_is_met_again_whatever_was_lost() -> None:
    a, b = Life(0, b"a1"), Life(1, b"b1")
    _meet(a, b, 0)
    a = Life(0, b"a2")
    b.hear(1_000_000, a.greet())
    lost = b.greet()  # the answer is lost; a greets again
    assert lost[0] == b"b1"
    assert b.hear(1_000_000 + ANSWER_PAUSE_US, a.greet()) == (False, True)
    assert a.hear(2_000_000, b.greet()) == (True, True)
    a.greet()  # lost: a has met b and says no more, but b, who has not met a2, greets it
    assert a.meetings.due(1 << 60) == []
    b.meetings.doubt(2_500_000, 0, b"a2", 500)  # what a2 sends is not taken, and makes b greet it
    assert b.meetings.due(1 << 60) == [0]
    assert a.hear(3_000_000, b.greet())[1]
    assert b.hear(3_000_000, a.greet())[0]
    assert a.has_met(b"b1") and b.has_met(b"a2")
    assert b.meetings.due(1 << 60) == []


@given(st.integers(0, 1 << 32), st.floats(0.0, 0.6))
@settings(max_examples=200, deadline=None)
def test_whatever_is_lost_late_or_replayed_the_living_meet(seed: int, loss: float) -> None:
    """Restarts of both in between; every packet that ever was may come again; at last nothing is lost any more."""
    source = random.Random(seed)
    lives = [Life(0, b"a0"), Life(1, b"b0")]
    recorded: list[tuple[int, tuple[bytes, bytes]]] = []  # whom it was for
    now = 0
    for step in range(300):
        now += source.randrange(20_000)
        calm = step >= 200
        if not calm and source.random() < 0.03:
            site = source.randrange(2)
            lives[site] = Life(site, b"%d %d" % (site, step))
        going = [(1 - site, life.greet()) for site, life in enumerate(lives) if life.meetings.due(now)]
        if recorded and source.random() < (0.02 if calm else 0.2):
            going.append(source.choice(recorded))
        while going:
            target, packet = going.pop(0)
            recorded.append((target, packet))
            if calm or source.random() >= loss:
                _, answers = lives[target].hear(now, packet)
                assert lives[target].meetings.of(1 - target).session in {b"", *_sessions(recorded, 1 - target)}
                if answers:
                    going.append((1 - target, lives[target].greet(packet[0])))
        for site, life in enumerate(lives):  # members of a group go on sending, greetings or not
            life.meetings.doubt(now, 1 - site, lives[1 - site].session, 100)
    assert lives[0].has_met(lives[1].session) and lives[1].has_met(lives[0].session)


def _sessions(recorded: list[tuple[int, tuple[bytes, bytes]]], sender: int) -> set[bytes]:
    return {session for target, (session, _) in recorded if target != sender}


def test_a_greeting_is_answered_once_in_a_while() -> None:
    b = Life(1, b"b1")
    packet = Life(0, b"a1").greet()
    answered = [now for now in range(0, 3_000_000, ANSWER_PAUSE_US // 10) if b.hear(now, packet)[1]]
    assert answered[:4] == [0, ANSWER_PAUSE_US, 3 * ANSWER_PAUSE_US, 7 * ANSWER_PAUSE_US]
    assert answered[-1] - answered[-2] == ANSWER_LAST_US and len(answered) < 20


def test_a_flood_of_recorded_greetings_of_old_sessions_keeps_nobody_apart() -> None:
    """2,000 a second at each side, of 20 sessions each; the living ones meet as soon as without."""
    old: list[list[tuple[bytes, bytes]]] = [[], []]  # by the site that made them
    for number in range(20):
        pair = [Life(0, b"old a%d" % number), Life(1, b"old b%d" % number)]
        for site, life in enumerate(pair):
            old[site] += [life.greet() for _ in range(50)]
    lives = [Life(0, b"a"), Life(1, b"b")]
    source = random.Random(1)
    met_at_us = -1
    for now in range(0, 1_000_000, 500):
        going = [(1 - site, source.choice(old[site])) for site in (0, 1)]
        going += [(1 - site, life.greet()) for site, life in enumerate(lives) if life.meetings.due(now)]
        while going:
            target, packet = going.pop(0)
            if lives[target].hear(now, packet)[1]:
                going.append((1 - target, lives[target].greet(packet[0])))
        if met_at_us < 0 and lives[0].has_met(b"b") and lives[1].has_met(b"a"):
            met_at_us = now
        if met_at_us == now:
            lives = [Life(0, b"a2"), lives[1]]  # and a restart, in the middle of it
        if lives[0].has_met(b"b") and lives[1].has_met(b"a2"):
            return
    raise AssertionError(f"kept apart: met at {met_at_us}")


def test_sites_may_be_added_behind_and_not_exchanged() -> None:
    a, b = Life(0, b"a1"), Life(1, b"b1", sites="abc")
    _meet(a, b, 0)
    assert a.meetings.of(1).differs == ("the number of sites (3, not 2)",)
    assert b.meetings.of(0).differs == ("the number of sites (2, not 3)",)
    a, b = Life(0, b"a1"), Life(1, b"b1", sites="ac")
    b.hear(0, a.greet())
    assert a.hear(0, b.greet())[0] is False
    assert a.meetings.of(1).differs == b.meetings.of(0).differs == ("sites",)


def test_a_session_behind_what_is_known_is_not_met_and_is_told_so() -> None:
    a, b = Life(0, b"a1"), Life(1, b"b1")
    known = Known(0, 2, 77, 5, 1234, frames=100, numbers=100, writes=400)
    assert b.register.learn(known)
    a.register._mine = Known(0, 1, 76)
    b.hear(0, a.greet())
    heard = a.meetings.hear(0, 1, b"b1", memoryview(b.greet(b"a1")[1]))
    assert heard.meets and heard.of_me == known, "a hears what b knows"
    assert b.hear(0, a.greet(b"b1")) == (False, False), "and b takes nothing of it"
    assert "incarnation 1, known is 2" in b.meetings.of(0).objection
    a.register.asks = True
    assert b.hear(1, a.greet(b"b1"))[0] is False, "the word was used"
    b.hear(10_000, a.greet())
    a.hear(10_000, b.greet(b"a1"))
    assert b.hear(10_000, a.greet(b"b1"))[0] is True, "who asks is met"


def test_an_absent_peer_is_greeted_with_growing_pauses() -> None:
    a = Life(0, b"a1")
    greeted = [now for now in range(0, 20_000_000, 5_000) if a.meetings.due(now)]
    assert greeted[0] == 0 and len(greeted) < 30
    assert greeted[-1] - greeted[-2] == GREET_LAST_US


@pytest.mark.parametrize(
    ("theirs", "differs", "meets"),
    [
        ({"protocol": "lamport", "groups.all": [0, 1]}, ("protocol",), False),
        (
            {"protocol": "ack_all", "groups.g": [0], "options.window": 3},
            ("groups.all", "groups.g", "options.window"),
            False,
        ),
        (
            {"protocol": "ack_all", "groups.all": [0, 1], "options.window": 3},
            ("options.window",),
            True,
        ),
    ],
)
def test_both_are_told_what_differs(theirs: dict[str, object], differs: tuple[str, ...], meets: bool) -> None:
    a, b = Life(0, b"a1"), Life(1, b"b1", settings_of(theirs))
    b.hear(0, a.greet())
    assert a.hear(0, b.greet())[0] is meets
    assert a.meetings.of(1).differs == b.meetings.of(0).differs == differs
    assert a.meetings.of(1).is_apart() is not meets


def test_many_settings_are_told_in_few_bytes() -> None:
    many: dict[str, object] = {f"options.with_a_long_name_{number}": number for number in range(50)}
    many |= {f"groups.g{number}": [number] for number in range(500)}
    told = settings_of({"protocol": "ack_all", **many})
    assert settings_of({"options.one": 1, **many})[0] == told[0], "groups are told alike, whatever the options"
    assert [name for name, _ in told] == ["groups", "options", "protocol"]
    assert told != settings_of({"protocol": "ack_all", **many, "groups.g7": [1]})
    a = Life(0, b"a1", told)
    assert len(a.greet()[1]) < GREETING_BYTES + 8


def test_what_is_no_greeting_is_dropped() -> None:
    a = Life(0, b"a1")
    for body in (b"", b"\xc1", b"\x95", Life(1, b"b").greet()[1][:-1]):
        assert a.hear(0, (b"b", body)) == (False, False)


@pytest.mark.xdist_group("live")
def test_members_say_who_is_missing_and_why(tmp_path: Path) -> None:
    path = write_group(tmp_path, "ack_all", "abc", tail=PROCESS)
    others = tmp_path / "other.toml"
    others.write_text(path.read_text().replace('key_file = "group.key"', 'key_file = "other.key"\ndata_dir = "other"'))
    write_keys(tmp_path / "other.key", [new_key()], replace=False)
    odd = tmp_path / "odd.toml"
    odd.write_text(path.read_text().replace("ack_all", "lamport").replace("[sites]", 'data_dir = "odd"\n[sites]'))

    async def body() -> None:
        a = await tocsin.join(path, "a")
        b = await tocsin.join(others, "b")
        c = await tocsin.join(odd, "c")
        await until(lambda: a.missing() == {"b": "it has another key", "c": "its file differs in protocol"})
        await until(lambda: c.missing()["a"] == "its file differs in protocol")
        with pytest.raises(tocsin.KeyMismatch):
            await a.ready(0.01)
        await b.close()
        await a.close()
        a = await tocsin.join(path, "a")
        await until(lambda: a.missing()["c"] == "its file differs in protocol")
        with pytest.raises(tocsin.NotPrimary, match=r"\(b: no answer; c: its file differs in protocol\)"):
            await a.ready(0.01)
        await a.close()
        await c.close()
        a, b = await tocsin.join(path, "a"), await tocsin.join(path, "b")
        await until(lambda: a.missing() == {"c": "no answer"} and b.missing() == {"c": "no answer"})
        await a.close()
        await b.close()

    run(body)
