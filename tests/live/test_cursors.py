"""Cursors of consumers over a disk that loses, tears and reorders what was not synced, fails, and is damaged."""

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.live.modelled_disk import Crash, ModelledDisk
from tocsin.core.errors import InputError
from tocsin.live.errors import Damaged, StorageFailed
from tocsin.live.storage.cursors import SLOT_BYTES, Cursor, CursorFile, consumers, forget

FOLDER = Path("/a")
PATH = FOLDER / "consumers" / "billing.cursor"


def _cursor(position: int) -> Cursor:
    """Large enough for several sectors."""
    return Cursor(bytes(16), {f"group-{index}": position for index in range(100)}, "group-7", position % 3)


def _position(found: Cursor | None) -> int:
    if found is None:
        return 0
    assert len(set(found.positions.values())) == 1, "a mixture of two cursors"
    position = found.positions["group-0"]
    assert found == _cursor(position)
    return position


def _live(disk: ModelledDisk, acknowledged: int, saves: int) -> tuple[int, int]:
    """A life: the last cursor that its consumer was told is safe, and the last one begun."""
    file = CursorFile(FOLDER, "billing", disk)
    at, begun = acknowledged, _position(file.load())
    try:
        at = _position(file.begin())
        for _ in range(saves):
            begun += 1
            file.save(_cursor(begun))
            at = begun
    except (Crash, StorageFailed):
        pass
    return at, begun


def test_what_was_acknowledged_is_there_after_any_crash() -> None:
    happened: Counter[str] = Counter()
    for seed in range(600):
        disk = ModelledDisk(seed)
        rng = random.Random(seed)
        acknowledged = begun = 0
        for _ in range(rng.randrange(1, 5)):
            found = _position(CursorFile(FOLDER, "billing", disk).load())
            assert acknowledged <= found <= begun, f"seed {seed}"
            happened["ahead"] += found > acknowledged
            disk.calls = 0
            if rng.random() < 0.8:
                setattr(disk, rng.choice(("crash_at", "fail_at")), rng.randrange(1, 15))
            acknowledged, begun = _live(disk, acknowledged, rng.randrange(5))
            happened["cut"] += begun > acknowledged
            if rng.random() < 0.6:
                disk.lose_power()
                happened["power"] += 1
            else:
                disk.kill()
    assert happened["ahead"] > 20 and happened["cut"] > 100 and happened["power"] > 300, happened


@pytest.mark.parametrize("saves", [1, 2, 3])
def test_damage_is_named_or_goes_one_step_back(saves: int) -> None:
    """Never forward, never to the start, and never a cursor that was not saved."""
    for seed in range(150):
        disk = ModelledDisk(seed)
        _live(disk, 0, saves)
        file = disk.names_now[PATH]
        rng = random.Random(seed)
        for _ in range(rng.choice((1, 1, 8))):
            sector = rng.choice(sorted(file.versions) or [0])
            at = rng.choice((rng.randrange(len(file.data)), sector * 512))
            file.data[at] ^= 1 << rng.randrange(8)
        if rng.random() < 0.2:
            file.unreadable.add(rng.choice((0, SLOT_BYTES // 512)))
        try:
            assert saves - 1 <= _position(CursorFile(FOLDER, "billing", disk).load()) <= saves
        except Damaged as error:
            assert "--forget billing" in str(error)
        assert PATH in disk.names_now


def test_both_slots_damaged_is_told() -> None:
    disk = ModelledDisk(1)
    _live(disk, 0, 2)
    file = disk.names_now[PATH]
    for slot in (0, 1):
        file.data[slot * SLOT_BYTES + 40] ^= 1
    with pytest.raises(Damaged, match="nobody knows"):
        CursorFile(FOLDER, "billing", disk).load()
    forget(FOLDER, "billing", disk)
    assert CursorFile(FOLDER, "billing", disk).load() is None


def test_several_consumers_have_each_their_own(tmp_path: Path) -> None:
    for position, name in enumerate(("billing", "audit.2")):
        file = CursorFile(tmp_path, name)
        assert file.load() is None
        file.save(_cursor(position))
        file.save(_cursor(position + 10))
        file.close()
    assert consumers(tmp_path) == ["audit.2", "billing"]
    assert [_position(CursorFile(tmp_path, name).load()) for name in ("billing", "audit.2")] == [10, 11]
    forget(tmp_path, "billing")
    assert consumers(tmp_path) == ["audit.2"]
    with pytest.raises(InputError, match="there is audit"):
        forget(tmp_path, "billing")


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 65, "ä", "a b"])
def test_names_that_are_no_files_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="consumer: expected"):
        CursorFile(tmp_path, name)


def test_a_cursor_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match="fit"):
        CursorFile(tmp_path, "billing").save(Cursor(b"", {f"{index:060}": 0 for index in range(3000)}))
