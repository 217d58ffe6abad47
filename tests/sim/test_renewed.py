"""What the simulator does with a site that begins anew: as the live runtime does (`live/asking.py`)."""

from tests.sim.happenings import happen
from tests.sim.worlds import SmallWorld, Word
from tocsin.core.machine import FIRST_INCARNATION, RENEWAL_GAP
from tocsin.sim import faults
from tocsin.sim.disk import Disk, Disks
from tocsin.sim.simulation import LOOK_AGAIN_US


def _wiped(sync_us: int = 0) -> SmallWorld:
    small = SmallWorld(3, "mesh", sync_us=sync_us)
    happen(small, faults.WIPE, 0)
    happen(small, faults.RECOVER, 0)
    return small


def test_a_peer_is_told_once_and_before_the_first_message() -> None:
    small = _wiped()
    setup = small.scribe(0).setup
    assert (setup.incarnation, setup.life) == (2, 1) and small.world.renewed == {0: 2}
    assert small.told(1) == [], "nothing has come of it yet"
    for text in ("one", "two"):
        small.outbox(0).send(1, Word(text))
    small.run()
    assert small.told(1) == ["10 0 is incarnation 2", "10 one from 0", "10 two from 0"]
    assert small.told(2) == [], "and who gets nothing is told nothing"


def test_what_it_was_told_is_durable_with_the_step_that_told_it() -> None:
    small = _wiped()
    small.outbox(0).send(1, Word("one"))
    small.run()
    happen(small, faults.CRASH, 1)
    happen(small, faults.RECOVER, 1)
    assert small.scribe(1).told[0].endswith("start 0:2"), "the record of that step"
    small.outbox(0).send(1, Word("two"))
    small.run(2_000_000)
    assert [each.split(" ", 1)[1] for each in small.told(1)] == ["two from 0"], "not told again"


def test_a_crash_before_the_sync_keeps_both_the_note_and_the_step_or_neither() -> None:
    seen: set[bool] = set()
    for crash_at in range(20, 100, 5):
        small = _wiped(sync_us=100)
        small.outbox(0).send(1, Word("one"))
        small.run(20)
        assert small.told(1)[0] == "10 0 is incarnation 2"
        small.simulation.crash(crash_at, 1, torn=crash_at % 10 == 0)
        happen(small, faults.RECOVER, 1, at=crash_at)
        was_kept = small.scribe(1).told[0].endswith(" 0:2")
        small.outbox(0).send(1, Word("two"))
        small.run(2_000)
        told = [each.split(" ", 1)[1] for each in small.told(1)]
        assert told == (["two from 0"] if was_kept else ["0 is incarnation 2", "two from 0"])
        seen.add(was_kept)
    assert seen == {False, True}


def test_nothing_of_the_old_incarnation_arrives() -> None:
    small = SmallWorld(3, "mesh", delay_us=1_000)
    small.outbox(0).send(1, Word("old"))
    happen(small, faults.WIPE, 0)
    happen(small, faults.RECOVER, 0)
    small.outbox(0).send(1, Word("new"))
    small.run()
    assert [each.split(" ", 1)[1] for each in small.told(1)] == ["0 is incarnation 2", "new from 0"]


def test_it_waits_for_witnesses_that_are_up_and_connected() -> None:
    small = SmallWorld(5, "mesh")
    for site in (1, 2, 3):
        happen(small, faults.CRASH, site)
    happen(small, faults.WIPE, 0)
    happen(small, faults.RECOVER, 0)
    small.run(5 * LOOK_AGAIN_US)
    assert small.world.sites[0].machine is None and small.simulation.looking == {0}, "one of four is too few"
    happen(small, faults.RECOVER, 1, at=5 * LOOK_AGAIN_US)
    small.run(7 * LOOK_AGAIN_US)
    assert small.scribe(0).setup.incarnation == 2 and not small.simulation.looking


def test_numbers_go_on_beyond_a_gap() -> None:
    disks = Disks()
    assert disks.first_seqno == 0
    disk = Disk(1)
    disk.life = 1
    disks.highest_seqno = 41
    second = disks.empty(disk)
    assert second.incarnation == FIRST_INCARNATION + 1 and disks.first_seqno == 41 + RENEWAL_GAP
    disks.highest_seqno = 50 + RENEWAL_GAP
    assert disks.empty(second).incarnation == 3 and disks.first_seqno == 50 + 2 * RENEWAL_GAP
