"""The table of `recovery.py` (and docs/durability.md), a test a row: what is kept, cut, in doubt, damage."""

import errno
from collections.abc import Callable

import pytest

from tests.live.modelled_log import FOLDER, World, flip
from tocsin.core.errors import InputError
from tocsin.live.errors import Damaged, StorageFailed
from tocsin.live.storage.file_format import BATCHES_AT, MAGIC, SLOTS_AT, log_path
from tocsin.live.storage.marks import NAME, read_marks
from tocsin.live.storage.recovery import State, recover

# File intact, batch intact


@pytest.mark.parametrize("syncs", [True, False])
def test_what_was_written_survives_kill_and_what_was_synced_a_power_loss(syncs: bool) -> None:
    world = World(syncs)
    world.step(5)
    world.kill()
    assert world.kept() == 5 and not world.log.in_doubt
    world.log.sync()
    world.step(2)
    world.lose_power()
    assert world.kept() == (8 if syncs else 6)
    assert bool(world.log.in_doubt) == (not syncs)


def test_what_lies_behind_the_mark_is_written_again_and_synced() -> None:
    """A sync that failed may have left it in memory only."""
    world = World(syncs=False)
    world.step(3)
    world.disk.fail_at = world.disk.calls + 1
    with pytest.raises(StorageFailed, match="the disk fails"):
        world.log.sync()
    world.kill()
    world.open()
    world.kill()
    world.lose_power()
    assert world.open().frames.end(0) == 3


# Batches


def test_a_bad_batch_before_the_mark_is_damage() -> None:
    for part in ("head", "operations", "contents"):
        for number in (0, 2, 4):
            world = World()
            world.step(5)
            world.kill()
            at = world.batches(0)[number]
            flip(world.data(0), {"head": at + 9, "operations": at + 50, "contents": at + 700}[part])
            told = world.refused()
            assert f"0000000000.wal: offset {at}: " in told
            if part == "contents":
                assert f"positions {number} to {number}" in told


def test_damaged_contents_are_named_as_what_they_are() -> None:
    world = World()
    world.step(5)
    world.kill()
    for number in (1, 3):
        flip(world.data(0), world.batches(0)[number] + 700)
    record = bytes(world.data(0)).index(b"record 2")
    flip(world.data(0), record)
    found = recover(world.disk, FOLDER, State(lambda file, batch: "", lambda: [0]))
    assert [[tuple(lost) for lost in bad.lost] for bad in found.damage] == [[(0, 1, 1)], [(-1, 0, -1)], [(0, 3, 1)]]
    with pytest.raises(Damaged) as error:
        world.open()
    assert error.value.lost == ((0, 1, 1), (-1, 0, -1), (0, 3, 1))
    told = world.refused()
    assert "(and 2 more places" in told and "positions 1 to 3 of group 0 and what its protocol has promised" in told


@pytest.mark.parametrize("syncs", [True, False])
def test_a_batch_that_a_kill_has_torn_was_never_seen_and_is_cut_without_doubt(syncs: bool) -> None:
    for part in (1, 8, 40, 300, 1000):
        world = World(syncs)
        world.step(3)
        end = world.log._end.end
        world.log.stage_record(b"x" * 2000, b"")
        laid = world.log.layout()
        world.disk.names_now[log_path(FOLDER, 0)].put(end, (laid.head + b"".join(laid.batch.contents))[:part])
        world.kill()
        assert world.kept() == 3 and not world.log.in_doubt


@pytest.mark.parametrize("syncs", [True, False])
def test_a_batch_behind_the_mark_that_was_written_and_is_bad_is_in_doubt_after_a_power_loss(syncs: bool) -> None:
    world = World(syncs)
    world.step(3)
    mark = bytes(world.marks())
    world.step(1)
    last = world.batches(0)[-1]
    world.restart_machine()
    world.marks()[:] = mark  # it had not reached the disk
    flip(world.data(0), last + 300)
    log = world.open()
    assert log.frames.end(0) == 3
    assert f"0000000000.wal: offset {last}: " in log.in_doubt and log.cut_bytes > 0
    world.kill()
    assert "in doubt since an earlier start" in world.open().in_doubt
    world.log.settle()
    world.kill()
    assert not world.open().in_doubt


def test_a_batch_behind_the_mark_is_damage_if_the_machine_was_not_started_anew() -> None:
    world = World(syncs=False)
    world.step(3)
    world.kill()
    last = world.batches(0)[-1]
    flip(world.data(0), last + 9)
    assert f"offset {last}: " in world.refused()


def test_a_batch_in_another_place_or_of_another_file_is_none() -> None:
    """Chosen content, too: see test_forged_batches.py."""
    world = World()
    world.step(4)
    world.new_file()
    world.kill()
    begins = world.batches(0)
    second = bytes(world.data(0)[begins[1] : begins[2]])
    world.data(0)[begins[2] : begins[2] + len(second)] = second
    assert f"offset {begins[2]}: " in world.refused()


# Headers, missing files, neighbours


def _bad_header(world: World) -> None:
    flip(world.data(1), 20)


def _header_of_another_file(world: World) -> None:
    world.data(1)[:BATCHES_AT] = world.data(0)[:BATCHES_AT]


def _header_of_another_folder(world: World) -> None:
    other = World(seed=2)
    other.step(2)
    other.new_file()
    world.data(1)[:] = other.data(1)


def _missing_file(world: World) -> None:
    del world.disk.names_now[log_path(FOLDER, 1)]


def _short_file(world: World) -> None:
    del world.data(1)[SLOTS_AT[0] + 100 :]


@pytest.mark.parametrize(
    "harm", [_bad_header, _header_of_another_file, _header_of_another_folder, _missing_file, _short_file]
)
@pytest.mark.parametrize("is_last", [True, False])
def test_a_bad_header_a_missing_or_a_short_file_before_the_mark_is_damage(
    harm: Callable[[World], None], is_last: bool
) -> None:
    world = World()
    world.step(2)
    world.new_file()
    if not is_last:
        world.new_file()
    world.kill()
    harm(world)
    assert "0000000001.wal: offset " in world.refused()


@pytest.mark.parametrize("harm", [_bad_header, _header_of_another_file, _missing_file, _short_file])
def test_behind_the_mark_it_is_in_doubt_and_later_files_are_set_aside(harm: Callable[[World], None]) -> None:
    world = World(syncs=False)
    world.step(2)
    world.log.sync()
    world.new_file()
    world.new_file()
    world.restart_machine()
    harm(world)
    third = bytes(world.data(2))
    log = world.open()
    assert log.frames.end(0) == 2 and "0000000001.wal: offset" in log.in_doubt
    assert world.disk.files()["0000000002.aside0"] == third
    assert ("0000000001.aside0" in world.disk.files()) == (harm is not _missing_file)
    world.step()
    world.kill()
    assert world.open().frames.end(0) == 3


def test_the_first_file_missing_is_damage() -> None:
    world = World()
    world.step(2)
    world.new_file()
    world.kill()
    del world.disk.names_now[log_path(FOLDER, 0)]
    assert "0000000000.wal: offset 0: missing" in world.refused()


def test_all_files_missing_is_damage() -> None:
    world = World()
    world.step(2)
    world.kill()
    del world.disk.names_now[log_path(FOLDER, 0)]
    assert "0000000000.wal: offset 0: missing: the marks say that there is a log" in world.refused()


def test_a_header_that_says_that_the_file_before_ended_otherwise_is_damage() -> None:
    """A file from another time, whole in itself."""
    world = World()
    world.step(2)
    older = bytes(world.data(0))
    world.step(2)
    world.new_file()
    world.kill()
    world.data(0)[: len(older)] = older
    del world.data(0)[len(older) :]
    assert "0000000000.wal: offset " in world.refused()


def test_a_snapshot_that_contradicts_the_batches_before_it_is_damage() -> None:
    world = World()
    world.step(2)
    world.log.frames.group(0).position += 5  # a fault of our own
    world.new_file()
    world.kill()
    assert "0000000001.wal: offset 12288: the snapshot contradicts the batches before it" in world.refused()


def test_files_older_than_the_first_are_written_over() -> None:
    world = World()
    world.step(2)
    world.new_file()
    gone = world.log.release([3], archived=1)
    world.log._writer._sync(1)  # the power goes before their names are changed
    assert gone == [0]
    world.kill()
    log = world.open()
    assert log.frames.end(0) == 3 and "0000000000.spare" in world.disk.files()


# Marks


def test_without_marks_the_end_is_in_doubt_and_what_later_batches_say_was_synced_is_damage() -> None:
    world = World()
    world.step(4)
    world.kill()
    del world.disk.names_now[FOLDER / NAME]
    assert world.open().frames.end(0) == 4 and "nobody knows how far the log was synced" in world.log.in_doubt
    world = World()
    world.step(4)
    world.kill()
    del world.disk.names_now[FOLDER / NAME]
    begins = world.batches(0)
    flip(world.data(0), begins[1] + 700)
    assert f"offset {begins[1]}: contents are damaged" in world.refused()


@pytest.mark.parametrize("slot", [0, 1, 2, 3])
def test_one_bad_slot_of_the_marks_does_not_matter(slot: int) -> None:
    world = World()
    world.step(4)
    world.kill()
    flip(world.marks(), slot * 4096 + 30)
    assert world.kept() == 4 and not world.log.in_doubt


def test_a_mark_that_contradicts_the_batch_that_ends_there_is_damage() -> None:
    """The file is as it was before, with another batch in that place."""
    world = World()
    world.step(2)
    world.kill()
    found = read_marks(world.disk, FOLDER)
    assert found is not None
    other = World()  # the same incarnation
    other.step(2)
    other.kill()
    world.data(0)[:] = other.data(0)
    other_mark = read_marks(other.disk, FOLDER)
    assert other_mark is not None and other_mark[1].check != found[1].check
    world.refused()


# Ends of lives


def test_a_member_that_stopped_in_order_is_never_in_doubt() -> None:
    world = World(syncs=False)
    world.step(3)
    world.log.sync()
    world.log.close()
    world.restart_machine()
    assert world.kept() == 3 and not world.log.in_doubt


def test_process_and_a_machine_that_was_started_anew_is_in_doubt() -> None:
    world = World(syncs=False)
    world.step(3)
    world.restart_machine()
    assert world.kept() == 3
    assert "in doubt since an earlier start" in world.log.in_doubt


def test_a_file_that_was_begun_and_never_used_is_no_part_of_the_log() -> None:
    world = World()
    world.step(2)
    world.disk.open(log_path(FOLDER, 1), create=True)
    world.kill()
    assert world.kept() == 2 and not world.log.in_doubt


# What can be no log of ours, and what cannot be read


@pytest.mark.parametrize("version", [b"2", b"3", b"7"])
def test_a_log_of_another_version_is_refused_and_left_as_it_is(version: bytes) -> None:
    world = World()
    world.step()
    world.kill()
    del world.disk.names_now[FOLDER / NAME]
    world.data(0)[:] = MAGIC[:-1] + version + bytes(5000)
    before = world.disk.files()
    with pytest.raises(InputError, match=f"expected a log of version 4, found {version.decode()}.*no converter"):
        world.open()
    assert world.disk.files() == before


def test_a_flipped_bit_in_the_version_is_damage_and_no_other_version() -> None:
    world = World()
    world.step()
    world.kill()
    world.data(0)[3] ^= 1
    assert "0000000000.wal: offset 0: the header is damaged" in world.refused()


def test_what_cannot_be_read_is_named_with_the_error() -> None:
    world = World()
    world.step(5)
    world.kill()
    at = world.batches(0)[2]
    world.disk.names_now[log_path(FOLDER, 0)].unreadable.add((at + 400) // 512)
    assert "cannot be read (input/output error)" in world.refused()


def test_an_unreadable_sector_behind_the_end_is_nobodys() -> None:
    world = World()
    world.step(2)
    world.kill()
    world.disk.names_now[log_path(FOLDER, 0)].unreadable.add(len(world.data(0)) // 512 - 1)
    assert world.open().frames.end(0) == 2


@pytest.mark.parametrize("call", range(1, 12))
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_refuses_fails_the_member_and_loses_nothing(call: int, error: int) -> None:
    world = World()
    world.step(2)
    world.log.close_file()
    world.disk.fail_at, world.disk.fail_with = world.disk.calls + call, error
    try:
        world.step()
    except StorageFailed as told:
        assert world.disk.failed and "wal" in str(told)
    done = world.log.frames.end(0)
    world.kill()
    assert world.kept() in (done, done + 1) and not world.log.in_doubt
