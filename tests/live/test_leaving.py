"""`tocsin join` comes to an end whoever reads its output, or does not."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.live.live_groups import run, write_group
from tocsin.cli import join


class Leaves:
    """A member that leaves at once."""

    async def leave(self) -> None:
        await asyncio.sleep(0)


def test_an_output_that_nobody_takes_is_not_waited_for_without_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(join, "LEAVE_SECONDS_MAX", 0.05)
    in_order: list[bool] = []

    async def body() -> None:
        member: Any = Leaves()
        stops = join._Stops(asyncio.get_running_loop())
        stops.first.set()
        writing: asyncio.Task[None] = asyncio.create_task(asyncio.Event().wait())  # type: ignore[arg-type]
        in_order.append(await join._leave(member, writing, stops))
        writing.cancel()

    run(body)
    assert in_order == [False]
    assert "nobody took what was delivered from stdout within 0.05 s; the journal has it" in capsys.readouterr().err


def test_the_last_members_stop_at_once(tmp_path: Path) -> None:
    """Without a majority nothing can come that is worth waiting for."""
    path = write_group(tmp_path, "counter_token")

    async def body() -> None:
        members = [await tocsin.join(path, name) for name in "abc"]
        for member in members:
            await member.ready(30)
        await (await members[0].broadcast(b"x")).ordered()
        began = asyncio.get_running_loop().time()
        for member in members:
            await member.leave()
        assert asyncio.get_running_loop().time() - began < 8, "ten seconds is the limit for what is still to be ordered"

    run(body)
