"""A member's log on a modelled disk: written, killed, torn, and opened again."""

from pathlib import Path

import pytest

from tests.live.modelled_disk import ModelledDisk
from tocsin.live.errors import Damaged
from tocsin.live.frame_format import pack
from tocsin.live.storage.file_format import log_path
from tocsin.live.storage.file_walk import FileWalk
from tocsin.live.storage.log import Log
from tocsin.live.storage.marks import NAME
from tocsin.live.stream import Stream

FOLDER = Path("wal")


class World:
    """A log over a modelled disk. Each step delivers one message and keeps one record."""

    def __init__(self, syncs: bool = True, seed: int = 1) -> None:
        self.disk = ModelledDisk(seed)
        self.syncs = syncs
        self.open()

    def open(self) -> Log:
        self.log = Log(FOLDER, 1, 1 << 16, self.syncs, self.disk)
        self._stream = Stream(0, self.log.frames)
        return self.log

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            number = self.log.frames.end(0)
            payload = pack(number, [b"message %d" % number * 100])
            op, _ = self._stream.deliver(0, number, payload)
            self.log.stage_record(b"record %d" % number, b"")
            self.log.stage_delivery(op, payload)
            laid = self.log.layout()
            self.log.write(laid)
            if self.syncs:
                self.log.sync()
            self.log.apply(laid)
            self._stream.on_applied([])

    def new_file(self) -> None:
        self.log.close_file()
        self.step()

    def kill(self) -> None:
        self.disk.kill()

    def lose_power(self) -> None:
        """Nothing that was not synced is left."""
        for file in self.disk.names_now.values():
            file.versions = {}
        self.disk.lose_power()

    def restart_machine(self) -> None:
        """Everything had reached the disk."""
        for file in self.disk.names_now.values():
            file.sync()
        self.disk.sync_folder(FOLDER)
        self.disk.lose_power()

    def data(self, file: int) -> bytearray:
        return self.disk.names_now[log_path(FOLDER, file)].data

    def marks(self) -> bytearray:
        return self.disk.names_now[FOLDER / NAME].data

    def batches(self, file: int) -> list[int]:
        """Where batches begin."""
        walk = FileWalk(self.disk, FOLDER, file)
        return [batch.offset for batch, _ in walk.batches()]

    def kept(self) -> int:
        """Start again; how many steps are there. The log goes on from there, over another start."""
        log = self.open()
        steps = log.frames.end(0)
        assert log.read_records() == [b"record %d" % number for number in range(steps)]
        self.step()
        self.kill()
        assert self.open().frames.end(0) == steps + 1
        return steps

    def refused(self) -> str:
        before = self.disk.files()
        with pytest.raises(Damaged) as told:
            self.open()
        assert self.disk.files() == before, "nothing is changed"
        assert "\n" not in str(told.value) and "nothing was changed" in str(told.value)
        return str(told.value)


def flip(data: bytearray, at: int) -> None:
    data[at] ^= 0x10
