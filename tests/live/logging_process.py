"""A process that writes a log with `durability = "process"` as fast as it can, and says what is written: to be killed.

Run by tests/live/test_kill.py: python -m tests.live.logging_process FOLDER"""

import random
import sys
from pathlib import Path

from tocsin.live.frame_format import pack
from tocsin.live.storage.log import Log
from tocsin.live.stream import Stream

FILE_BYTES = 1 << 16


def main() -> None:
    log = Log(Path(sys.argv[1]), 1, FILE_BYTES, syncs=False)
    stream = Stream(0, log.frames)
    rng = random.Random(1)
    while True:
        number = log.frames.end(0)
        payload = pack(number, [b"%d " % number * rng.choice((1, 50, 2000))])
        op, _ = stream.deliver(0, number, payload)
        log.stage_checkpoint([b"after %d" % number])
        log.stage_delivery(op, payload)
        laid = log.layout()
        log.write(laid)
        sys.stdout.buffer.write(b"%d\n" % number)
        sys.stdout.buffer.flush()
        log.apply(laid)
        stream.on_applied([])
        if len(log.closed()) > 2:
            log.recycle(log.release([number - 20], archived=log.file - 1))


if __name__ == "__main__":
    main()
