"""Sites that are added, removed, moved and replaced while messages flow: real members, on this machine."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import tocsin
from tests.live.live_groups import free_ports, run, until, write_group
from tocsin.cli.main import main
from tocsin.live.member import Member


def with_site(path: Path, name: str, others: str = "b") -> tuple[Path, str]:
    """A file of a site that is to be added: it has itself, and some of the others."""
    text = path.read_text()
    head, _, tail = text.partition("[sites]\n")
    addresses = dict(line.split(" = ") for line in tail.strip().splitlines() if " = " in line)
    port = free_ports(1)[0]
    lines = [f'{name} = "127.0.0.1:{port}"', *(f"{other} = {addresses[other]}" for other in others)]
    added = path.with_name(f"{name}.toml")
    added.write_text(head + "[sites]\n" + "\n".join(lines) + "\n")
    return added, f"127.0.0.1:{port}"


class Heard:
    """What one member's application hears."""

    def __init__(self, member: Member) -> None:
        self.member = member
        self.messages: list[bytes] = []
        self.missed = 0
        self.task = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for event in self.member:
            if isinstance(event, tocsin.Delivery):
                self.messages.append(event.payload)
            elif isinstance(event, tocsin.Missed):
                self.missed += event.count


async def talk(member: Member, stop: asyncio.Event) -> int:
    """Send until it is told to stop; how many."""
    sent = 0
    while not stop.is_set():
        receipt = await member.broadcast(f"{member.name} {sent}".encode())
        sent += 1
        await receipt.ordered()
    return sent


def voters(member: Member) -> dict[str, str]:
    return {voter["name"]: voter["state"] for voter in member.ask_for_members("", "", "")["members"]["voters"]}


IN_VIEW = "in view"


def test_a_site_is_added_while_messages_flow(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token")

    async def body() -> None:
        stop = asyncio.Event()
        async with tocsin.join(path, "a") as a, tocsin.join(path, "b") as b, tocsin.join(path, "c") as c:
            for member in (a, b, c):
                await member.ready()
            heard = [Heard(member) for member in (a, b, c)]
            talking = [asyncio.create_task(talk(member, stop)) for member in (a, b, c)]
            file, address = with_site(path, "f")
            await a.add_site("f", address, timeout=10)
            async with tocsin.join(file, "f") as f:
                await f.ready()
                late = Heard(f)
                await until(lambda: voters(b).get("f") == IN_VIEW)
                receipt = await f.broadcast(b"from f")
                await receipt.ordered()
                stop.set()
                sent = sum(await asyncio.gather(*talking))
                await until(lambda: all(len(each.messages) == sent + 1 for each in heard))
                await until(lambda: late.messages[-1:] == heard[0].messages[-1:])
                assert late.messages == heard[0].messages[-len(late.messages) :]
                assert late.missed > 0 and late.messages[-1] == heard[0].messages[-1]
                assert heard[0].messages == heard[1].messages == heard[2].messages
                assert voters(f) == voters(a) == dict.fromkeys("abcf", IN_VIEW)

    run(body)


def test_an_absent_voter_is_removed_replaced_and_told(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token")

    async def body() -> None:
        stop = asyncio.Event()
        async with tocsin.join(path, "a") as a, tocsin.join(path, "b") as b:
            async with tocsin.join(path, "c") as c:
                for member in (a, b, c):
                    await member.ready()
                await (await c.broadcast(b"c was here")).ordered()
            talking = [asyncio.create_task(talk(member, stop)) for member in (a, b)]
            await until(lambda: voters(b).get("c") == "away")
            await b.remove_site("c", timeout=10)
            assert set(voters(b)) == {"a", "b"}
            file, address = with_site(path, "d", "ab")
            await a.add_site("d", address, timeout=10)
            async with tocsin.join(file, "d") as d:
                await until(lambda: voters(b).get("d") == IN_VIEW)
                await (await d.broadcast(b"from d")).ordered()
                returned = tocsin.join(path, "c")
                with pytest.raises(tocsin.Removed):
                    async with returned:
                        await returned.ready(20)
                with pytest.raises(tocsin.InputError, match="voter already"):
                    await a.add_site("d", address)
                with pytest.raises(tocsin.InputError, match="expected one of a, b, d"):
                    await a.remove_site("c")
            stop.set()
            await asyncio.gather(*talking)
            kept = json.loads((tmp_path / "data" / "a" / "seats.json").read_text())
            assert [(seat[0], seat[2]) for seat in kept["seats"]] == [
                ("a", False),
                ("b", False),
                ("c", True),
                ("d", False),
            ]

    run(body)


def test_a_site_moves_and_its_folder_follows_the_group(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token")

    async def body() -> None:
        async with tocsin.join(path, "a") as a, tocsin.join(path, "b") as b:
            async with tocsin.join(path, "c") as c:
                for member in (a, b, c):
                    await member.ready()
            address = f"127.0.0.1:{free_ports(1)[0]}"
            await a.move_site("c", address, timeout=10)
            async with tocsin.join(path, "c") as c:  # its file and its folder have the old one
                await c.ready(20)
                await until(lambda: set(voters(b).values()) == {IN_VIEW})
                await (await c.broadcast(b"from there")).ordered()
                assert f"{c.group.addresses[2][0]}:{c.group.addresses[2][1]}" == address

    run(body)


def test_what_is_left_goes_on_when_most_disks_are_lost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_group(tmp_path, "counter_token")

    async def body() -> None:
        a = await tocsin.join(path, "a")
        others = [await tocsin.join(path, name) for name in "bc"]
        for member in (a, *others):
            await member.ready()
        await (await a.broadcast(b"kept")).ordered()
        await until(lambda: a.ask_for_members("", "", "")["members"]["voters"][1]["position"] == 1)
        with pytest.raises(tocsin.InputError, match="goes on"):
            a.ask_for_members("recover", "", "")
        for member in others:
            await member.close()
        shutil.rmtree(tmp_path / "data" / "c")  # b has its disk, and comes back later
        await until(lambda: a.view is not None and not a.view.primary)
        code = await asyncio.to_thread(main, ["members", str(path), "recover", "--accept-loss", "--json"])
        told = capsys.readouterr()
        found = json.loads(told.out)
        assert code == 0 and found["epoch"] == 1 and [voter["name"] for voter in found["voters"]] == ["a"]
        assert "whatever only b, c had" in told.err
        await a.ready()
        await (await a.broadcast(b"alone")).ordered()
        heard = Heard(a)
        async with tocsin.join(path, "b") as b, tocsin.join(path, "c") as c:
            for member in (b, c):
                await member.ready(20)
            await until(lambda: voters(a) == dict.fromkeys("abc", IN_VIEW))
            assert b.status()["identity"]["incarnation"] == 2 and "epoch 1" in b.status()["identity"]["renewed"]
            await (await b.broadcast(b"again")).ordered()
            await until(lambda: heard.messages[-1:] == [b"again"])
            await a.leave()

    run(body)


def test_a_group_is_founded_by_those_who_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_group(tmp_path, "counter_token")

    async def body() -> None:
        async with tocsin.join(path, "a") as a, tocsin.join(path, "b") as b:
            await until(lambda: not a.missing().get("b") and not b.missing().get("a"))
            assert a.ask_for_members("", "", "")["members"]["group_id"] is None
            code = await asyncio.to_thread(main, ["members", str(path), "found", "a,b", "--as", "b", "--json"])
            assert code == 0 and json.loads(capsys.readouterr().out)["group_id"]
            for member in (a, b):
                await member.ready()
            assert voters(a) == dict.fromkeys("ab", IN_VIEW)
            async with tocsin.join(path, "c") as c:
                await c.ready(20)
                assert set(voters(c)) == {"a", "b"}
                address = "{}:{}".format(*c.group.addresses[2])
                await a.add_site("c", address, timeout=10)
                await until(lambda: voters(b) == dict.fromkeys("abc", IN_VIEW))

    run(body)


def test_the_command_adds_and_removes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_group(tmp_path, "counter_token")

    async def body() -> None:
        async def said(*words: str) -> dict[str, Any]:
            assert await asyncio.to_thread(main, ["members", str(path), *words, "--json"]) == 0
            found: dict[str, Any] = json.loads(capsys.readouterr().out)
            return found

        async with tocsin.join(path, "a") as a, tocsin.join(path, "b") as b, tocsin.join(path, "c") as c:
            for member in (a, b, c):
                await member.ready()
            found = await said()
            assert set(found) == {"group_id", "epoch", "voters", "view"} and found["epoch"] == 0
            keys = {"name", "address", "incarnation", "life", "state", "since_us", "position"}
            assert all(set(voter) == keys for voter in found["voters"])
            assert {(voter["name"], voter["state"]) for voter in found["voters"]} == {(name, IN_VIEW) for name in "abc"}
            file, address = with_site(path, "f", "c")
            await said("add", "f", address)
            async with tocsin.join(file, "f") as f:
                await f.ready(20)
                await until(lambda: voters(a).get("f") == IN_VIEW)
                found = await said("remove", "b")
                assert sorted(voter["name"] for voter in found["voters"]) == ["a", "c", "f"]
                await until(lambda: b._error() is not None)
                assert isinstance(b._error(), tocsin.Removed)
            assert await asyncio.to_thread(main, ["members", str(path), "remove", "nobody"]) == 2
            assert "expected one of a, c, f" in capsys.readouterr().err

    run(body)
