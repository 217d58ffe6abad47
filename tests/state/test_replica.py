"""Replicas of a live group, in this process: one state, answers, restarts from what is kept."""

import asyncio
from pathlib import Path

import pytest

from tests.live.live_groups import run, write_group
from tests.state.test_core import Ledger
from tocsin.core.errors import InputError
from tocsin.live.errors import Closed, NotSupported, TimedOut
from tocsin.live.operations.status import prometheus
from tocsin.state.replica import Replica, replicate

PROTOCOL = "counter_token"


async def opened(path: Path, names: str, every: int = 100_000) -> list[Replica[Ledger]]:
    replicas = [replicate(path, name, Ledger(), snapshot_every=every) for name in names]
    await asyncio.gather(*(replica.__aenter__() for replica in replicas))
    return replicas


async def closed(replicas: list[Replica[Ledger]], in_order: bool = True) -> None:
    kind = None if in_order else KeyboardInterrupt
    await asyncio.gather(*(replica.__aexit__(kind, None, None) for replica in replicas))


def test_calls_are_answered_here_and_applied_everywhere(tmp_path: Path) -> None:
    path = write_group(tmp_path, PROTOCOL)

    async def body() -> None:
        replicas = await opened(path, "abc")
        a, b, c = replicas
        answers = await asyncio.gather(*(each.call(b"%d" % n) for n in range(30) for each in replicas))
        assert sorted(map(int, answers)) == list(range(1, 91))
        assert int(await a.call(b"mine")) == len(a.state.commands) and a.state.commands[-1] == "mine"
        with pytest.raises(ValueError, match="refused at 92"):
            await b.call(b"no!")
        await c.sync()
        assert c.state.commands[-2:] == ["mine", "no!"]
        await a.sync()
        await b.sync()
        assert a.state.commands == b.state.commands == c.state.commands
        await closed(replicas)

    run(body)


def test_everybody_may_stop_and_nothing_is_lost(tmp_path: Path) -> None:
    """From a snapshot and the tail. (They are closed and do not leave: whom `leave` removes comes back by others, and
    here all stop at once.)"""
    path = write_group(tmp_path, PROTOCOL)

    async def body() -> None:
        wanted: list[str] = []
        for life in range(3):
            replicas = await opened(path, "abc", every=20)
            for number in range(25):
                wanted.append(f"{life}.{number}")
                await replicas[number % 3].call(wanted[-1].encode(), timeout=30)
            for replica in replicas:
                await replica.sync(timeout=30)
                assert replica.state.commands == wanted
                assert replica.life > life
            await closed(replicas, in_order=False)
        names = sorted(file.name for file in (tmp_path / "data" / "a" / "snapshots").iterdir())
        assert len(names) == 2 and int(names[0].split(".")[0]) % 20 == 0

    run(body)


def test_waiting_is_told(tmp_path: Path) -> None:
    path = write_group(tmp_path, PROTOCOL)

    async def body() -> None:
        async with replicate(path, "a", Ledger()) as alone:
            with pytest.raises(TimedOut, match=r"the answer to a call has not come within 0\.2 s.*b: "):
                await alone.call(b"x", timeout=0.2)
            with pytest.raises(InputError, match="encode it first"):
                await alone.call("text")  # type: ignore[arg-type]
            await alone.member.close()

    run(body)


def test_misuse_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotSupported, match=r"ack_all has no order .* see counter_token"):
        replicate(write_group(tmp_path, "ack_all"), "a", Ledger())
    path = write_group(tmp_path, PROTOCOL)
    with pytest.raises(InputError, match="snapshot_every"):
        replicate(path, "a", Ledger(), snapshot_every=0)

    async def body() -> None:
        with pytest.raises(Closed, match="async with"):
            await replicate(path, "a", Ledger()).call(b"x")

    run(body)


def test_status_tells_how_the_state_stands(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "a")

    async def body() -> None:
        async with replicate(path, "a", Ledger(), snapshot_every=3) as replica:
            for _ in range(4):
                await replica.call(b"a 1", timeout=30)
            await replica.sync(timeout=30)
            told = replica.member.status()
            assert told["state"]["applied"] == 4 and told["state"]["whole"] and told["state"]["life"] == 1
            assert told["state"]["snapshot_position"] >= 3 and told["state"]["waiting"] == 0
            text = prometheus(told)
            assert "tocsin_state_applied_total{" in text and "tocsin_producers{" in text

    run(body)
