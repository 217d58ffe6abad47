"""The log over a disk that loses, tears and reorders what was not synced, fails, and then damages anything.

In every case: what was promised is there, or its loss or doubt is named; nothing that was never written appears;
nothing is deleted. A case is one crash, or one crash and one damage, and the start after it.
"""

import copy
import errno
import random
from collections import Counter
from collections.abc import Callable

import msgspec
import pytest

from tests.live import damage
from tests.live.disk_story import FOLDER, Story
from tests.live.modelled_disk import ModelledDisk
from tocsin.live.errors import Damaged
from tocsin.live.storage import marks
from tocsin.live.storage.file_walk import FileWalk
from tocsin.live.storage.log import Log
from tocsin.live.storage.marks import Mark, Marks
from tocsin.live.storage.recovery import _Recovery

DAMAGES_PER_CRASH = 12
KEPT = (
    1_010_166,  # marks that were cut short made a doubt forgotten
    1_013_993,  # what was cut came back, when the next file was lost before its first sync
)  # seeds that once showed a fault


def _crashed(seed: int) -> tuple[Story, int, str]:
    """A story that has ended in a crash, what must be there, and how it ended."""
    story = Story(seed)
    rng = story.rng
    disk = story.disk
    must, how = 0, ""
    for life in range(rng.choice((1, 1, 2, 3))):
        if life:
            story.go_on_from(_opened(story, disk, must, f"seed {seed}, life {life}, {how}", exact=True, goes_on=True))
        disk.calls = 0
        disk.crash_at = rng.choice((-1, rng.randrange(1, 40), rng.randrange(1, 400)))
        if rng.random() < 0.2:
            disk.fail_at = rng.randrange(1, 200)
            disk.fail_with = rng.choice((errno.EIO, errno.ENOSPC))
        lived = story.live(rng.randrange(1, 40))
        if rng.random() < 0.3:
            disk.remember()
        if lived and rng.random() < 0.15 and disk.fail_at < 0 and disk.crash_at < 0:
            story.stop()
            story.happened.add("stop")
        how = rng.choice(("kill", "power"))
        must = story.lose_power() if how == "power" else story.kill()
        how = story.ended
    return story, must, how


def _opened(story: Story, disk: ModelledDisk, must: int, what: str, exact: bool, goes_on: bool = False) -> int:
    """Start again; which batch was found. `exact`: nothing was damaged, and nothing may be refused. `goes_on`: another
    life follows, before which what is in doubt may be settled."""
    before = disk.files()
    removed = len(disk.removed)
    try:
        log = Log(FOLDER, 1, story.file_bytes, story.syncs, disk)
    except Damaged as error:
        assert not exact, f"{what}: {error}"
        assert disk.files() == before, f"{what}: refused, and something was changed"
        assert "wal" in str(error) and "offset" in str(error), error
        return -1
    found = story.found(log)
    assert found >= 0, f"{what}: what was found was never written"
    assert found >= must or log.in_doubt, f"{what}: batch {found} of {must} needed, and no doubt"
    assert not exact or found >= must, f"{what}: batch {found} of {must} needed"
    assert not exact or not what.endswith("kill") or bool(log.in_doubt) == story.in_doubt, f"{what}: {log.in_doubt}"
    is_wiped = set(before) <= {"marks"}  # a folder in which nothing is left but damaged marks is an empty one
    assert log.in_doubt or not story.in_doubt or is_wiped, f"{what}: the doubt is forgotten"
    for path in disk.removed[removed:]:
        assert path.suffix == ".spare" or int(path.stem) not in log.frames.files, f"{what}: {path} was removed"
    story.happened.add("in doubt" if log.in_doubt else "no doubt")
    if goes_on:
        if story.rng.random() < 0.5:
            log.settle()
        story.in_doubt = bool(log.in_doubt)
    log.close()
    return found


def run_case(seed: int, happened: Counter[str]) -> int:
    """One crash, and damage of many kinds after it; how many cases that were."""
    story, must, how = _crashed(seed)
    undamaged = copy.deepcopy(story.disk)
    found = _opened(story, copy.deepcopy(undamaged), must, f"seed {seed}, {how}", exact=True)
    rng = random.Random(seed)
    cases = 1
    for number in range(DAMAGES_PER_CRASH):
        disk = copy.deepcopy(undamaged)
        kind = damage.KINDS[number % len(damage.KINDS)]
        if kind(disk, rng):
            what = f"seed {seed}, {how}, damage {number}: {kind.__name__}"
            found = _opened(story, disk, story.synced, what, exact=False)
            happened[f"{kind.__name__}: {'refused' if found < 0 else 'opened'}"] += 1
            cases += 1
    happened.update(story.happened)
    return cases


def _run(cases_wanted: int, first_seed: int) -> Counter[str]:
    happened: Counter[str] = Counter()
    cases = 0
    seed = first_seed
    while cases < cases_wanted:
        cases += run_case(seed, happened)
        seed += 1
    print(f"{cases} cases, seeds {first_seed} to {seed - 1}: {dict(sorted(happened.items()))}")
    return happened


def _require_that_it_happened(happened: Counter[str]) -> None:
    wanted = {"crash", "failure", "kill", "power loss", "sync", "file let go of", "stop", "in doubt", "no doubt"}
    wanted |= {"delivery of a record's payload", "beginning of a file secured", "forgotten after a failed sync"}
    wanted |= {f"{kind.__name__}: {end}" for kind in damage.KINDS for end in ("refused", "opened")}
    wanted -= {"lengthen_file: refused"}
    assert wanted <= set(happened), wanted - set(happened)


@pytest.mark.parametrize("seed", KEPT)
def test_what_once_went_wrong_does_not_again(seed: int) -> None:
    run_case(seed, Counter())


def test_whatever_a_disk_does_is_survived_or_named() -> None:
    _require_that_it_happened(_run(3_000, 0))


@pytest.mark.long
def test_whatever_a_disk_does_is_survived_or_named_200_000_times() -> None:
    _require_that_it_happened(_run(200_000, 1_000_000))


# Planted bugs: every one must be caught


def _nothing(*_: object) -> None:
    pass


def _ignores_syncs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ModelledDisk, "sync", _nothing)


def _never_syncs_the_folder(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ModelledDisk, "sync_folder", _nothing)


def _takes_no_notice_of_marks(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Mark, "place", property(lambda mark: (0, 0)))


def _never_looks_behind_the_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Recovery, "_look_behind", _nothing)


def _does_not_check_contents(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FileWalk, "_damaged", lambda walk, batch: [])


def _trusts_memory_after_a_failed_sync(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ModelledDisk, "boot_id", lambda disk: bytes(15) + b"\1")


def _writes_the_marks_nowhere(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Marks, "put", _nothing)


def _forgets_doubt(patch: pytest.MonkeyPatch) -> None:
    plain = marks.decode_mark

    def decode(data: bytes) -> tuple[int, Mark] | None:
        found = plain(data)
        return None if found is None else (found[0], msgspec.structs.replace(found[1], in_doubt=False))

    patch.setattr(marks, "decode_mark", decode)


@pytest.mark.parametrize(
    "plant",
    [
        _ignores_syncs,
        _never_syncs_the_folder,
        _takes_no_notice_of_marks,
        _never_looks_behind_the_end,
        _does_not_check_contents,
        _trusts_memory_after_a_failed_sync,
        _writes_the_marks_nowhere,
        _forgets_doubt,
    ],
)
def test_planted_bugs_are_caught(plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    with pytest.raises((AssertionError, Damaged)):
        _run(20_000, 500)
