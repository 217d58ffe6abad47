"""The journal and the small files over the modelled disk: what leaves the log is in an Arrow file first, whole and
synced; what is damaged later is named; a small file is the old one or the new one."""

import copy
import random
from collections import Counter
from pathlib import Path

import pytest

from tests.live import damage
from tests.live.modelled_disk import Crash, ModelledDisk
from tocsin.core.errors import InputError
from tocsin.live.errors import StorageFailed
from tocsin.live.frame_format import pack
from tocsin.live.storage.identity import Identity, read_identity, write_identity
from tocsin.live.storage.journal_checks import require_as_written
from tocsin.live.storage.journal_folder import JournalFolder, journal_files, journal_path
from tocsin.live.storage.journal_rows import RowMaker, Standing
from tocsin.live.storage.journal_writer import arrow_file, file_batches, standing_after, standing_at
from tocsin.live.storage.log import Log
from tocsin.live.storage.log_reader import LogReader
from tocsin.live.stream import Stream

SITE = Path("a")
IDENTITY = Identity(group="g", protocol="ack_all", site="a", sites=("a",), groups={"all": ["a"]})


class Story:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.disk = ModelledDisk(seed)
        self.syncs = self.rng.random() < 0.5
        self.delivered: list[bytes] = []  # also those that were only attempted
        self.synced = 0  # so many of them must survive a power loss
        self.written = 0  # and so many kill -9
        self._ends: dict[tuple[int, int], int] = {}  # by where a batch ends: so many were delivered then
        write_identity(SITE, IDENTITY, self.disk)

    def live(self, steps: int) -> None:
        log = Log(SITE / "wal", 1, 5000, self.syncs, self.disk)
        stream = Stream(0, log.frames)
        journal = JournalFolder(SITE, 1 << 40, 0, self.disk)
        for _ in range(steps):
            if self.rng.random() < 0.7:
                self._deliver(log, stream)
            elif log.closed():
                for file in [file for file in log.closed() if file >= journal.next_file][:1]:
                    journal.add(file)
                if self.rng.random() < 0.5:
                    log.secure(log.file)
                log.recycle(log.release([log.frames.end(0)], journal.next_file))
                self.synced = max(self.synced, self._ends.get(log._writer.synced(), 0))

    def _deliver(self, log: Log, stream: Stream) -> None:
        number = log.frames.end(0)
        message = b"%d " % number + self.rng.randbytes(self.rng.choice((10, 500, 2000)))
        payload = pack(number, [message])
        op, _ = stream.deliver(0, number, payload)
        log.stage_checkpoint([b"record"])
        log.stage_delivery(op, payload)
        laid = log.layout()
        self.delivered.append(message)
        log.write(laid)
        self.written = self._ends[(laid.file, laid.end.end)] = len(self.delivered)
        if self.syncs:
            log.sync()
            self.synced = self.written
        log.apply(laid)
        stream.on_applied([])


def rows(disk: ModelledDisk) -> list[bytes]:
    """All deliveries, from the Arrow files and from the log behind them, as readers take them."""
    folder = SITE / "journal"
    identity = read_identity(SITE, disk)
    found: list[bytes] = []
    standing, last = Standing(), -1
    for file in journal_files(folder, disk):
        path = journal_path(folder, file)
        require_as_written(disk, path)
        with arrow_file(path, disk) as reader:
            found += _payloads([reader.get_batch(number) for number in range(reader.num_record_batches)])
        standing, last = standing_after(path, disk), file
    log = LogReader(SITE / "wal", disk)
    maker = RowMaker(identity, log)
    for file in [file for file in log.files() if file > last]:
        if last >= 0 and file == last + 1:
            maker.go_on_from(standing_at(log, file, last, standing))
        found += _payloads(list(file_batches(maker, log, file)))
    return found


def _payloads(batches: list[object]) -> list[bytes]:
    return [
        payload
        for batch in batches
        for payload in batch.column("payload").to_pylist()  # type: ignore[attr-defined]
        if payload is not None
    ]


def run_case(seed: int, happened: Counter[str]) -> int:
    story = Story(seed)
    disk, rng = story.disk, story.rng
    disk.calls = 0
    disk.crash_at = rng.choice((-1, rng.randrange(1, 300)))
    try:
        story.live(rng.randrange(5, 60))
    except Crash:
        happened["crash"] += 1
    except StorageFailed:
        happened["failure"] += 1
    is_kill = rng.random() < 0.5
    if is_kill:
        disk.kill()
    else:
        disk.lose_power()
    must = story.written if is_kill else story.synced
    Log(SITE / "wal", 1, 5000, story.syncs, disk).close()
    found = rows(disk)
    assert found == story.delivered[: len(found)] and len(found) >= must, f"seed {seed}: {len(found)} of {must}"
    happened["arrow file"] += bool(journal_files(SITE / "journal", disk))
    for number, kind in enumerate(damage.KINDS):
        harmed = copy.deepcopy(disk)
        if kind(harmed, rng):
            try:
                again = rows(harmed)
            except InputError:
                happened["named"] += 1
            else:
                happened["read"] += 1
                what = f"seed {seed}, damage {number}: {kind.__name__}"
                assert again == story.delivered[: len(again)] or kind is damage.lose_file, what
    return 1 + len(damage.KINDS)


def _run(first_seed: int, seeds: int) -> None:
    happened: Counter[str] = Counter()
    cases = sum(run_case(seed, happened) for seed in range(first_seed, first_seed + seeds))
    print(f"{cases} cases: {dict(happened)}")
    assert all(happened[what] for what in ("crash", "arrow file", "named", "read"))


def test_what_leaves_the_log_is_in_the_journal() -> None:
    _run(0, 60)


@pytest.mark.long
def test_what_leaves_the_log_is_in_the_journal_in_2_000_stories() -> None:
    _run(10_000, 2_000)


def test_a_small_file_is_the_old_one_or_the_new_one() -> None:
    for call in range(1, 8):
        for is_kill in (True, False):
            disk = ModelledDisk(call)
            disk.write_whole(SITE / "sessions.json", b"old")
            disk.crash_at = disk.calls + call
            try:
                disk.write_whole(SITE / "sessions.json", b"new, and longer")
                disk.crash_at = -1
                expected = {b"new, and longer"}
            except Crash:
                expected = {b"old", b"new, and longer"}
            if is_kill:
                disk.kill()
            else:
                disk.lose_power()
            assert disk.read_whole(SITE / "sessions.json") in expected
