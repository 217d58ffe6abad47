"""The API in one process: members of a live group over real sockets on loopback."""

import asyncio
import os
import socket
from pathlib import Path

import pytest

import tocsin
from tests.live.live_groups import all_live, run, until, write_group
from tocsin.live.frame_format import MESSAGE_BYTES_MAX
from tocsin.live.group_config import read_group
from tocsin.live.storage.journal import journal_batches
from tocsin.live.wire.keys import new_key, write_keys
from tocsin.live.wire.seal import Keyring

pytestmark = pytest.mark.xdist_group("live")  # ports and cores are shared: one after the other

PROCESS = '[journal]\ndurability = "process"'


class Ear:
    """Takes everything that a member hears."""

    def __init__(self, member: tocsin.Member, heard_before: int = 0) -> None:
        self.heard: list[tuple[str, int, bytes]] = [("", -1, b"in an earlier life")] * heard_before
        self.events: list[object] = []
        self.times: list[int] = []
        self.task = asyncio.create_task(self._listen(member))

    async def _listen(self, member: tocsin.Member) -> None:
        async for event in member:
            if isinstance(event, tocsin.Delivery):
                assert event.position == len(self.heard)
                self.heard.append((event.origin, event.seqno, event.payload))
                self.times.append(event.time_us)
            else:
                self.events.append(event)


@pytest.mark.parametrize("offload", [True, False])
@pytest.mark.parametrize("durability", ["disk", "process"])
def test_all_hear_all_with_boundaries_and_emptiness(tmp_path: Path, durability: str, offload: bool) -> None:
    path = write_group(
        tmp_path, head=f"offload = {str(offload).lower()}", tail=f'[journal]\ndurability = "{durability}"'
    )
    large = os.urandom(300_000)

    async def body() -> None:
        members = [await tocsin.join(path, name) for name in "abc"]
        ears = [Ear(member) for member in members]
        for member in members:
            assert member.status()["socket"]["offload"] is offload
            await member.broadcast(b"")
            await member.broadcast_many([b"%d" % number for number in range(2000)])
            receipt = await member.broadcast(large)
            assert await receipt.ordered() >= 2001
            assert await receipt.durable() >= 2001
        await until(lambda: all(len(ear.heard) == 3 * 2002 for ear in ears))
        for name in "abc":
            sent = [b"", *(b"%d" % number for number in range(2000)), large]
            for ear in ears:
                assert sorted(entry for entry in ear.heard if entry[0] == name) == [
                    (name, number, payload) for number, payload in enumerate(sent)
                ]
        for member in members:
            await member.leave()
        for ear in ears:
            await ear.task
        for name, ear in zip("abc", ears, strict=True):
            assert ear.times == noted_times(tmp_path / "data" / name), (
                "a delivery has one time, told and in the journal"
            )

    run(body)


def noted_times(folder: Path) -> list[int]:
    """By delivery, in order: when it was, by the journal."""
    rows = [row for batch in journal_batches(folder) for row in batch.select(["event", "time_us"]).to_pylist()]
    return [row["time_us"] for row in rows if row["event"] == "deliver"]


def test_loss_delay_duplicates_and_reordering_are_survived(tmp_path: Path) -> None:
    path = write_group(tmp_path, tail=PROCESS)
    faults = "loss=0.1,delay_us=0-1500,duplicate=0.05,reorder=0.1"

    async def body() -> None:
        members = [await tocsin.join(path, name, inject=faults) for name in "abc"]
        ears = [Ear(member) for member in members]
        for member in members:
            for number in range(20):
                await member.broadcast(bytes(number * 500))
                await asyncio.sleep(0)
        await until(lambda: all(len(ear.heard) == 60 for ear in ears))
        injected = members[0].status()["injected"]
        assert injected["lost"] > 0 and injected["delayed"] > 0
        for member in members:
            await member.close()

    run(body)


def test_a_lost_segment_is_asked_for_and_sent_again(tmp_path: Path) -> None:
    """The protocol's own resending is far away: only the runtime can have repaired the frame."""
    path = write_group(tmp_path, sites="ab", tail="[options]\nresend_us = 50_000_000\n" + PROCESS)

    async def body() -> None:
        first = await tocsin.join(path, "a")
        second = await tocsin.join(path, "b", inject="loss=0.15,seed=4")
        ear = Ear(second)
        await until(lambda: all_live([first, second]))  # what comes before is too early, and would be sent again
        await first.broadcast(bytes(50_000))
        await until(lambda: len(ear.heard) == 1)
        totals = second.status()["totals"]
        assert second.status()["injected"]["lost"] > 0 and totals["segments_asked"] > 0
        assert 0 < first.status()["totals"]["segments_repaired"] < 35
        await first.close()
        await second.close()

    run(body)


def test_multicast(tmp_path: Path) -> None:
    path = write_group(tmp_path, head='multicast = "239.192.7.1:7499"', tail=PROCESS)

    async def body() -> None:
        members = [await tocsin.join(path, name) for name in "abc"]
        ears = [Ear(member) for member in members]
        await until(lambda: all_live(members))  # greetings go to one at a time
        before = members[0].status()["totals"]["send_calls"]
        await members[0].broadcast(bytes(100_000))
        await until(lambda: all(len(ear.heard) == 1 for ear in ears))
        calls = members[0].status()["totals"]["send_calls"] - before
        assert calls <= 4  # two frames, once for both receivers, not once for each
        for member in members:
            await member.close()

    run(body)


def test_a_cut_stops_both_directions_and_heals(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="ab", tail=PROCESS)

    async def body() -> None:
        first, second = await tocsin.join(path, "a"), await tocsin.join(path, "b")
        ears = [Ear(first), Ear(second)]
        await until(lambda: all_live([first, second]))
        first.inject("cut=b")
        await first.broadcast(b"from a")
        await second.broadcast(b"from b")
        await until(lambda: first.status()["drops"].get("cut", 0) > 0)
        assert [len(ear.heard) for ear in ears] == [1, 1]
        first.inject("")
        await until(lambda: all(len(ear.heard) == 2 for ear in ears))
        await first.leave()
        await second.leave()

    run(body)


def test_a_member_comes_back_with_what_it_missed_and_numbers_go_on(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="ab")

    async def body() -> None:
        first, second = await tocsin.join(path, "a"), await tocsin.join(path, "b")
        ear = Ear(first)
        await (await second.broadcast(b"one")).ordered()
        await until(lambda: len(ear.heard) == 1)
        await second.close()
        for number in range(5):
            await first.broadcast(b"missed %d" % number)
        again = await tocsin.join(path, "b")
        ear_again = Ear(again, heard_before=1)
        await (await again.broadcast(b"two")).ordered()
        await until(lambda: len(ear_again.heard) == 7)
        assert ("b", 0, b"one") not in ear_again.heard  # exactly what was missed, and nothing twice
        assert {payload for _, _, payload in ear_again.heard[1:]} == {b"two", *(b"missed %d" % n for n in range(5))}
        await until(lambda: ("b", 1, b"two") in ear.heard)
        assert again.status()["life"] == 1
        await first.leave()
        await again.leave()

    run(body)


def test_errors_have_names(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="ab")

    async def body() -> None:
        member = await tocsin.join(path, "a")
        with pytest.raises(tocsin.TooLarge, match="at most"):
            await member.broadcast(bytes(MESSAGE_BYTES_MAX + 1))
        with pytest.raises(tocsin.InputError, match="no group `x`"):
            await member.broadcast(b"", group="x")
        with pytest.raises(tocsin.AlreadyRunning, match="stop it first"):
            await tocsin.join(path, "a")
        with pytest.raises(tocsin.NotPrimary, match=r"within 0\.05 s"):
            await member.ready(0.05)
        await member.close()
        with pytest.raises(tocsin.Closed):
            await member.broadcast(b"")
        port = read_group(path).addresses[1]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(port)
            with pytest.raises(tocsin.PortTaken, match="taken by another process"):
                await tocsin.join(path, "b")

    run(body)


def test_another_key_is_told_from_silence(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="ab")
    other = tmp_path / "other.toml"
    write_keys(tmp_path / "other.key", [new_key()], replace=False)
    other.write_text(path.read_text().replace("group.key", "other.key"))

    async def body() -> None:
        first, second = await tocsin.join(path, "a"), await tocsin.join(other, "b")
        await first.broadcast(b"hello")
        await until(lambda: second.status()["drops"].get("key", 0) > 0)
        with pytest.raises(tocsin.KeyMismatch, match="another key"):
            await second.ready(0.05)
        await first.close()
        await second.close()

    run(body)


def test_what_was_not_ordered_is_unknown(tmp_path: Path) -> None:
    """Nobody answers, so the window fills: what waits behind it cannot be told."""
    path = write_group(tmp_path, sites="ab", tail="[options]\nwindow = 1")

    async def body() -> None:
        member, other = await tocsin.join(path, "a"), await tocsin.join(path, "b")
        await until(lambda: all_live([member, other]))
        await other.close()
        first = await member.broadcast(b"first")
        assert await first.ordered() == 0
        second = await member.broadcast(b"second")
        waiting = asyncio.create_task(second.ordered())
        await until(lambda: bool(second._waiters))
        await member.close()
        with pytest.raises(tocsin.Unknown):
            await waiting
        with pytest.raises(tocsin.Unknown):
            await second.ordered()

    run(body)


def test_keys_are_changed_while_the_group_runs(tmp_path: Path) -> None:
    path = write_group(tmp_path, sites="ab", tail=PROCESS)
    old, new = new_key(), new_key()
    write_keys(tmp_path / "group.key", [old], replace=True)

    async def body() -> None:
        members = [await tocsin.join(path, name) for name in "ab"]
        await until(lambda: all_live(members))
        ear = Ear(members[1])
        for number, keys in enumerate(([old], [old, new], [new, old], [new])):
            write_keys(tmp_path / "group.key", keys, replace=True)
            for member in members:
                member.reload_keys()
            await members[0].broadcast(b"%d" % number)
            await until(lambda expected=number + 1: len(ear.heard) == expected)  # type: ignore[misc]
        assert members[1].status()["drops"] == {}
        assert Keyring(members[0].group.name.encode(), [new]).sealing_id == members[0]._opened.wire.sender.sealer.key_id
        for member in members:
            await member.close()

    run(body)


@pytest.mark.parametrize("slow", ["block", "spill", "leave"])
def test_a_slow_application(tmp_path: Path, slow: str) -> None:
    path = write_group(tmp_path, sites="ab", tail=PROCESS)

    async def body() -> None:
        fast = await tocsin.join(path, "a", listen=False)
        lazy = await tocsin.join(path, "b", slow=slow, backlog_bytes=100_000)  # type: ignore[arg-type]
        for number in range(30):
            await fast.broadcast(bytes(20_000) + b"%d" % number)
            await asyncio.sleep(0)
        totals = {"block": "blocked", "spill": "spilled", "leave": "slow_left"}
        await until(lambda: lazy.status()["totals"][totals[slow]] > 0)
        if slow == "leave":
            await until(lambda: lazy._closed)
        ear = Ear(lazy)
        if slow == "leave":
            await ear.task
            assert 0 < len(ear.heard) <= 30
        else:
            await until(lambda: len(ear.heard) == 30)
            assert sorted(entry[1] for entry in ear.heard) == list(range(30))
            await lazy.close()
            await ear.task
        await fast.close()

    run(body)


def test_a_disk_that_refuses_stops_the_member_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_group(tmp_path, sites="ab")

    async def body() -> None:
        member, other = await tocsin.join(path, "a"), await tocsin.join(path, "b")
        await until(lambda: all_live([member, other]))
        await other.close()
        assert await (await member.broadcast(b"kept")).durable() == 0

        def broken(_: int) -> None:
            raise OSError(5, "Input/output error")

        monkeypatch.setattr(os, "fdatasync", broken)
        receipt = await member.broadcast(b"lost")
        with pytest.raises(tocsin.Unknown):
            await receipt.ordered()
        monkeypatch.undo()
        with pytest.raises(tocsin.StorageFailed, match="input/output error"):
            await member.broadcast(b"refused")
        with pytest.raises(tocsin.StorageFailed):
            async for _ in member:
                pass
        await member.close()
        again = await tocsin.join(path, "a")
        assert again.status()["journal"]["positions"]["all"] >= 1
        await again.close()

    run(body)


def test_a_site_that_is_no_founder_joins_a_running_group(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "abcd", head='founders = ["a", "b", "c"]', tail=PROCESS)

    async def body() -> None:
        members = [await tocsin.join(path, name) for name in "abc"]
        ears = [Ear(member) for member in members]
        for member in members:
            await member.ready()
            assert member.view is not None and member.view.members == ("a", "b", "c")
        for number in range(20):
            await (await members[0].broadcast(b"before %d" % number)).ordered()
        newcomer = await tocsin.join(path, "d")
        ear = Ear(newcomer, heard_before=20)  # positions are the group's
        await newcomer.ready()
        assert await (await newcomer.broadcast(b"from the newcomer")).ordered() == 20
        await (await members[1].broadcast(b"after")).ordered()
        await until(lambda: all(each.heard[-1][2] == b"after" for each in ears))
        await until(lambda: bool(ear.heard) and ear.heard[-1][2] == b"after")
        assert [payload for _, _, payload in ear.heard[20:]] == [b"from the newcomer", b"after"]
        assert [payload for _, _, payload in ears[2].heard[-2:]] == [b"from the newcomer", b"after"]
        assert tocsin.Missed("all", None, 0, 20) in ear.events
        await until(lambda: all(member.view is not None and len(member.view.members) == 4 for member in members))
        for member in (*members, newcomer):
            await member.close()

    run(body)
