"""A real process, a real disk, a real kill -9: what it said was written is there, through a map or not."""

import random
import subprocess
import sys
import time
from pathlib import Path

from tests.live.logging_process import FILE_BYTES
from tocsin.live.storage.log import Log

KILLS = 12


def test_what_was_written_is_there_after_kill_9(tmp_path: Path) -> None:
    rng = random.Random(3)
    last = -1
    for _ in range(KILLS):
        command = [sys.executable, "-m", "tests.live.logging_process", str(tmp_path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline(), "it writes"
        until = time.monotonic() + rng.random() * 0.3
        said = b""
        while time.monotonic() < until:
            said = process.stdout.readline()
        process.kill()
        rest = process.stdout.read().rpartition(b"\n")[0].splitlines()
        process.stdout.close()
        process.wait()
        last = max(last, int(rest[-1] if rest else said or last))
        log = Log(tmp_path, 1, FILE_BYTES, syncs=False)
        assert log.frames.end(0) in (last + 1, last + 2) and not log.in_doubt and log.life == -1
        last = log.frames.end(0) - 1
        files = sorted(int(path.stem) for path in tmp_path.glob("*.wal"))
        assert log.read_records() == [b"after %d" % last]
        for entry in log.frames.read(0, log.frames.first(0), 1 << 30):
            assert b"%d " % entry.seqno in entry.payload
        log.close()
    assert files[0] > len(files) + 2, "files were written over"
