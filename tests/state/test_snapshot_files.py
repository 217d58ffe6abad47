"""Snapshots in a member's folder, over a disk that loses and damages."""

import random
from pathlib import Path

from tests.live.modelled_disk import Crash, ModelledDisk
from tocsin.live.errors import StorageFailed
from tocsin.state.images import Image
from tocsin.state.snapshot_files import SnapshotFiles

FOLDER = Path("/a")


def _image(position: int) -> Image:
    return Image(position, b"%d," % position * 400)


def test_the_newest_that_was_written_is_there_after_any_crash() -> None:
    cut = 0
    for seed in range(300):
        disk, rng = ModelledDisk(seed), random.Random(seed)
        written = begun = 0
        for _ in range(rng.randrange(1, 4)):
            files = SnapshotFiles(FOLDER, disk)
            disk.calls = 0
            setattr(disk, rng.choice(("crash_at", "fail_at")), rng.choice((-1, rng.randrange(1, 20))))
            try:
                for _ in range(rng.randrange(4)):
                    begun += 10
                    files.write(_image(begun))
                    written = begun
            except (Crash, StorageFailed):
                cut += 1
            if rng.random() < 0.6:
                disk.lose_power()
            else:
                disk.kill()
            found = SnapshotFiles(FOLDER, disk).newest()
            assert found == _image(found.position) if found else written == 0
            assert written <= (found.position if found else 0) <= begun, f"seed {seed}"
    assert cut > 50


def test_a_damaged_snapshot_gives_way_to_the_one_before() -> None:
    for seed in range(100):
        disk, rng = ModelledDisk(seed), random.Random(seed)
        files = SnapshotFiles(FOLDER, disk)
        for position in (10, 20, 30):
            files.write(_image(position))
        assert files.positions() == [20, 30]
        file = disk.names_now[FOLDER / "snapshots" / f"{30:016d}.image"]
        file.data[rng.randrange(len(file.data))] ^= 1 << rng.randrange(8)
        assert files.newest() == _image(20)
