"""`tocsin scrub`, and a running member's own: damage anywhere in a folder is named, and nothing else is."""

import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import tocsin
from tests.live.live_groups import run, until, write_group
from tocsin.cli.main import main
from tocsin.live.frame_format import pack
from tocsin.live.storage import scrub as scrubbing
from tocsin.live.storage.identity import Identity, write_identity
from tocsin.live.storage.journal_folder import JournalFolder
from tocsin.live.storage.log import Log
from tocsin.live.storage.scrub import ReadingDisk, Scrubber, scrub
from tocsin.live.stream import Stream

pytestmark = pytest.mark.xdist_group("live")

IDENTITY = Identity(group="g", protocol="ack_all", site="a", sites=("a", "b"), groups={"all": ["a", "b"]})


def _fill(folder: Path, frames: int, size: int, file_bytes: int) -> Log:
    """A member's folder, with a log of so many frames of this size."""
    folder.mkdir(mode=0o700, exist_ok=True)
    write_identity(folder, IDENTITY)
    log = Log(folder / "wal", 1, file_bytes)
    stream = Stream(0, log.frames)
    for number in range(frames):
        payload = pack(number, [random.Random(number).randbytes(size)])
        op, _ = stream.deliver(0, number, payload)
        log.stage_checkpoint([b"record %d" % number])
        log.stage_delivery(op, payload)
        laid = log.layout()
        log.write(laid)
        log.apply(laid)
        stream.on_applied([])
    log.sync()
    return log


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files of the log, of which one is in the journal."""
    folder = tmp_path_factory.mktemp("data") / "a"
    log = _fill(folder, 60, 3000, 1 << 16)
    assert log.closed() == [0, 1]
    JournalFolder(folder, 1 << 40, 0).add(0)
    log.close()
    return folder


def test_a_log_that_is_gone_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_identity(folder, msgspec.structs.replace(IDENTITY, incarnation=1))
    assert scrub(folder, ReadingDisk()).damaged == []
    shutil.rmtree(folder / "wal")
    assert [(each.file, each.what) for each in scrub(folder, ReadingDisk()).damaged] == [
        (str(folder / "wal"), "no file of the log is there any more")
    ]
    assert main(["scrub", str(folder)]) == 1
    assert f"{folder / 'wal'}: offset 0: no file of the log" in capsys.readouterr().out


@pytest.fixture
def folder(grown: Path, tmp_path: Path) -> Path:
    shutil.copytree(grown, tmp_path / "data" / "a")
    return tmp_path / "data" / "a"


def _scrubbed(capsys: pytest.CaptureFixture[str], path: Path) -> dict[str, object]:
    code = main(["scrub", str(path), "--json"])
    answer: dict[str, object] = json.loads(capsys.readouterr().out)
    assert list(answer) == ["files", "bytes", "damaged"] and code == bool(answer["damaged"])
    return answer


def test_what_is_whole_is_told_to_be(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = _scrubbed(capsys, folder.parent)
    assert answer["files"] == 4 and answer["damaged"] == []
    assert isinstance(answer["bytes"], int) and answer["bytes"] > 60 * 3000


def _used(folder: Path) -> Iterator[tuple[Path, int]]:
    """Files, and how many of their bytes belong to them."""
    log = Log(folder / "wal", 1, 1 << 16)
    sizes = {0: log._files.sizes[0], 1: log._files.sizes[1], 2: log._end.end}
    log.close()
    for file, size in sizes.items():
        yield folder / "wal" / f"{file:010d}.wal", size
    arrow = folder / "journal" / "0000000000.arrow"
    yield arrow, arrow.stat().st_size


def test_any_flipped_bit_is_found_and_nothing_is_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(4)
    for path, size in list(_used(folder)):
        whole = path.read_bytes()
        for at in [0, 9, 30, size - 1, *(rng.randrange(12_288, size) for _ in range(12))]:
            data = bytearray(whole)
            data[at] ^= 1 << rng.randrange(8)
            path.write_bytes(data)
            [finding] = scrub(folder, ReadingDisk()).damaged
            assert finding.file == str(path) and finding.what and finding.offset <= max(at, 12_288)
            assert path.read_bytes() == data
        path.write_bytes(whole)
    assert _scrubbed(capsys, folder)["damaged"] == []


def test_missing_files_are_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("wal/0000000000.wal", "wal/0000000002.wal", "wal/marks", "journal/.0000000000.check", "identity.json"):
        data = (folder / name).read_bytes()
        (folder / name).unlink()
        if name == "identity.json":
            assert main(["scrub", str(folder)]) == 2  # nobody's folder
            capsys.readouterr()
        else:
            damaged = _scrubbed(capsys, folder)["damaged"]
            assert isinstance(damaged, list) and len(damaged) == 1, name
        (folder / name).write_bytes(data)


def test_people_get_lines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "wal" / "0000000001.wal"
    data = bytearray(path.read_bytes())
    data[20_000] ^= 1
    path.write_bytes(data)
    assert main(["scrub", str(folder.parent)]) == 1
    told = capsys.readouterr()
    assert told.out.startswith(f"{path}: offset ") and "positions" in told.out and told.out.count("\n") == 1
    assert "4 files" in told.err


def test_a_running_member_scrubs_itself_and_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrubbing, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(scrubbing, "REST_SECONDS", 0.0)
    tail = '[journal]\ndurability = "process"\nsegment_bytes = 65_536\nscrub_bytes_per_s = 100_000_000\n'
    path = write_group(tmp_path, sites="a", tail=tail)
    folder = tmp_path / "data" / "a"

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        for number in range(150):
            await (await member.broadcast(b"%d" % number + bytes(3000))).ordered()
        seen = member.status()["scrub"]["passes"]
        await until(lambda: member.status()["scrub"]["passes"] > seen + 2)
        assert member.status()["scrub"]["damaged"] == [], "files come and go, and the newest is being written"
        arrow = min((folder / "journal").glob("*.arrow"))
        with open(arrow, "r+b") as file:
            file.seek(arrow.stat().st_size // 2)
            file.write(b"rot")
        await until(lambda: member.status()["scrub"]["damaged"] != [])
        assert member.status()["scrub"]["damaged"][0]["file"] == str(arrow)
        await member.close()

    run(body)


def test_the_rate_is_kept_and_stopping_is_quick(folder: Path) -> None:
    waited: list[float] = []
    disk = ReadingDisk(1 << 20, waited.append)
    scrub(folder, disk)
    assert sum(waited) == pytest.approx(disk.bytes / (1 << 20))
    scrubber = Scrubber(folder, 1000)
    scrubber.stop()
    scrubber._thread.join(2.0)
    assert not scrubber._thread.is_alive() and scrubber.passes == 0


@pytest.mark.long
def test_scrub_and_recovery_read_at_the_speed_of_the_disk(tmp_path: Path) -> None:
    """Recovery in the time of reading once, scrub at half the speed of reading at least; both with checks, a log of
    1 GiB in frames of 60 KiB as a busy member has them. From the system's memory, which no disk outruns."""
    folder = tmp_path / "a"
    log = _fill(folder, 17_476, 61_440, 16 << 20)
    log.close()
    files = sorted((folder / "wal").glob("*.wal"))
    buffer = bytearray(1 << 20)

    def read_all() -> None:
        for path in files:
            with open(path, "rb", buffering=0) as file:
                while file.readinto(buffer):
                    pass

    def recover_all() -> None:
        again = Log(folder / "wal", 1, 16 << 20)
        assert again.frames.end(0) == 17_476
        again.close()

    def timed(work: object) -> float:
        assert callable(work)
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    read_all()
    reading = min(timed(read_all) for _ in range(3))
    recovering = min(timed(recover_all) for _ in range(3))
    os.sync()
    for path in files:
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
    from_disk = timed(read_all)
    scrubbing_s = timed(lambda: scrub(folder, ReadingDisk()))
    print(f"1 GiB: read {reading:.2f} s, recovered {recovering:.2f}; disk {from_disk:.2f}, scrubbed {scrubbing_s:.2f}")
    assert scrubbing_s < 2 * from_disk + 0.5
    assert recovering < from_disk + reading + 0.5
