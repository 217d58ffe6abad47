"""Which files a check or an audit reads of data folders; and one line for every folder that cannot be read whole."""

import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import tocsin
from tests.live.live_groups import run, until, waiting, write_group
from tocsin.cli.main import main
from tocsin.core.errors import InputError
from tocsin.judging import named_groups
from tocsin.live.group_config import read_group
from tocsin.live.operations.doctor import examine
from tocsin.live.storage.data_folders import opened
from tocsin.live.storage.file_format import MAGIC, log_path
from tocsin.live.storage.identity import is_running
from tocsin.live.storage.journal_checks import check_path
from tocsin.live.storage.journal_folder import JournalFolder, journal_files
from tocsin.live.storage.site_folders import find_site_folders
from tocsin.properties import check

pytestmark = pytest.mark.xdist_group("live")  # ports and cores are shared: one after the other

SMALL = '[journal]\ndurability = "process"\nsegment_bytes = 65_536\n'
MESSAGES = 240
ROWS = 2 * MESSAGES + 1  # a broadcast and a delivery each, and the end


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of a group of one member, which has several Arrow files and has stopped."""
    folder = tmp_path_factory.mktemp("group")
    path = write_group(folder, sites="a", tail=SMALL)

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        for number in range(MESSAGES):
            await (await member.broadcast(b"%d" % number + bytes(3000))).ordered()
        await until(lambda: len(journal_files(folder / "data" / "a" / "journal")) > 2)
        await member.close()

    run(body)
    return folder / "data"


@pytest.fixture
def data(grown: Path, tmp_path: Path) -> Path:
    """A copy, in a folder of its own."""
    shutil.copytree(grown, tmp_path / "top" / "data", ignore=shutil.ignore_patterns("*.sock"))
    return tmp_path / "top" / "data"


@pytest.fixture
def running(data: Path) -> Iterator[Path]:
    """The member's folder, its lock held as if it ran."""
    descriptor = os.open(data / "a" / "lock", os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    yield data / "a"
    os.close(descriptor)


def _refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    """The one line with which a command refuses its input."""
    assert main([str(word) for word in words]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    return told


# Retention beside a reader


def _retain_all_but_one(folder: Path) -> None:
    """What a running member's retention may do at any moment."""
    before = journal_files(folder / "journal")
    JournalFolder(folder, 1, 0).retain()
    assert len(journal_files(folder / "journal")) == 1 < len(before)


def test_what_is_opened_stays_though_retention_drops_it(running: Path) -> None:
    with opened([str(running)]) as files:
        _retain_all_but_one(running)
        report = check(files)
    assert report.rows == ROWS
    assert not any(verdict.verdict == "fail" for verdict in report.properties.values())
    assert not any(Path(file).exists() for file in files)


def test_where_no_links_can_be_made_files_are_copied_without_payloads(
    running: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        source.stat()
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    size = max(file.stat().st_size for file in (running / "journal").glob("*.arrow"))
    with opened([str(running)]) as files:
        _retain_all_but_one(running)
        assert all("payload" not in pa.ipc.open_file(file).schema.names for file in files if "journal/" in file)
        assert 0 < Path(files[0]).stat().st_size < size / 2
        assert check(files).rows == ROWS


def test_retention_between_listing_and_holding_leaves_no_hole(running: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link
    held: list[Path] = []

    def drop_after_the_second(source: Path, target: Path) -> None:
        link(source, target)
        held.append(source)
        if len(held) == 2:
            _retain_all_but_one(running)

    monkeypatch.setattr(os, "link", drop_after_the_second)
    with opened([str(running)]) as files:
        report = check(files)
        orders = [order for file in files for order in pa.ipc.open_file(file).read_all()["order"].to_pylist()]
    assert orders == list(range(orders[0], ROWS)) and orders[0] > 0
    assert not any(verdict.verdict == "fail" for verdict in report.properties.values())


def test_a_file_that_is_gone_is_told_with_the_likely_cause(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = _refused(capsys, "check", data / "a" / "journal" / "0000000077.arrow")
    assert "0000000077.arrow: cannot be read: no such file" in told and "retention has dropped it" in told


# Folders that are not read whole


def test_a_folder_above_the_data_folder_is_refused_and_names_it(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["check"], ["audit"], ["journal", "--trace", str(data / "t.parquet")]):
        assert f"found members in {data}; name that folder" in _refused(capsys, *words, data.parent)
        assert f"found members in {data}; name that folder" in _refused(capsys, *words, data.parent.parent)
    assert main(["check", str(data)]) == 0


def test_members_deeper_than_others_are_refused(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(data / "a", data / "old" / "a")
    assert f"found members in {data}, {data / 'old'}" in _refused(capsys, "check", data)


def test_a_member_without_its_identity_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(data / "a", data / "b")
    (data / "b" / "identity.json").unlink()
    calls: list[list[str | Path]] = [
        ["check", data],
        ["journal", data, "--trace", data / "t.parquet"],
        ["check", data / "b" / "journal"],
    ]
    for words in calls:
        assert f"{data / 'b'}: expected identity.json" in _refused(capsys, *words)
    shutil.rmtree(data / "b" / "wal")
    assert f"{data / 'b'}: expected identity.json" in _refused(capsys, "check", data)
    assert main(["check", str(data / "b" / "journal")]) == 0  # Arrow files alone are a trace


# Whether a member runs


def _as_somebody_else() -> bool:
    """Let go of the rights of root, which may write everything; False if there is nothing to let go of."""
    if os.geteuid() != 0:
        return False
    os.seteuid(65534)
    return True


def test_who_may_only_read_the_lock_can_tell_whether_the_member_runs() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
        (folder / "lock").chmod(0o444)
        changed = _as_somebody_else()
        try:
            assert not is_running(folder)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            assert is_running(folder)
        finally:
            if changed:
                os.seteuid(0)
            os.close(descriptor)


def test_where_it_cannot_be_told_nobody_guesses(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lock = data / "a" / "lock"
    lock.unlink()
    assert not is_running(data / "a")
    lock.symlink_to("lock")  # cannot be opened by anyone
    with pytest.raises(InputError, match="only it tells whether the member runs"):
        is_running(data / "a")
    assert "only it tells" in _refused(capsys, "check", data)
    group = read_group(write_group(data.parent, sites="a", tail=SMALL))
    [port] = [finding for finding in examine(group, 0) if finding.check == "port"]
    assert not port.ok and "only it tells" in port.found and port.cure


# Which folders are meant, and which groups their members have


def test_a_journal_is_known_from_inside_and_through_a_link(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = data.parent / "link"
    link.symlink_to(data / "a" / "journal")
    expected = tocsin.check(data).rows
    assert expected == ROWS
    monkeypatch.chdir(data / "a" / "journal")
    for path in (".", "../journal", "../../a", "..", link, link / "..", data / "a" / "journal" / "."):
        assert tocsin.check(path).rows == expected, path


def test_a_member_that_is_silent_in_its_group_is_asked(tmp_path: Path) -> None:
    """Members a and b make a group of their own, of which b hears nothing; c is in no group, and its rows are not read
    in the end."""
    path = write_group(tmp_path, sites="abc", tail='[groups]\npair = ["a", "b"]\nothers = ["c", "a"]\n')
    data = tmp_path / "data"

    async def body() -> None:
        a = await tocsin.join(path, "a", listen=False)
        b = await tocsin.join(path, "b", listen=False)
        await until(lambda: a.missing().keys() == b.missing().keys() == {"c"} and not waiting(a, b))
        b.inject("cut=a+c")
        await (await a.broadcast(b"unheard", group="pair")).ordered()
        assert named_groups(find_site_folders(data)) == {"pair": ["a", "b"], "others": ["a"]}, (
            "those whose folders are there"
        )
        found = tocsin.check(data, patience=0)["agreement"]
        assert found.verdict == "fail" and found.why is not None and "site b" in found.why
        assert tocsin.check(data / "a", patience=0)["agreement"].verdict == "pass", "nothing is known of b"
        identity = json.loads((data / "b" / "identity.json").read_text())
        (data / "b" / "identity.json").write_text(json.dumps(identity | {"groups": {"pair": ["b", "c"]}}))
        assert named_groups(find_site_folders(data)) == {"others": ["a"]}, "of `pair` the two say different things"
        await a.close()
        await b.close()

    run(body)


# Files that are damaged, or of another version


def test_an_arrow_file_that_is_cut_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = data / "a" / "journal" / "0000000001.arrow"
    file.write_bytes(file.read_bytes()[:-1000])
    for verb in ("check", "journal"):
        assert f"{file}: offset 0: damaged since it was written" in _refused(capsys, verb, data)
    check_path(file.parent, 1).unlink()
    for verb in ("check", "journal"):
        assert f"{file}: expected an Arrow file" in _refused(capsys, verb, data)


def test_an_arrow_file_that_was_changed_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Arrow itself would not notice: a payload is any bytes."""
    file = data / "a" / "journal" / "0000000001.arrow"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    for verb in ("check", "journal"):
        assert f"{file}: offset 0: damaged since it was written" in _refused(capsys, verb, data)


def test_journals_are_their_owners_alone(data: Path) -> None:
    for folder in (data / "a", data / "a" / "journal", data / "a" / "wal"):
        assert folder.stat().st_mode & 0o777 == 0o700
    files = [*(data / "a" / "journal").iterdir(), *(data / "a" / "wal").iterdir()]
    assert len(files) > 4 and all(file.stat().st_mode & 0o777 == 0o600 for file in files)


def test_a_clock_that_jumps_drops_nothing(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Age is counted by the journal's own clock: how long the member ran."""
    before = journal_files(data / "a" / "journal")
    monkeypatch.setattr(time, "time", lambda: 4e9)
    folder = JournalFolder(data / "a", 1 << 40, 60)
    folder.retain()
    assert journal_files(data / "a" / "journal") == before
    started = time.monotonic_ns()
    monkeypatch.setattr(time, "monotonic_ns", lambda: started + 90 * 10**9)
    folder.retain()
    assert journal_files(data / "a" / "journal") == before[-1:]
    assert not check_path(data / "a" / "journal", before[0]).exists()


def test_a_folder_that_has_the_name_of_an_arrow_file_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = data / "a" / "journal" / "0000000099.arrow"
    folder.mkdir()
    for verb in ("check", "journal"):
        assert f"{folder}: expected an Arrow file" in _refused(capsys, verb, data)


def test_a_damaged_file_is_told_by_its_own_name_not_by_that_of_the_held_one(data: Path) -> None:
    with pytest.raises(InputError) as told, opened([str(data)]) as files:
        raise InputError(f"{files[0]}: cannot be read")
    assert str(told.value) == f"{data / 'a' / 'journal' / '0000000000.arrow'}: cannot be read"


def test_an_identity_that_is_none_of_the_sites_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = data / "a" / "identity.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"site": "z"}))
    for verb in ("check", "journal"):
        assert f"{path}: `site`: expected one of `sites`, found `z`" in _refused(capsys, verb, data)


def test_journals_of_the_first_version_name_it_and_the_cure(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = data / "a" / "journal" / "0000000000.arrow"
    file.unlink()
    check_path(file.parent, 0).unlink()
    table = pa.table({"event": ["deliver"], "time_us": [1], "seqno": [0], "frame": [0], "count": [1]})
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    for verb in ("check", "journal"):
        told = _refused(capsys, verb, data)
        assert "Tocsin 0.1.0" in told and "tocsin journal DIR --trace" in told


def test_logs_of_the_first_version_name_it_and_the_cure(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(data / "a" / "journal")
    for file in (data / "a" / "wal").glob("*.wal"):
        file.unlink()
    log_path(data / "a" / "wal", 0).write_bytes(MAGIC[:-1] + b"2" + bytes(100))
    for verb in ("check", "journal"):
        told = _refused(capsys, verb, data)
        assert "Tocsin 0.1.0" in told and "tocsin journal DIR --trace" in told
