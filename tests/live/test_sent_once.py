"""Messages with a producer and a number, at real members: delivered once, however often they are sent."""

import asyncio
import contextlib
import shutil
import time
from pathlib import Path

import msgspec
import pytest

import tocsin
from tests.live.live_groups import all_live, run, until, write_group
from tests.live.test_consumer import take, texts
from tocsin.core.producers import NUMBERS_MAX
from tocsin.live import handover
from tocsin.live.known import NO_TABLE
from tocsin.live.storage.data_folders import opened as data_opened
from tocsin.properties import check
from tocsin.traces.reader import read_rows


async def joined(path: Path, names: str = "abc", **wishes: object) -> list[tocsin.Member]:
    members = [await tocsin.join(path, name, **wishes) for name in names]  # type: ignore[arg-type]
    await until(lambda: all_live(members))
    for member in members:
        await member.ready(30)
    others = {member: [site for site, name in enumerate(member.group.sites) if name in names] for member in members}
    for member, sites in others.items():  # each has heard what the others can
        await until(lambda: all(site in member._opened.register._known for site in sites if site != member._site))  # noqa: B023
    return members


async def send(member: tocsin.Member, text: bytes, producer: str, number: int) -> int:
    return await (await member.broadcast(text, producer=producer, number=number)).ordered()


@pytest.mark.parametrize("protocol", ["counter_token", "lamport", "two_phase"])
def test_a_repeat_takes_no_position_and_is_answered_with_the_first(tmp_path: Path, protocol: str) -> None:
    path = write_group(tmp_path, protocol, tail="[journal]\nreceives = true\n")

    async def body() -> None:
        members = await joined(path)
        _, b, c = members
        answers = await asyncio.gather(  # at once, through all
            *(send(member, b"%d" % number, "till", number) for number in range(20) for member in members)
        )
        assert [len(set(answers[at : at + 3])) for at in range(0, 60, 3)] == [1] * 20
        plain = await (await b.broadcast(b"100")).ordered()
        assert {*answers, plain} == set(range(21)), "repeats take no position"
        assert await send(c, b"5", "till", 5) == answers[15], "known here: answered at once"
        heard = [await take(member, 21) for member in members]
        orders = [[(event.position, event.payload) for event in events] for events in heard]
        assert orders[0] == orders[1] == orders[2] and len({payload for _, payload in orders[0]}) == 21
        for member in members:
            await member.close()
        members = await joined(path)
        assert await send(members[1], b"7", "till", 7) == answers[21], "after a restart of all"
        assert await send(members[0], b"20", "till", 20) == 21
        for member in members:
            await member.leave()

    run(body)
    with data_opened([str(tmp_path / "data")]) as files:
        rows = list(read_rows(map(Path, files)))
    duplicates = [row for row in rows if row.event == "duplicate"]
    assert duplicates and all(row.position is not None and row.position < 20 for row in duplicates)
    report = check(iter(rows), one_clock=False)
    for name in ("integrity", "validity", "agreement", "fifo", "multiple_source", "acyclic"):
        assert report.properties[name].verdict != "fail", report.properties[name].why


def test_what_is_too_old_is_refused_here_and_in_the_order(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "ab")

    async def body() -> None:
        a, b = await joined(path, "ab", listen=False)
        receipts = [await a.broadcast(b"%d" % n, producer="till", number=n) for n in range(1, NUMBERS_MAX + 2)]
        late = await b.broadcast(b"late", producer="till", number=0)  # b has not heard of the others yet
        positions = [await receipt.ordered() for receipt in receipts]
        with contextlib.suppress(tocsin.TooOld):
            positions.append(await late.ordered())  # it came early enough
        assert sorted(positions) == list(range(len(positions)))
        with pytest.raises(tocsin.TooOld, match="1,024"):
            await a.broadcast(b"old", producer="till", number=1)
        for member in (a, b):
            await member.close()

    run(body)


def test_a_large_message_and_one_that_spills_are_told_apart(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "ab")
    large = bytes(200_000)

    async def body() -> None:
        a, b = await joined(path, "ab", slow="spill", backlog_bytes=1000)
        for number in range(4):
            answers = await asyncio.gather(
                *(send(member, b"%d" % number + bytes(400), "p", number) for member in (a, b) for _ in range(3))
            )
            assert len(set(answers)) == 1
        for member in (a, b):
            assert member.status()["totals"]["spilled"] > 0
            assert texts(await take(member, 4)) == [0, 1, 2, 3]
            await member.close()
        a, b = await joined(path, "ab")
        answers = await asyncio.gather(*(send(member, large, "p", 9) for member in (a, b)))
        assert set(answers) == {4}
        assert await send(b, b"5", "q", 9) == 5, "another producer"
        for member in (a, b):
            events = await take(member, 2)
            assert [(event.position, event.payload) for event in events] == [(4, large), (5, b"5")]
            await member.close()

    run(body)


def test_it_is_refused_while_a_member_has_missed_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody could hand it the table: it has a hole, through which it would deliver a repeat that nobody else does."""
    path = write_group(tmp_path, "two_phase")
    monkeypatch.setattr(handover, "base_at", lambda *_: None)

    async def body() -> None:
        a, b, c = await joined(path)
        for number in range(5):
            await send(a, b"%d" % number, "till", number)
        await c.close()
        shutil.rmtree(tmp_path / "data" / "c")
        c = await tocsin.join(path, "c")
        async for event in c:
            if isinstance(event, tocsin.Missed):
                break
        with pytest.raises(tocsin.NotSupported, match="`c` has missed"):
            while True:  # until c has told them
                await send(a, b"again", "other", time.time_ns())
                await asyncio.sleep(0.05)
        assert await send(a, b"3", "till", 3) == 3, "what is known is answered"
        await c.close()
        c = await tocsin.join(path, "c")
        await c.ready(30)
        with pytest.raises(tocsin.NotSupported, match="`c` has missed"):
            await send(c, b"again", "other", 1)
        await (await b.broadcast(b"plain")).ordered()
        for member in (a, b, c):
            await member.close()

    run(body)


def test_it_is_refused_while_a_member_is_of_an_older_version(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "ab")

    async def body() -> None:
        a, b = await joined(path, "ab", listen=False)
        register = a._opened.register
        await until(lambda: 1 in register._known)
        known = register._known[1]
        register._known[1] = msgspec.structs.replace(known, table=NO_TABLE)
        with pytest.raises(tocsin.NotSupported, match="`b` is of an older version"):
            await send(a, b"1", "till", 1)
        assert await send(b, b"1", "till", 1) == 0
        for member in (a, b):
            await member.close()

    run(body)


def test_what_cannot_be_asked_for(tmp_path: Path) -> None:
    async def refused(protocol: str, error: type[tocsin.TocsinError], word: str, **wishes: object) -> None:
        async with tocsin.join(write_group(tmp_path / protocol, protocol, "a"), "a") as member:
            with pytest.raises(error, match=word):
                await member.broadcast(b"x", **wishes)  # type: ignore[arg-type]

    async def body() -> None:
        for protocol in ("sequencer", "ack_all", "optimistic_token", "totem_ring"):
            (tmp_path / protocol).mkdir()
            await refused(protocol, tocsin.NotSupported, "see counter_token", producer="p", number=1)
        (tmp_path / "lamport").mkdir()
        await refused("lamport", tocsin.InputError, "both or neither", producer="p")
        await refused("lamport", tocsin.InputError, "both or neither", number=1)
        await refused("lamport", tocsin.InputError, "1 to 64 bytes", producer="", number=1)
        await refused("lamport", tocsin.InputError, "from 0 on", producer="p", number=-1)

    run(body)
