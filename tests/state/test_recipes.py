"""The recipes in a live group, in this process: what one does, others see; what an ended life held is free."""

import asyncio
from pathlib import Path

import pytest

from tests.live.live_groups import run, until, write_group
from tocsin.core.errors import InputError, TocsinError
from tocsin.live.errors import Closed, NotSupported, TimedOut
from tocsin.state.recipes.shared import Shared, open_shared


async def opened(path: Path, names: str = "abc") -> list[Shared]:
    shared = [open_shared(path, name) for name in names]
    await asyncio.gather(*(each.__aenter__() for each in shared))
    return shared


async def closed(shared: list[Shared]) -> None:
    await asyncio.gather(*(each.__aexit__(KeyboardInterrupt, None, None) for each in shared))


def test_maps_and_counters(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token")

    async def body() -> None:
        shared = await opened(path)
        a, b, c = (each.map("prices") for each in shared)
        changes = c.watch()
        await a.set(b"apple", b"3")
        assert a.get(b"apple") == b"3" and await b.get_synced(b"apple") == b"3"
        won = await asyncio.gather(*(each.compare_and_set(b"apple", b"3", b"4") for each in (a, b, c)))
        assert sorted(won) == [False, False, True]
        assert await b.delete(b"apple") and not await b.delete(b"apple")
        assert [await anext(changes) for _ in range(3)] == [(b"apple", b"3"), (b"apple", b"4"), (b"apple", None)]
        changes.close()
        assert [change async for change in changes] == []
        sums = await asyncio.gather(*(each.counter("n").add(2) for each in shared for _ in range(5)))
        assert sorted(sums) == list(range(2, 32, 2))
        with pytest.raises(InputError, match="bytes"):
            await a.set("text", b"v")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="expected one of map"):
            shared[0].map("")
        await closed(shared)

    run(body)


def test_a_lock_ends_with_its_holder_and_tokens_grow(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token")

    async def body() -> None:
        shared = await opened(path)
        a, b, c = (each.lock("till") for each in shared)
        async with a as first:
            assert a.is_held and not b.is_held
            with pytest.raises(TimedOut, match="the lock `till`"):
                await b.acquire(timeout=0.1)
            with pytest.raises(Closed, match="already"):
                await a.acquire()
        second = await b.acquire(timeout=20)
        waiting = asyncio.create_task(c.acquire())
        await until(lambda: bool(shared[2].replica.state.get("lock", "till").waiting))  # type: ignore[union-attr]
        leader = shared[1].leader("boss")
        await leader.acquire()
        await until(lambda: shared[0].leader("boss").current == "b")
        await closed(shared[1:2])  # as a crash: nobody releases
        third = await waiting
        assert first < second < third and c.is_held
        await until(lambda: shared[0].leader("boss").current is None)
        again = asyncio.create_task(a.acquire())
        await closed(shared[:1])
        with pytest.raises(TocsinError):
            await again
        await closed(shared[2:])

    run(body)


def test_items_of_a_taker_that_ended_go_back(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token")

    async def body() -> None:
        shared = await opened(path)
        a, b, c = (each.queue("jobs") for each in shared)
        with pytest.raises(TimedOut, match="an item of the queue `jobs`"):
            await c.take(timeout=0.1)
        await a.put(b"one")
        await a.put(b"two")
        item, other = await b.take(timeout=20), await c.take(timeout=20)
        assert (item.content, other.content) == (b"one", b"two") and len(a) == 2
        assert await other.done()
        waiting = asyncio.create_task(c.take())
        await closed(shared[1:2])
        back = await waiting
        assert back.content == b"one" and await back.done() and not await back.done()
        await until(lambda: len(a) == 0)
        await closed([shared[0], shared[2]])

    run(body)


def test_what_says_not_who_has_gone_has_no_locks(tmp_path: Path) -> None:
    shared = open_shared(write_group(tmp_path, "two_phase"), "a")
    shared.map("m")
    with pytest.raises(NotSupported, match="see counter_token"):
        shared.lock("l")
    with pytest.raises(NotSupported, match="see counter_token"):
        shared.queue("q")
