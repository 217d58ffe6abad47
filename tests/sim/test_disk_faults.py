"""Faults of disks: emptied, torn, saved and set back; and what is owed again."""

from pathlib import Path

import pytest

from tests.sim.happenings import counted, happen, scenario
from tests.sim.worlds import Kept, SmallWorld
from tocsin.core.errors import InputError
from tocsin.sim import faults
from tocsin.sim.run import run_to_end
from tocsin.traces.buffer import TraceBuffer
from tocsin.traces.reader import read_rows
from tocsin.traces.writer import TraceWriter


def small_with_a_disk() -> SmallWorld:
    """Site 0 has persisted two records, delivered a message and installed a view."""
    small = SmallWorld(2, "mesh")
    outbox = small.outbox(0)
    outbox.persist(Kept("one"))
    outbox.deliver(0, 1, 7, b"x")
    outbox.install_view(3, [0, 1], True)
    outbox.persist(Kept("two"))
    return small


@pytest.mark.parametrize("what", [faults.WIPE, faults.DAMAGE])
@pytest.mark.parametrize("first", [None, faults.CRASH])
def test_an_emptied_disk_lets_the_next_start_find_nothing(what: str, first: str | None) -> None:
    small = small_with_a_disk()
    if first is not None:
        happen(small, first, 0)
    happen(small, what, 0)
    disk = small.world.sites[0].disk
    assert small.world.sites[0].machine is None
    assert disk.end(0) == 0 and disk.view == -1 and disk.damaged == (what == faults.DAMAGE)
    happen(small, faults.RECOVER, 0, at=20)
    assert small.scribe(0).told == ["20 start "]
    assert not disk.damaged, "the start has found the damage"
    assert small.events(0)[-2:] == ["0 crash", "20 recover"]


def test_a_restored_disk_is_as_it_was_saved_each_time() -> None:
    small = small_with_a_disk()
    happen(small, faults.SAVE, 0)
    for _ in range(2):
        happen(small, faults.WIPE, 0)
        happen(small, faults.RESTORE, 0)
        disk = small.world.sites[0].disk
        assert [entry.seqno for entry in disk.read(0, 0, 9)] == [7] and disk.end(0) == 1 and disk.view == 3
        happen(small, faults.RECOVER, 0)
        assert small.scribe(0).told == ["0 start one two"] and small.world.renewed == {}
    assert counted(small.world.tally) == {"save": 1, "wipe": 2, "restore": 2, "recover": 2}


def test_a_restored_disk_that_is_older_than_what_its_site_had_since_begins_anew() -> None:
    small = small_with_a_disk()
    happen(small, faults.SAVE, 0)
    small.outbox(0).persist(Kept("three"))
    happen(small, faults.RESTORE, 0)
    happen(small, faults.RECOVER, 0)
    assert small.scribe(0).told == ["0 start "] and small.world.renewed == {0: 2}


def test_a_disk_is_saved_while_its_site_is_down_and_without_what_is_not_synced() -> None:
    small = SmallWorld(2, "mesh", sync_us=100)
    small.outbox(0).persist(Kept("one"))
    small.run(100)
    small.outbox(0).persist(Kept("two"))
    happen(small, faults.SAVE, 0, at=100)
    happen(small, faults.WIPE, 0, at=100)
    happen(small, faults.RESTORE, 0, at=300)
    happen(small, faults.SAVE, 0, at=300)
    happen(small, faults.RECOVER, 0, at=300)
    assert small.scribe(0).told == ["300 start one"]


def test_what_a_disk_lost_is_owed_again() -> None:
    small = SmallWorld(2, "mesh")
    small.world.on_broadcast(0, 1, 0, 7, 1)
    small.outbox(0).deliver(0, 1, 7, b"x")
    happen(small, faults.SAVE, 0)
    assert small.world.owed == [0, 1]
    happen(small, faults.WIPE, 0)
    assert small.world.owed == [1, 1]
    happen(small, faults.RESTORE, 0)
    assert small.world.owed == [0, 1]


def test_what_a_disk_lost_is_owed_again_where_groups_change() -> None:
    small = SmallWorld(2, "mesh")
    small.world.expect_changes()
    dues = small.world.dues
    assert dues is not None
    small.world.on_broadcast(0, 1, 0, 7, 1)
    for site in (0, 1):
        small.outbox(site).deliver(0, 1, 7, b"x")
    happen(small, faults.SAVE, 0)
    assert not dues.is_owed({0, 1})
    happen(small, faults.WIPE, 0)
    assert dues.is_owed({0, 1}) and not dues.is_owed({1})
    happen(small, faults.RESTORE, 0)
    assert not dues.is_owed({0, 1})


def test_a_torn_tail_lacks_at_least_its_last_step() -> None:
    seen: set[str] = set()
    for attempt in range(40):
        small = SmallWorld(2, "mesh", sync_us=100)
        for _ in range(attempt):
            small.world.sites[0]._rng.bits()  # another tear
        for word in ("one", "two", "three"):
            small.outbox(0).persist(Kept(word))
        happen(small, faults.TEAR, 0)
        happen(small, faults.TEAR, 0)  # it is down: nothing more is torn
        happen(small, faults.RECOVER, 0)
        seen.add(small.scribe(0).told[0])
        assert counted(small.world.tally) == {"tear": 1, "recover": 1}
    assert seen == {"0 start ", "0 start one", "0 start one two"}


def test_a_tear_without_unsynced_writes_is_a_crash() -> None:
    small = small_with_a_disk()
    happen(small, faults.TEAR, 0)
    happen(small, faults.RECOVER, 0)
    assert small.scribe(0).told == ["0 start one two"]


def test_only_what_was_saved_before_can_be_restored() -> None:
    save: dict[str, object] = {"at_us": 5, "save": ["c"]}
    scenario({"at_us": 5, "restore": ["c"]}, {"at_us": 4, "save": ["c"]})
    scenario(save, {"at_us": 5, "restore": ["c"]})
    for wrong in ({"at_us": 4, "restore": ["c"]}, {"at_us": 9, "restore": ["b", "c"]}):
        with pytest.raises(InputError, match=r"expected a `save` of `[bc]` before its `restore` at"):
            scenario(save, wrong)


def test_another_disk_is_another_log_of_the_site_in_memory_and_in_a_file(tmp_path: Path) -> None:
    wiped = scenario(
        {"at_us": 10_000, "save": ["b"]},
        {"at_us": 50_000, "wipe": ["c"]},
        {"at_us": 60_000, "recover": ["c"]},
        {"at_us": 70_000, "restore": ["b"]},
        {"at_us": 80_000, "wipe": ["c"]},
        {"at_us": 90_000, "recover": ["b", "c"]},
    )
    buffer = TraceBuffer("same", wiped.names)
    run_to_end(wiped.build(3, buffer), wiped.config.duration_us)
    path = tmp_path / "trace.parquet"
    with TraceWriter(path, "same", wiped.names) as writer:
        run_to_end(wiped.build(3, writer), wiped.config.duration_us)
    rows = sorted(buffer.rows(), key=lambda row: (row.site, row.incarnation or "", row.order))
    assert sorted(read_rows([path]), key=lambda row: (row.site, row.incarnation or "", row.order)) == rows
    assert len(rows) == len(buffer)
    logs = sorted({(row.site, row.incarnation) for row in rows}, key=str)
    assert logs == [("a", None), ("b", "1"), ("b", "2"), ("c", "1"), ("c", "2"), ("c", "3"), ("d", None)]
    assert [row.event for row in rows if row.incarnation == "2" and row.order == 0] == ["recover", "recover"]
