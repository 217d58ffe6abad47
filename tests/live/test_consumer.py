"""Consumers of real members: what was not acknowledged comes again, in one order, and nothing else does."""

import asyncio
import shutil
from pathlib import Path

import pytest

import tocsin
from tests.live.live_groups import all_live, run, until, write_group
from tocsin.live.storage.cursors import CursorFile
from tocsin.live.storage.journal_folder import journal_files

SMALL_FILES = "[journal]\nsegment_bytes = 65536\n"
BLOCK = bytes(20_000)


async def take(member: tocsin.Member, count: int) -> list[tocsin.Delivery]:
    """So many deliveries; whatever else comes is left out."""
    found: list[tocsin.Delivery] = []
    async for event in member:
        if isinstance(event, tocsin.Delivery):
            found.append(event)
            if len(found) == count:
                break
    return found


async def send(member: tocsin.Member, first: int, count: int, block: bytes = b"") -> None:
    receipts = [await member.broadcast(b"%d" % (first + index) + block) for index in range(count)]
    await receipts[-1].ordered()


def texts(events: list[tocsin.Delivery]) -> list[int]:
    return [int(event.payload.rstrip(b"\0")) for event in events]


@pytest.mark.parametrize("protocol", ["counter_token", "ack_all"])
def test_it_begins_after_the_last_acknowledged(tmp_path: Path, protocol: str) -> None:
    path = write_group(tmp_path, protocol, "a")

    async def body() -> None:
        async with tocsin.join(path, "a", consumer="till") as member:
            await send(member, 0, 10)
            events = await take(member, 7)
            await member.ack(events[3])
        async with tocsin.join(path, "a", consumer="till") as member:
            await send(member, 10, 5)
            again = await take(member, 11)
            assert texts(again) == list(range(4, 15))
            assert again[:3] == events[4:7], "the same events, as they were"
            await member.ack(again[-1])
            await member.close()  # as a crash
        async with tocsin.join(path, "a", consumer="other") as member:
            assert texts(await take(member, 15)) == list(range(15)), "a new one: from the start"
        async with tocsin.join(path, "a", consumer="till") as member:
            await send(member, 15, 1)
            assert texts(await take(member, 1)) == [15]

    run(body)


def test_views_are_acknowledged_too(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "a")

    async def body() -> None:
        async with tocsin.join(path, "a", consumer="c") as member:
            first = await anext(aiter(member))
            assert isinstance(first, tocsin.View)
        async with tocsin.join(path, "a", consumer="c") as member:
            again = await anext(aiter(member))
            assert again == first
            await member.ack(again)
        async with tocsin.join(path, "a", consumer="c") as member:
            later = await anext(aiter(member))
            assert isinstance(later, tocsin.View) and later != first

    run(body)


def test_positions_that_the_application_keeps(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "a")

    async def body() -> None:
        async with tocsin.join(path, "a") as member:
            await send(member, 0, 10)
        for after, first in ((6, 7), ({"all": 6}, 7), (-1, 0), ("start", 0)):
            async with tocsin.join(path, "a", after=after) as member:  # type: ignore[arg-type]
                assert texts(await take(member, 10 - first)) == list(range(first, 10))
                with pytest.raises(tocsin.InputError, match="consumer=NAME"):
                    await member.ack(tocsin.Delivery("all", "a", 0, 0, 0, b""))
        async with tocsin.join(path, "a", after="now") as member:
            await send(member, 10, 1)
            assert texts(await take(member, 1)) == [10]
        with pytest.raises(tocsin.ConsumerLost, match='after="start"'):
            async with tocsin.join(path, "a", after=11):
                pass

    run(body)


def test_what_cannot_be_asked_for(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "a")
    for arguments, word in (
        ({"consumer": "c", "after": 3}, "both"),
        ({"consumer": "../c"}, "letters"),
        ({"after": {"al": 3}}, "no group `al`"),
        ({"after": -2}, "position"),
        ({"after": "end"}, '"start"'),
    ):
        with pytest.raises(tocsin.InputError, match=word):
            tocsin.join(path, "a", **arguments)
    path = write_group(tmp_path, "optimistic_token", "a")
    with pytest.raises(tocsin.NotSupported, match="counter_token"):
        tocsin.join(path, "a", consumer="c")


def test_a_break_and_a_cancelled_wait_lose_nothing_of_what_is_read_from_files(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "a", tail=SMALL_FILES)

    async def body() -> None:
        async with tocsin.join(path, "a") as member:
            for first in range(0, 40, 4):
                await send(member, first, 4, BLOCK)
        assert len(journal_files(tmp_path / "data" / "a" / "journal")) > 2
        async with tocsin.join(path, "a", consumer="c") as member:
            events = await take(member, 3)
            for _ in range(20):
                taking = asyncio.create_task(take(member, 1))
                await asyncio.sleep(0)
                taking.cancel()
                await asyncio.wait([taking])
                if not taking.cancelled():
                    events += taking.result()
            async for event in member.batches():
                if isinstance(event, tocsin.Batch):
                    events += event.deliveries()
                    if len(events) >= 40:
                        break
            assert texts(events) == list(range(40))
            one, other = asyncio.create_task(take(member, 1)), asyncio.create_task(take(member, 1))
            with pytest.raises(tocsin.InputError, match="one reader at a time"):
                await other
            one.cancel()

    run(body)


def test_what_is_read_and_what_is_heard_have_no_seam(tmp_path: Path) -> None:
    """Three members; one is away, comes back with a consumer that is slow to read its files, while others send."""
    path = write_group(tmp_path, "counter_token", "abc", tail=SMALL_FILES)

    async def body() -> None:
        members = [await tocsin.join(path, name, listen=name != "a") for name in "abc"]
        await members[0].ready()
        await send(members[0], 0, 50, BLOCK)
        await members[1].close()
        await send(members[0], 50, 50, BLOCK)
        members[1] = await tocsin.join(path, "b", consumer="c", backlog_bytes=100_000)
        sending = asyncio.create_task(send(members[0], 100, 50, BLOCK))
        events = await take(members[1], 20)
        await sending
        await members[1].ack(events[9])
        assert members[1].status()["totals"]["blocked"] == 0, "while files are read, the member does not stand still"
        events += await take(members[1], 130)
        assert texts(events) == list(range(150))
        assert [event.position for event in events] == list(range(150))
        await members[1].close()
        members[1] = await tocsin.join(path, "b", consumer="c")
        assert texts(await take(members[1], 140)) == list(range(10, 150))
        for member in members:
            await member.close()

    run(body)


@pytest.mark.parametrize("limit", [100_000_000, 700_000])
def test_retention_waits_for_a_consumer_up_to_a_limit(tmp_path: Path, limit: int) -> None:
    tail = f"{SMALL_FILES}keep_bytes = 70000\nconsumer_keep_bytes = {limit}\n"
    path = write_group(tmp_path, "counter_token", "a", tail=tail)

    async def body() -> None:
        async with tocsin.join(path, "a", consumer="dead") as member:
            await send(member, 0, 2, BLOCK)
            await member.ack((await take(member, 2))[-1])
        async with tocsin.join(path, "a", consumer="lively") as member:
            for first in range(2, 62, 4):
                await send(member, first, 4, BLOCK)
                await member.ack((await take(member, 4))[-1])
            dropped = member.status()["journal"]["files_dropped"]
        events: list[tocsin.Delivery] = []
        missed: list[tocsin.Missed] = []
        async with tocsin.join(path, "a", consumer="dead") as member:
            async for event in member:
                if isinstance(event, tocsin.Missed):
                    missed.append(event)
                elif isinstance(event, tocsin.Delivery):
                    events.append(event)
                    if event.position == 61:
                        break
            await member.ack(missed[0] if missed else events[0])
        if limit > 1_000_000:
            assert dropped == 0 and not missed and texts(events) == list(range(2, 62))
        else:
            assert events[0].position > 2 and missed == [tocsin.Missed("all", None, 2, events[0].position - 2)]
            assert texts(events) == list(range(events[0].position, 62))
            async with tocsin.join(path, "a", consumer="dead") as member:
                assert texts(await take(member, 1)) == texts(events[:1]), "it was told once"

    run(body)


def test_a_consumer_of_a_lost_disk_is_lost_until_it_is_forgotten(tmp_path: Path) -> None:
    path = write_group(tmp_path, "ack_all", "abc")

    async def body() -> None:
        members = [await tocsin.join(path, name, consumer="c" if name == "a" else None) for name in "abc"]
        await until(lambda: all_live(members))
        await send(members[0], 0, 3)
        await members[0].ack((await take(members[0], 3))[-1])
        await members[0].close()
        home = tmp_path / "data" / "a"
        for name in ("wal", "journal"):
            shutil.rmtree(home / name)
        for _ in range(2):
            with pytest.raises(tocsin.ConsumerLost, match="--forget c"):
                async with tocsin.join(path, "a", consumer="c") as member:
                    await take(member, 1)
        assert CursorFile(home, "c").load() is not None, "nothing was changed"
        for member in members:
            await member.close()

    run(body)


def test_the_last_acknowledgement_may_come_after_the_end(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "a")

    async def body() -> None:
        member = await tocsin.join(path, "a", consumer="c")
        await send(member, 0, 3)
        await member.leave()
        events = await take(member, 3)
        await member.ack(events[1])
        async with tocsin.join(path, "a", consumer="c") as again:
            with pytest.raises(tocsin.Closed, match="runs again"):
                await member.ack(events[2])
            assert texts(await take(again, 1)) == [2]

    run(body)


def test_acknowledging_goes_on_while_the_member_leaves(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "a")

    async def body() -> None:
        member = await tocsin.join(path, "a", consumer="c")
        await send(member, 0, 200)
        events = await take(member, 200)
        leaving = asyncio.create_task(member.leave())
        for event in events:
            await member.ack(event)
        await leaving
        async with tocsin.join(path, "a", consumer="c") as member:
            await send(member, 200, 1)
            assert texts(await take(member, 1)) == [200]

    run(body)
