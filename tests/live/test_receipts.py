"""What becomes of a broadcast, and what the others learn of it: its place, its number, who numbered it, when it was
sent."""

import asyncio
import threading
import time
from pathlib import Path

import pytest

import tocsin
from tests.live.live_groups import run, write_group
from tests.live.test_consumer import take
from tests.live.test_sent_once import joined
from tocsin.live.storage.data_folders import opened as data_opened
from tocsin.traces.reader import read_rows

pytestmark = pytest.mark.xdist_group("live")


def test_a_receipt_waits_so_long_and_knows_its_number(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "ab")

    async def body() -> None:
        a = await tocsin.join(path, "a")
        receipt = await a.broadcast(b"alone")
        for wait in (receipt.ordered, receipt.durable):
            with pytest.raises(tocsin.TimedOut, match=r"not within 0\.05 s"):
                await wait(timeout=0.05)
        b = await tocsin.join(path, "b")
        assert await receipt.ordered(timeout=30) == await receipt.durable(timeout=30) == 0
        last = await a.broadcast_many([b"x", b"y", b"z"])
        assert await last.ordered(30) == 3
        heard = await take(b, 4)
        assert (receipt.seqno, last.seqno) == (heard[0].seqno, heard[3].seqno)
        for member in (a, b):
            await member.close()

    run(body)


@pytest.mark.parametrize("consumer", [None, "late"])
def test_everybody_learns_who_numbered_it_and_when_it_was_sent(tmp_path: Path, consumer: str | None) -> None:
    """As it is heard, as it is read back, and as the journal has it."""
    path = write_group(tmp_path, "counter_token")
    began_us = time.time_ns() // 1000

    async def body() -> list[tocsin.Delivery]:
        members = await joined(path)
        a, b, _ = members
        waiting = [
            await a.broadcast(b"plain"),
            await a.broadcast(b"1", producer="till", number=1),
            await a.broadcast(b"2", producer="till", number=2),
            await a.broadcast(b"9", producer="desk", number=9),
            await a.broadcast(bytes(200_000), producer="desk", number=10),
        ]
        for receipt in waiting:
            await receipt.ordered()
        again = await b.broadcast(b"2", producer="till", number=2)
        assert await again.ordered() == 2
        if consumer is None:
            heard = [await take(member, 5) for member in members]
            for member in members:
                await member.close()
        else:
            for member in members:
                await member.close()
            members = await joined(path, consumer=consumer)
            heard = [await take(member, 5) for member in members]
            for member in members:
                await member.close()
        rows = [
            [(event.producer, event.number, event.position, event.sent_us, event.payload) for event in events]
            for events in heard
        ]
        assert rows[0] == rows[1] == rows[2], "the same at every member"
        return heard[0]

    heard: list[tocsin.Delivery] = []

    async def outer() -> None:
        heard.extend(await body())

    run(outer)
    assert [(event.producer, event.number) for event in heard] == [
        (None, None),
        ("till", 1),
        ("till", 2),
        ("desk", 9),
        ("desk", 10),
    ]
    assert all(event.sent_us is not None and event.sent_us >= began_us for event in heard)
    with data_opened([str(tmp_path / "data")]) as files:
        rows = [row for row in read_rows(map(Path, files)) if row.event == "deliver"]
    for event in heard:
        found = {(row.producer, row.number, row.sent_us) for row in rows if row.position == event.position}
        assert found == {(event.producer, event.number, event.sent_us)}


def test_a_second_loop_is_refused_even_when_there_is_enough_for_both(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "a")

    async def body() -> None:
        a = await tocsin.join(path, "a")
        await (await a.broadcast_many([b"%d" % number for number in range(10)])).ordered()
        taken: list[bytes] = []

        async def reads(first: asyncio.Event, go_on: asyncio.Event) -> None:
            async for event in a:
                if isinstance(event, tocsin.Delivery):
                    taken.append(event.payload)
                    first.set()
                    await go_on.wait()
                    if len(taken) == 5:
                        break

        first, go_on = asyncio.Event(), asyncio.Event()
        reader = asyncio.create_task(reads(first, go_on))
        await first.wait()
        for second in (a.__aiter__(), a.batches().__aiter__()):
            with pytest.raises(tocsin.InputError, match="one reader at a time"):
                await anext(second)
        go_on.set()
        await reader
        async for event in a:  # the first has left its loop
            if isinstance(event, tocsin.Delivery):
                taken.append(event.payload)
                if len(taken) == 10:
                    break
        assert taken == [b"%d" % number for number in range(10)]
        await a.close()

    run(body)


def test_a_second_thread_is_refused_too(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "a")
    with tocsin.sync.join(path, "a") as a:
        for number in range(4):
            receipt = a.broadcast(b"%d" % number)
            assert receipt.ordered(timeout=30) == receipt.seqno == number
        events = iter(a)
        next(events)
        refused: list[BaseException] = []

        def second() -> None:
            try:
                next(iter(a))
            except tocsin.InputError as error:
                refused.append(error)

        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        assert refused
        del events
        next(iter(a))
