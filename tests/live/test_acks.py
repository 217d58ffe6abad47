"""Many acknowledgements, few syncs; none returns before its own is durable."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from tests.live.live_groups import run
from tocsin.live.acks import Acks
from tocsin.live.errors import StorageFailed
from tocsin.live.storage.cursors import Cursor


def _cursor(position: int) -> Cursor:
    return Cursor(b"", {"g": position})


def test_acknowledgements_share_syncs_and_none_is_early() -> None:
    saved: list[int] = []
    gate = threading.Event()

    def save(cursor: Cursor) -> None:
        gate.wait(10)
        saved.append(cursor.positions["g"])

    async def body() -> None:
        with ThreadPoolExecutor(1) as executor:
            acks = Acks(save, executor)

            async def ack(position: int) -> None:
                await acks.put(_cursor(position))
                assert saved[-1] >= position

            first = asyncio.create_task(ack(1))
            while acks.stat_syncs == 0:
                await asyncio.sleep(0)
            others = [asyncio.create_task(ack(position)) for position in range(2, 1000)]
            await asyncio.sleep(0)
            others[0].cancel()  # who no longer waits takes nothing from the others
            assert not first.done() and acks.stat_syncs == 1
            gate.set()
            await asyncio.gather(first, *others[1:])
        assert saved == [1, 999]

    run(body)


def test_a_disk_that_refuses_is_told_to_everyone_who_waits() -> None:
    def save(cursor: Cursor) -> None:
        if cursor.positions["g"] < 3:
            raise StorageFailed("full")

    async def body() -> None:
        with ThreadPoolExecutor(1) as executor:
            acks = Acks(save, executor)
            found = await asyncio.gather(*(acks.put(_cursor(each)) for each in (1, 2)), return_exceptions=True)
            assert [type(each) for each in found] == [StorageFailed, StorageFailed]
            await acks.put(_cursor(3))

    run(body)


def test_one_after_the_other() -> None:
    saved: list[int] = []

    async def body() -> None:
        with ThreadPoolExecutor(1) as executor:
            acks = Acks(lambda cursor: saved.append(cursor.positions["g"]), executor)
            for position in range(5):
                await acks.put(_cursor(position))

    run(body)
    assert saved == [0, 1, 2, 3, 4]
