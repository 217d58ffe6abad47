"""A member whose folder is lost, older than what others know, or damaged comes back by itself, as a new incarnation:
without silence, without a number twice, and without halting the others. Every protocol, live."""

import asyncio
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import tocsin
from tests.live.live_groups import all_live, run, until, write_group
from tocsin.core.machine import RENEWAL_GAP
from tocsin.live.storage.file_format import BATCHES_AT
from tocsin.protocols.registry import REGISTRY

pytestmark = pytest.mark.xdist_group("live")  # ports and cores are shared: one after the other

PROCESS = '[journal]\ndurability = "process"\n'
OPTIONS = {"tree_ack": '[options]\ndetector = "timeout"\n'}


class Ear:
    """Takes what a member hears."""

    def __init__(self, member: tocsin.Member) -> None:
        self.payloads: list[bytes] = []
        self.numbers: list[tuple[str, int]] = []
        self.missed: list[tocsin.Missed] = []
        self.error: Exception | None = None
        self._task = asyncio.create_task(self._listen(member))

    async def _listen(self, member: tocsin.Member) -> None:
        try:
            async for event in member:
                if isinstance(event, tocsin.Delivery):
                    self.payloads.append(event.payload)
                    self.numbers.append((event.origin, event.seqno))
                elif isinstance(event, tocsin.Rollback):
                    self.payloads.pop()
                    self.numbers.pop()
                elif isinstance(event, tocsin.Missed):
                    self.missed.append(event)
        except tocsin.TocsinError as error:
            self.error = error


def _wipe(folder: Path, _: Path) -> None:
    shutil.rmtree(folder)


def _restore(folder: Path, copy: Path) -> None:
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)


def _damage(folder: Path, _: Path) -> None:
    path = sorted((folder / "wal").glob("*.wal"))[0]
    data = bytearray(path.read_bytes())
    data[BATCHES_AT + 60] ^= 4
    path.write_bytes(data)


async def _broadcast(member: tocsin.Member, payload: bytes) -> tocsin.Receipt:
    """Between two views, while somebody comes or goes, nothing can be ordered: wait, as an application does."""
    while True:
        try:
            return await member.broadcast(payload)
        except tocsin.NotPrimary:
            await member.ready(30)


async def _heard(payload: bytes, *ears: Ear) -> None:
    await until(lambda: all(payload in ear.payloads or ear.error for ear in ears))
    assert [ear.error for ear in ears] == [None] * len(ears)


def _is_accounted_for(known: list[tuple[str, int]], ear: Ear) -> bool:
    """Whether everything that others had delivered was heard again, or told as missed."""
    lacking = [number for number in known if number not in ear.numbers]
    return sum(event.count for event in ear.missed) >= len(lacking)


def _folder_copied(tmp_path: Path) -> Path:
    folder, copy = tmp_path / "data" / "a", tmp_path / "copy"
    (folder / "status.sock").unlink(missing_ok=True)
    shutil.copytree(folder, copy)
    return copy


@pytest.mark.parametrize("lose", [_wipe, _restore, _damage])
@pytest.mark.parametrize("protocol", sorted(REGISTRY))
def test_a_folder_that_is_lost_older_or_damaged(
    tmp_path: Path, protocol: str, lose: Callable[[Path, Path], None]
) -> None:
    path = write_group(tmp_path, protocol, tail=PROCESS + OPTIONS.get(protocol, ""))
    folder = tmp_path / "data" / "a"

    async def body() -> None:
        a, b, c = [await tocsin.join(path, name) for name in "abc"]
        ears = [Ear(member) for member in (a, b, c)]
        for member in (a, b, c):
            await member.ready()
        await until(lambda: all_live([a, b, c]))
        await _broadcast(a, b"one")
        await _heard(b"one", *ears)
        await a.close()
        copy = _folder_copied(tmp_path)
        a = await tocsin.join(path, "a")
        ears[0] = Ear(a)
        await a.ready()
        await until(lambda: all_live([a]))
        await _broadcast(a, b"two")
        await _broadcast(b, b"of b")
        await until(lambda: all(member.status()["peers"]["a"]["life"] == 1 for member in (b, c)))
        await _heard(b"two", *ears)
        await _heard(b"of b", *ears[1:])
        await a.close()
        known = list(ears[1].numbers)
        lose(folder, copy)
        a = await tocsin.join(path, "a")
        ears[0] = Ear(a)
        receipt = await _broadcast(a, b"waits until it was asked")
        await a.ready(30)
        await until(lambda: all_live([a, b, c]))
        identity = a.status()["identity"]
        assert identity["incarnation"] == 2 and identity["renewed"] and identity["first_number"] >= RENEWAL_GAP
        await until(lambda: all(member.status()["peers"]["a"]["incarnation"] == 2 for member in (b, c)))
        await receipt.ordered()
        await _heard(b"waits until it was asked", *ears)  # what others sent before that may be told as missed
        await _broadcast(b, b"after")
        await _broadcast(c, b"after, of c")
        await _broadcast(a, b"of a")
        await _heard(b"of a", *ears)
        for ear in ears:
            await _heard(b"after", ear)
            await _heard(b"after, of c", ear)
        await until(lambda: _is_accounted_for(known, ears[0]))
        assert len(set(ears[1].numbers)) == len(ears[1].numbers), "a number twice"
        assert max(number for origin, number in ears[1].numbers if origin == "a") >= RENEWAL_GAP
        if lose is not _wipe:
            assert (folder / "aside-1" / "wal").is_dir(), "nothing is deleted"
        for member in (a, b, c):
            await member.close()

    run(body)
    found = tocsin.check(tmp_path / "data", patience=0)
    assert found["integrity"].verdict != "fail", found["integrity"].why


def test_a_damaged_folder_alone_is_refused_with_what_would_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_group(tmp_path, sites="ab", tail=PROCESS)
    monkeypatch.setattr("tocsin.live.member.DAMAGED_SECONDS", 0.3)

    async def body() -> None:
        a, b = await tocsin.join(path, "a"), await tocsin.join(path, "b")
        await (await a.broadcast(b"one")).ordered()
        await a.close()
        await b.close()
        _damage(tmp_path / "data" / "a", Path())
        before = sorted(os.listdir(tmp_path / "data" / "a" / "wal"))
        with pytest.raises(tocsin.Damaged, match=r"would lose .* nobody answered within 0\.3 s"):
            await tocsin.join(path, "a")
        assert sorted(os.listdir(tmp_path / "data" / "a" / "wal")) == before, "nothing was changed"
        a, b = await tocsin.join(path, "b"), await tocsin.join(path, "a")
        await until(lambda: all_live([a, b]))
        assert b.status()["identity"]["incarnation"] == 2
        await a.close()
        await b.close()

    run(body)


def test_who_waits_says_for_whom_and_goes_on_when_they_come(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = write_group(tmp_path, sites="abcde", tail=PROCESS)

    async def body() -> None:
        members = [await tocsin.join(path, "a"), await tocsin.join(path, "b")]
        receipt = await members[0].broadcast(b"early")
        await until(lambda: "1 of c, d, e" in caplog.text or "c or d or e" in caplog.text)
        waits_for = members[0].status()["identity"]["waits_for"]
        assert waits_for.startswith("c or d or e: somebody has to say")
        assert members[0].status()["queues"]["to_broadcast"] == 1
        members.append(await tocsin.join(path, "c"))
        assert await receipt.ordered() == 0
        for member in members:
            await member.close()

    run(body)


def test_a_member_that_is_up_and_meets_who_knows_more_stops(tmp_path: Path) -> None:
    """Of five, those who knew were away when an old copy was started; then one comes back."""
    path = write_group(tmp_path, sites="abcde", tail=PROCESS)
    data = tmp_path / "data"

    async def body() -> None:
        members = {name: await tocsin.join(path, name) for name in "abcde"}
        await until(lambda: all_live(list(members.values())))
        for name in "abde":
            await members[name].close()
        await members["c"].close()
        copy = _folder_copied(tmp_path)
        members = {name: await tocsin.join(path, name) for name in "abc"}  # d and e hear nothing of this life
        await until(lambda: all(member._driver is not None for member in members.values()))
        receipt = await members["a"].broadcast(b"known to b and c")
        await receipt.ordered()
        ears = [Ear(members[name]) for name in "bc"]
        await _heard(b"known to b and c", *ears)
        for member in members.values():
            await member.close()
        _restore(data / "a", copy)
        members = {name: await tocsin.join(path, name) for name in "ade"}
        await until(lambda: all(member._driver is not None for member in members.values()))
        assert members["a"].status()["identity"]["incarnation"] == 1, "nobody knew"
        members["b"] = await tocsin.join(path, "b")
        ear = Ear(members["a"])
        await until(lambda: ear.error is not None)
        assert isinstance(ear.error, tocsin.Regressed) and "b knows more of it than its own folder" in str(ear.error)
        assert "start it again" in str(ear.error)
        await members["a"].close()
        members["a"] = await tocsin.join(path, "a")
        await until(lambda: members["a"]._driver is not None)
        assert members["a"].status()["identity"]["incarnation"] == 2
        for member in members.values():
            await member.close()

    run(body)


def test_a_restart_with_its_own_folder_is_the_same_incarnation(tmp_path: Path) -> None:
    """kill -9 and stops in order: nobody mistakes that for an old copy, whatever was told a moment ago."""
    path = write_group(tmp_path, sites="ab", tail=PROCESS)

    async def body() -> None:
        a, b = await tocsin.join(path, "a"), await tocsin.join(path, "b")
        members = {"a": a, "b": b}
        for life in range(5):
            for number in range(20):
                await members["a"].broadcast(b"%d %d" % (life, number))
            await until(lambda: all_live(list(members.values())))
            name = "ab"[life % 2]
            await (members[name].leave() if life < 3 else members[name].close())
            members[name] = await tocsin.join(path, name)
        await until(lambda: all_live(list(members.values())))
        for member in members.values():
            assert member.status()["identity"]["incarnation"] == 1 and member.status()["failed"] is None
            await member.close()

    began = time.monotonic()
    run(body)
    assert time.monotonic() - began < 30
