"""A backup of a group, and a new group of it: the order goes on, numbers are known, the state is there."""

import asyncio
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tocsin
from tests.live.live_groups import run, write_group
from tests.live.test_consumer import take
from tests.live.test_handover import retried
from tests.live.test_sent_once import joined, send
from tocsin.backups.backup_file import Backup
from tocsin.backups.restoring import restore_group
from tocsin.backups.writing import write_backup
from tocsin.core.errors import InputError
from tocsin.live.group_config import read_group
from tocsin.live.storage.data_folders import opened as data_opened
from tocsin.properties import check
from tocsin.traces.reader import read_rows

pytestmark = pytest.mark.xdist_group("live")


def tocsin_command(*words: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error", "-m", "tocsin.cli.main", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def new_group(tmp_path: Path, protocol: str = "counter_token", sites: str = "abc") -> Path:
    (tmp_path / "new").mkdir()
    return write_group(tmp_path / "new", protocol, sites)


@pytest.mark.parametrize("protocol", ["counter_token", "two_phase"])
def test_a_new_group_goes_on_where_the_old_one_was(tmp_path: Path, protocol: str) -> None:
    path = write_group(tmp_path, protocol, tail="[journal]\nsegment_bytes = 65536\n")
    out = tmp_path / "orders.backup"

    async def fill() -> None:
        a, b, c = await joined(path)
        for number in range(20):
            await send(a, b"%d" % number, "till", number)
            await (await b.broadcast_many([b"x" * 2000] * 3)).ordered()
        made = await asyncio.to_thread(tocsin_command, "backup", path, out, "--json")  # while they run
        assert made.returncode == 0, made.stderr
        told = json.loads(made.stdout)
        assert told["groups"] == {"all": {"first": 0, "end": 80}} and told["state"] is None
        for member in (a, b, c):
            await member.close()

    run(fill)
    new = new_group(tmp_path, protocol)
    restored = tocsin_command("restore", out, new, "--json")
    assert restored.returncode == 0, restored.stderr
    assert json.loads(restored.stdout)["sites"] == ["a", "b", "c"]

    async def go_on() -> None:
        a, b, c = await joined(new, after="start")
        old = await take(a, 80)
        assert [event.position for event in old] == list(range(80))
        assert [event.payload for event in old if event.producer == "till"] == [b"%d" % n for n in range(20)]
        assert await retried(b, b"7", "till", 7) == 28, "a repeat of the old group's"
        assert await retried(c, b"20", "till", 20) == 80
        [event] = await take(a, 1)
        assert (event.position, event.payload) == (80, b"20")
        numbers = {(each.origin, each.seqno) for each in old}
        for member in (a, b, c):
            receipt = await member.broadcast(b"new")
            await receipt.ordered()
            assert (member.name, receipt.seqno) not in numbers, "numbers are never used again"
        for member in (a, b, c):
            await member.close()
        a, b, c = await joined(new, consumer="late")
        assert [event.position for event in await take(c, 84)] == list(range(84))
        for member in (a, b, c):
            await member.close()

    run(go_on)
    with data_opened([str(tmp_path / "new" / "data")]) as files:
        report = check(read_rows(map(Path, files)), one_clock=False)
    failed = {name: found.why for name, found in report.properties.items() if found.verdict == "fail"}
    assert not failed


def test_the_state_comes_along(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "ab")
    out = tmp_path / "orders.backup"

    async def fill() -> None:
        async with (
            tocsin.recipes.open(path, "a", snapshot_every=20) as a,
            tocsin.recipes.open(path, "b", snapshot_every=20) as b,
        ):
            for number in range(50):
                await a.map("prices").set(b"%d" % number, b"%d" % number, timeout=30)
            assert await b.lock("till").acquire(timeout=30) == 1

    run(fill)
    about = write_backup(read_group(path), out)
    assert about.state is not None and about.state > 0
    new = new_group(tmp_path, sites="abc")
    with pytest.raises(InputError, match="exists already"):
        write_backup(read_group(path), out)
    backup = Backup(out)
    assert restore_group(backup, read_group(new)) == ["a", "b", "c"]
    with pytest.raises(InputError, match="nothing was touched"):
        restore_group(backup, read_group(new))
    backup.close()

    async def go_on() -> None:
        async with (
            tocsin.recipes.open(new, "a") as a,
            tocsin.recipes.open(new, "b") as b,
            tocsin.recipes.open(new, "c") as c,
        ):
            await a.map("prices").set(b"new", b"1", timeout=30)
            for each in (a, b, c):
                assert await each.map("prices").get_synced(b"33", timeout=30) == b"33"
            assert await c.lock("till").acquire(timeout=30) == 2, "who held it is gone; tokens grow"

    run(go_on)


def test_members_with_and_without_a_backup_do_not_meet(tmp_path: Path) -> None:
    """They would count differently. A lost disk is restored again, and comes back as a new incarnation."""
    path = write_group(tmp_path, "counter_token", "a")

    async def fill() -> None:
        async with tocsin.join(path, "a") as member:
            await (await member.broadcast_many([b"x"] * 9)).ordered()

    run(fill)
    write_backup(read_group(path), tmp_path / "out")
    new = new_group(tmp_path)
    backup = Backup(tmp_path / "out")
    restore_group(backup, read_group(new))
    shutil.rmtree(tmp_path / "new" / "data" / "c")

    async def body() -> None:
        a, b, c = [await tocsin.join(new, name) for name in "abc"]
        while "restored" not in a.missing().get("c", ""):
            await asyncio.sleep(0.02)
        await c.close()
        restore_group(backup, read_group(new), "c")
        c = await tocsin.join(new, "c")
        for member in (a, b, c):
            await member.ready(30)
        assert await (await c.broadcast(b"x")).ordered() == 9
        await c.close()
        shutil.rmtree(tmp_path / "new" / "data" / "c")
        restore_group(backup, read_group(new), "c")
        c = await tocsin.join(new, "c")
        await c.ready(30)
        assert await (await c.broadcast(b"x")).ordered() == 10
        for member in (a, b, c):
            await member.close()

    run(body)
    backup.close()


def test_hostile_backups_are_refused_in_one_line(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "a")

    async def fill() -> None:
        async with tocsin.join(path, "a") as member:
            await send(member, b"1", "till", 1)
            await (await member.broadcast_many([b"x" * 50] * 40)).ordered()

    run(fill)
    out, bad = tmp_path / "out", tmp_path / "bad"
    write_backup(read_group(path), out)
    whole = out.read_bytes()
    tried = 0
    for data in (b"", b"PK", whole[:100], whole[:-40], whole[30:]):
        bad.write_bytes(data)
        with pytest.raises(InputError, match="bad: expected a backup"):
            Backup(bad)
    for at in range(0, len(whole), 97):  # one byte is another
        bad.write_bytes(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1 :])
        try:
            Backup(bad).close()  # it may be one that nobody reads
        except InputError:
            tried += 1
    assert tried > len(whole) / 97 / 2
    with zipfile.ZipFile(out) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    about = json.loads(parts["backup.json"])
    changes: tuple[dict[str, object], ...] = (
        {"format": 9},
        {"groups": {}},
        {"groups": {"all": {"first": 0, "end": 7}}},
        {"groups": {"all": {"first": 5, "end": 41}}},
        {"groups": {"../../etc": {"first": 0, "end": 0}}},
        {"state": 3},
        {"checks": {}},
    )
    for change in changes:
        with zipfile.ZipFile(bad, "w") as file:
            for name, content in {**parts, "backup.json": json.dumps({**about, **change}).encode()}.items():
                file.writestr(name, content)
        with pytest.raises(InputError, match="bad: expected a backup"):
            Backup(bad)
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    with pytest.raises(InputError, match="packed"):
        Backup(bad)
    refused = tocsin_command("restore", bad, path)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and not refused.stdout


def test_what_cannot_be_backed_up(tmp_path: Path) -> None:
    with pytest.raises(tocsin.NotSupported, match="see counter_token"):
        write_backup(read_group(write_group(tmp_path, "ack_all")), tmp_path / "out")
    shutil.rmtree(tmp_path / "data", ignore_errors=True)
    refused = tocsin_command("backup", write_group(tmp_path, "counter_token"), tmp_path / "out")
    assert refused.returncode == 2 and "found none; run it where" in refused.stderr
    assert not (tmp_path / "out").exists()
