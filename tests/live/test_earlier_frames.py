"""Journals of logs in which large messages are unfinished, or taken back, where a file ends."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live.frames import large_message
from tests.live.live_groups import run, write_group
from tocsin import join
from tocsin.live.errors import StorageFailed
from tocsin.live.frame_format import FRAME_BYTES, pack
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.file_walk import log_files
from tocsin.live.storage.identity import Identity, write_identity
from tocsin.live.storage.journal import journal_batches
from tocsin.live.storage.journal_folder import JournalFolder
from tocsin.live.storage.log import Log
from tocsin.live.stream import Stream

IDENTITY = Identity(group="g", protocol="optimistic_token", site="a", sites=("a", "b"), groups={"all": ["a", "b"]})
MESSAGE, PIECES = large_message(3 * FRAME_BYTES)


class _Site:
    """The folder of a member with a real log, which is begun, archived and released as asked."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        write_identity(folder, IDENTITY)
        self.folder = folder
        self.open()

    def open(self) -> None:
        self.log = Log(self.folder / "wal", 1, 1 << 30)
        self.stream = Stream(0, self.log.frames)
        self.journal = JournalFolder(self.folder, 1 << 40, 0)

    def restart(self) -> None:
        self.log.close()
        self.open()

    def deliver(self, origin: int, frame: int, payload: bytes) -> None:
        op, _ = self.stream.deliver(origin, frame, payload, self.log.place_of(payload))
        self.log.stage_delivery(op, payload)
        self.commit()

    def rollback(self, origin: int, frame: int) -> None:
        self.log.stage(self.stream.rollback(origin, frame))
        self.commit()

    def commit(self) -> None:
        laid = self.log.layout()
        self.log.write(laid)
        self.log.apply(laid)
        self.stream.on_applied([])

    def archive(self) -> None:
        """All closed files."""
        for file in self.log.closed():
            if file >= self.journal.next_file:
                self.journal.add(file)

    def release(self, trimmed: int) -> list[int]:
        """The protocol needs no frame below; the files that went."""
        gone = self.log.release([self.log.frames.group(0).needed_from(trimmed)], self.journal.next_file)
        self.log.recycle(gone)
        return gone

    def rows(self) -> list[tuple[str, int, int, bytes | None]]:
        """Of the journal, with what the log has behind it."""
        return [
            (row["event"], row["seqno"], row["position"], row["payload"])
            for batch in journal_batches(self.folder)
            for row in batch.to_pylist()
            if row["event"] in ("deliver", "rollback")
        ]


def _plain(_: _Site) -> None:
    """The member goes on."""


def _new_file(site: _Site) -> None:
    site.log.close_file()


def _new_file_archived(site: _Site) -> None:
    site.log.close_file()
    site.deliver(0, 99, pack(99, [b"in a new file"]))
    site.rollback(0, 99)
    site.archive()


def _new_life(site: _Site) -> None:
    _new_file_archived(site)
    site.release(trimmed=2)
    site.restart()


@pytest.mark.parametrize("between", [_plain, _new_file, _new_file_archived, _new_life])
@pytest.mark.parametrize("taken_back", [1, 2])
def test_a_large_message_that_is_taken_back_and_delivered_again_is_one_row_again(
    tmp_path: Path, between: Callable[[_Site], None], taken_back: int
) -> None:
    site = _Site(tmp_path)
    site.deliver(0, 0, pack(0, [b"before"]))
    for number, piece in enumerate(PIECES):
        site.deliver(1, number, piece)
        if number == 0:
            site.log.close_file()
    between(site)
    last = len(PIECES) - 1
    numbers = range(last + 1 - taken_back, last + 1)
    for number in reversed(numbers):
        site.rollback(1, number)
    for number in numbers:
        site.deliver(1, number, PIECES[number])
    site.log.close_file()
    site.deliver(0, 1, pack(1, [b"after"]))
    expected = [
        ("deliver", 0, 0, b"before"),
        ("deliver", 7, 1, MESSAGE),
        ("rollback", 7, 1, None),
        ("deliver", 7, 1, MESSAGE),
        ("deliver", 1, 2, b"after"),
    ]

    def found() -> list[tuple[str, int, int, bytes | None]]:
        return [row for row in site.rows() if row[1] != 99]

    assert found() == expected
    site.archive()
    site.release(trimmed=1 << 40)
    assert found() == expected
    site.log.close()
    assert found() == expected


def test_pieces_stay_in_the_log_while_the_last_of_them_may_be_taken_back(tmp_path: Path) -> None:
    site = _Site(tmp_path)
    for number, piece in enumerate(PIECES):
        site.deliver(1, number, piece)
        site.log.close_file()
    site.deliver(0, 0, pack(0, [b"after"]))
    site.archive()
    last = len(PIECES) - 1
    assert site.release(trimmed=last) == []
    assert site.release(trimmed=last + 1) == list(range(last + 1))
    site.log.close()


def test_a_file_that_only_finished_messages_lie_in_may_be_gone(tmp_path: Path) -> None:
    """Found by kill and restart: a member that had stopped in the middle of a large message could never write its
    journal again, since an older file of the log refers to one that was rightly let go of."""
    site = _Site(tmp_path)
    payload = pack(0, [bytes(1000)])
    site.log.stage_record(b"record" + payload, payload)
    site.commit()
    site.log.close_file()
    site.deliver(0, 0, payload)
    site.deliver(1, 0, PIECES[0])
    site.log.close_file()
    site.log.stage_checkpoint([])
    site.commit()
    site.archive()
    assert site.release(trimmed=1) == [0]
    assert log_files(Disk(), tmp_path / "wal") == [1, 2]
    site.restart()
    for number, piece in enumerate(PIECES[1:], 1):
        site.deliver(1, number, piece)
    assert site.rows()[-1] == ("deliver", 7, 1, MESSAGE)
    site.log.close_file()
    site.deliver(0, 1, pack(1, [b"after"]))
    site.archive()
    assert site.rows() == [
        ("deliver", 0, 0, bytes(1000)),
        ("deliver", 7, 1, MESSAGE),
        ("deliver", 1, 2, b"after"),
    ]
    site.log.close()


def test_a_journal_that_cannot_be_written_is_named_and_the_member_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_group(tmp_path, sites="a")

    def refuse(self: JournalFolder, file: int) -> None:
        raise FileNotFoundError(2, "No such file or directory", "32.wal")

    async def body() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(JournalFolder, "add", refuse)
            member = await join(path, "a", listen=False)
            with pytest.raises(StorageFailed, match=r"the journal cannot be written.*32\.wal"):
                await member.close()
        again = await join(path, "a", listen=False)  # the folder is not locked
        await again.close()

    run(body)
