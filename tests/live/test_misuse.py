"""Calls that are wrong, ends at a bad time, faults of our own: each a clear error, and nothing is left behind."""

import asyncio
import contextlib
import json
import os
import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tocsin
from tests.live.live_groups import all_live, free_ports, run, until, write_group
from tocsin.core.data import Data
from tocsin.core.errors import EnvironmentMissing, InputError
from tocsin.core.machine import Machine, Outbox, Setup
from tocsin.core.message import Message, Record
from tocsin.live.group_config import read_group
from tocsin.live.operations.status import prometheus
from tocsin.live.operations.status_server import SOCKET_NAME

pytestmark = pytest.mark.xdist_group("live")

PROCESS = '[journal]\ndurability = "process"'
DISK = '[journal]\ndurability = "disk"'


def test_what_is_no_message_is_refused_and_the_member_goes_on(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="a", tail=PROCESS)
    text: Any = "text"
    number: Any = 7

    async def body() -> None:
        async with tocsin.join(path, "a") as member:
            with pytest.raises(InputError, match=r"broadcast: expected bytes, found str; encode it first"):
                await member.broadcast(text)
            with pytest.raises(InputError, match="broadcast: expected bytes, found int"):
                await member.broadcast(number)
            with pytest.raises(InputError, match=r"broadcast_many: expected bytes, found str"):
                await member.broadcast_many([b"good", text])
            with pytest.raises(InputError, match="broadcast_many: expected a list of messages, found one bytes"):
                await member.broadcast_many(b"1234")  # type: ignore[arg-type]
            mine = bytearray(b"first")
            receipt = await member.broadcast_many([mine, memoryview(b"second")])  # type: ignore[list-item]
            mine[:] = b"other"  # too late
            assert await receipt.ordered() == 1
            heard = [event async for event in _some(member, 2)]
            assert [event.payload for event in heard] == [b"first", b"second"]

    run(body)


async def _some(member: tocsin.Member, count: int) -> Any:
    """So many deliveries, and then out of the loop."""
    async for event in member:
        if isinstance(event, tocsin.Delivery):
            yield event
            count -= 1
            if count == 0:
                break


def test_breaking_out_of_a_loop_loses_nothing(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="a", tail=PROCESS)

    async def body() -> None:
        async with tocsin.join(path, "a") as member:
            await (await member.broadcast_many([b"%d" % number for number in range(10)])).ordered()
            first = [event.payload async for event in _some(member, 3)]
            batch = await anext(member.batches())
            assert isinstance(batch, tocsin.Batch) and batch.position == 3
            assert [*first, *batch.payloads] == [b"%d" % number for number in range(10)]
            cancelled = asyncio.create_task(_next(member))
            await asyncio.sleep(0)
            cancelled.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await cancelled
            await (await member.broadcast(b"last")).ordered()
            assert [event.payload async for event in _some(member, 1)] == [b"last"]

    run(body)


async def _next(member: tocsin.Member) -> object:
    return await anext(aiter(member))


def test_a_second_reader_is_told_and_a_reader_is_woken_at_the_end(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="a", tail=PROCESS)

    async def body() -> None:
        member = await tocsin.join(path, "a")
        first = asyncio.create_task(_read(member))
        await until(lambda: member._incoming.backlog._waiter is not None)
        with pytest.raises(InputError, match="one reader at a time"):
            await anext(aiter(member))
        await member.close()
        await first

    run(body)


async def _read(member: tocsin.Member) -> None:
    async for _ in member:
        pass


def test_a_member_that_is_not_started_says_how(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="a", tail=PROCESS)

    async def body() -> None:
        member = tocsin.join(path, "a")
        with pytest.raises(tocsin.Closed, match="is not started: use `async with"):
            await member.broadcast(b"early")
        with pytest.raises(tocsin.Closed, match="is not started"):
            aiter(member)

    run(body)


def test_a_taken_metrics_port_leaves_nothing_locked(tmp_path: Path) -> None:
    port = free_ports(1)[0]
    path = write_group(tmp_path, sites="a", head=f'metrics = "127.0.0.1:{port}"', tail=PROCESS)

    async def body() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", port))
            taken.listen()
            with pytest.raises(EnvironmentMissing, match=f"`metrics`: 127.0.0.1:{port}"):
                await tocsin.join(path, "a")
        member = await tocsin.join(path, "a")
        await member.close()

    run(body)


@pytest.mark.parametrize("durability", [PROCESS, DISK])
def test_closing_goes_to_its_end_though_its_caller_is_cancelled(tmp_path: Path, durability: str) -> None:
    path = write_group(tmp_path, sites="a", tail=durability)

    async def body() -> None:
        member = await tocsin.join(path, "a")
        receipt = await member.broadcast(b"kept")
        assert await receipt.ordered() == 0
        closing = asyncio.create_task(member.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await member.close()
        assert await receipt.durable() == 0  # a member that stopped in order has synced
        again = await tocsin.join(path, "a")
        await again.close()

    run(body)


class _Faulty(Machine):
    """Sends what cannot be encoded."""

    def __init__(self, setup: Setup, outbox: Outbox) -> None:
        self._outbox = outbox

    def on_start(self, now: int, records: list[Record]) -> None:
        """Nothing yet."""

    def on_message(self, now: int, source: int, message: Message) -> None:
        """Nothing comes."""

    def on_timer(self, now: int, timer: str, key: int) -> None:
        """None is set."""

    def broadcast(self, now: int, group: int, payload: bytes) -> int:
        self._outbox.send(1, Data(0, 0, 1 << 70, payload))
        return 0


@pytest.mark.parametrize("durability", [PROCESS, DISK])
def test_a_fault_anywhere_in_a_turn_ends_the_member_loudly(tmp_path: Path, durability: str) -> None:
    group = read_group(write_group(tmp_path, sites="ab", tail=durability))
    group = msgspec.structs.replace(group, protocol=msgspec.structs.replace(group.protocol, make=_Faulty))

    async def body() -> None:
        member, other = await tocsin.join(group, "a"), await tocsin.join(group, "b")
        await until(lambda: all_live([member, other]))
        await other.close()
        receipt = await member.broadcast(b"x")
        with pytest.raises(tocsin.Unknown):
            await receipt.ordered()
        with pytest.raises(tocsin.ProtocolFailed, match="a fault in ack_all: OverflowError"):
            await member.broadcast(b"y")
        await member.close()

    run(body)


def test_odd_names_and_odd_requests(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="a", tail=PROCESS)
    path.write_text(path.read_text().replace('name = "test"', 'name = "x\\"} 1\\nevil_metric{a=\\"b"'))

    async def body() -> None:
        async with tocsin.join(path, "a") as member:
            lines = prometheus(member.status()).splitlines()
            assert not any(line.startswith("evil_metric") for line in lines)
            assert 'group="x\\"} 1\\nevil_metric{a=\\"b"' in lines[1]
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / "data" / "a" / SOCKET_NAME))
            writer.write(b"[" * 60_000 + b"\n" + b'{"ask": "status"}\n')
            assert "error" in json.loads(await reader.readline())
            assert json.loads(await reader.readline())["site"] == "a"
            writer.close()

    run(body)
    text = path.read_text()
    for odd in ('"a\\u0000b"', '"a\\nb"'):
        path.write_text(text.replace("\na = ", f"\n{odd} = "))
        with pytest.raises(InputError, match="usable for a folder"):
            read_group(path)


def test_a_forked_process_seals_and_writes_nothing(tmp_path: Path) -> None:
    """Two processes must not seal with one key and counter, nor write one log."""
    path = write_group(tmp_path, sites="a", tail=PROCESS)

    async def body() -> None:
        async with tocsin.join(path, "a") as member:
            await (await member.broadcast(b"x")).ordered()
            driver = member._driver
            assert driver is not None
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    driver.wire.sender.sealer.seal(b"twice")
                except tocsin.Closed:
                    code = 0 if isinstance(driver.failed, tocsin.Closed) else 2
                os._exit(code)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert await (await member.broadcast(b"y")).ordered() == 1, "the parent goes on"

    run(body)


def test_cancelled_waits_leave_nothing_behind(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="ab", tail=PROCESS)

    async def body() -> None:
        async with tocsin.join(path, "a") as member:  # nobody answers
            receipt = await member.broadcast(b"x")
            for wait in (receipt.ordered, lambda: member.ready(9), member._outgoing.wait_for_room):
                task = asyncio.ensure_future(wait())
                await asyncio.sleep(0.01)
                task.cancel()
                await asyncio.wait([task])
            assert receipt._waiters == [] and member._incoming._changed == [] and member._outgoing._room == []
            await member.close()

    run(body)
