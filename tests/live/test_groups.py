"""Groups that change while members run: `member.change_group`, views of single groups, senders outside, the file."""

import asyncio
import json
import logging
from pathlib import Path

import pytest

import tocsin
from tests.live.live_groups import run, until, write_group
from tocsin.cli.main import main
from tocsin.core.errors import InputError
from tocsin.live.member import LEAVE_SECONDS_MAX, Member

GROUPS = '[groups]\nall = ["a", "b", "c"]\neast = ["a", "b"]\nnew = []\n'


class Heard:
    """What one member's application hears."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.views: list[tuple[str | None, tuple[str, ...]]] = []
        self.messages: list[tuple[str, bytes]] = []
        self.task = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for event in self.member:
            if isinstance(event, tocsin.View):
                self.views.append((event.group, event.members))
            elif isinstance(event, tocsin.Delivery):
                self.messages.append((event.group, event.payload))


@pytest.mark.parametrize("failures", ["atomic", "non_atomic"])
def test_groups_change_while_members_run(
    failures: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_group(tmp_path, "propagation_graph", tail=f'[options]\nfailures = "{failures}"\n{GROUPS}')

    async def body() -> None:
        async with (
            tocsin.join(path, "a") as a,
            tocsin.join(path, "b") as b,
            tocsin.join(path, "c") as c,
        ):
            for member in (a, b, c):
                await member.ready()  # nothing was sent yet: who is idle is ready, too (PG8)
            heard = [Heard(member) for member in (a, b, c)]
            await c.broadcast(b"from outside", "east")
            await until(lambda: ("east", b"from outside") in heard[0].messages)
            await c.change_group("east", ["b", "c"])
            await a.change_group("new", ["a", "c"])
            await until(lambda: ("east", ("b", "c")) in heard[2].views and ("new", ("a", "c")) in heard[0].views)
            await until(lambda: ("east", ("b", "c")) in heard[0].views)  # who has left hears of it
            await b.broadcast(b"to the new one", "new")
            await until(lambda: ("new", b"to the new one") in heard[2].messages)
            code = await asyncio.to_thread(main, ["groups", str(path), "drop", "new", "--json"])
            assert code == 0 and json.loads(capsys.readouterr().out)["groups"]["east"] == ["b", "c"]
            await until(lambda: ("new", ()) in heard[0].views)
            await until(lambda: all(member.groups()["new"] == [] for member in (a, b, c)))
            with pytest.raises(InputError, match="expected one that the file names"):
                await a.change_group("west", ["a"])
            for one in heard:
                one.task.cancel()
        async with tocsin.join(path, "a") as a, tocsin.join(path, "b"):
            await a.ready()
            assert a.groups()["east"] == ["b", "c"]

    with caplog.at_level(logging.WARNING):
        run(body)
    assert "group east were decided to be b c; its file says a b" in caplog.text


def test_groups_of_other_protocols_are_those_of_the_start(tmp_path: Path) -> None:
    path = write_group(tmp_path, "ack_all")

    async def body() -> None:
        async with tocsin.join(path, "a") as a, tocsin.join(path, "b"):
            with pytest.raises(InputError, match="those of the start"):
                await a.change_group("all", ["a"])
            assert a.groups() == {"all": ["a", "b", "c"]}

    run(body)


def test_who_sent_to_a_group_of_others_leaves_at_once(tmp_path: Path) -> None:
    """It never delivers that itself; whether the others have it is the protocol's to say."""
    path = write_group(tmp_path, "ack_all", tail='[groups]\neast = ["a", "b"]\n')

    async def body() -> None:
        a, b, c = [await tocsin.join(path, name) for name in "abc"]
        heard = Heard(a)
        await c.broadcast(b"from outside", "east")
        await until(lambda: ("east", b"from outside") in heard.messages)
        async with asyncio.timeout(LEAVE_SECONDS_MAX / 2):
            await c.leave()
        heard.task.cancel()
        for member in (a, b):
            await member.close()

    run(body)
