"""The index of a member's rows: at any moment, running or not, its segments hold what the journal's reader reads."""

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

import tocsin
from tests.live.live_groups import run, until, write_group
from tocsin.live.storage import journal_index
from tocsin.live.storage.journal import journal_batches
from tocsin.live.storage.journal_index import JournalIndex
from tocsin.live.storage.segments import ARROW, LOG, segment_batches
from tocsin.traces.schema import JOURNAL

JOURNALED = '[journal]\ndurability = "process"\nsegment_bytes = 65_536\n'


def rows_of(index: JournalIndex) -> pa.Table:
    batches = [batch for segment in index.segments() for batch in segment_batches(segment)]
    return pa.Table.from_batches(batches, JOURNAL)


def rows_read(folder: Path) -> pa.Table:
    return pa.Table.from_batches(list(journal_batches(folder)), JOURNAL)


def test_segments_hold_what_the_journal_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_index, "SEGMENT_ROWS", 5)
    path = write_group(tmp_path, sites="a", tail=JOURNALED)
    folder = tmp_path / "data" / "a"

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        await (await member.broadcast(b"first")).ordered()
        index = JournalIndex(folder)
        assert rows_of(index) == rows_read(folder)
        for number in range(400):
            size = 90_000 if number % 50 == 7 else number  # some are cut into frames
            await (await member.broadcast(b"%d" % number + bytes(size))).ordered()
            if number % 20 == 0:
                assert rows_of(index) == rows_read(folder)
        await until(lambda: len(list((folder / "journal").glob("*.arrow"))) > 2)
        kinds = {segment.kind for segment in index.segments()}
        assert kinds == {ARROW, LOG}
        await member.leave()
        assert rows_of(index) == rows_read(folder)
        assert rows_of(JournalIndex(folder)) == rows_read(folder)

    run(body)


def test_positions_follow_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_index, "SEGMENT_ROWS", 5)
    path = write_group(tmp_path, sites="a", tail=JOURNALED)

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        for number in range(200):
            await (await member.broadcast(bytes(number * 5))).ordered()
        segments = JournalIndex(tmp_path / "data" / "a").segments()
        assert segments[-1].ends == {"all": 200}
        for before, after in pairwise(segments):
            assert before.ends == after.begins and before.end_order == after.first_order
        await member.leave()

    run(body)
