"""`durable()` waits until a majority of the voters has synced, where messages are only written before they count."""

import asyncio
from pathlib import Path

import pytest

import tocsin
from tests.live.live_groups import run, write_group

PROCESS = '[journal]\ndurability = "process"\n'


def test_durable_needs_the_disks_of_a_majority(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", tail=PROCESS)

    async def body() -> None:
        async with tocsin.join(path, "a") as a, tocsin.join(path, "b") as b, tocsin.join(path, "c") as c:
            for member in (a, b, c):
                await member.ready()
            drivers = [member._driver for member in (a, b, c)]
            held = asyncio.Event()
            synced: list[str] = []

            def slow(name: str, sync):  # type: ignore[no-untyped-def]
                async def wait() -> None:
                    await held.wait()
                    await sync()
                    synced.append(name)

                return wait

            for name, driver in zip("bc", drivers[1:], strict=True):
                assert driver is not None
                driver.safety._sync = slow(name, driver.safety._sync)
            receipt = await a.broadcast(b"to be safe")
            await receipt.ordered()
            waiting = asyncio.ensure_future(receipt.durable())
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await asyncio.shield(waiting)
            held.set()  # one of three is no majority; now the others' disks answer
            assert await waiting == 0 and synced

    run(body)


def test_many_who_wait_share_a_question(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", tail=PROCESS)

    async def body() -> None:
        async with tocsin.join(path, "a") as a, tocsin.join(path, "b") as b:
            async with tocsin.join(path, "c") as c:
                for member in (a, b, c):
                    await member.ready()
                receipts = [await a.broadcast(str(number).encode()) for number in range(100)]
                assert await asyncio.gather(*(receipt.durable() for receipt in receipts)) == list(range(100))
            assert await (await b.broadcast(b"two of three")).durable() == 100

    run(body)
