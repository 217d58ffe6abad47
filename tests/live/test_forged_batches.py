"""Payloads that were made to look like batches of the log are never read as such, however a crash leaves the file.

The forger knows everything that a broadcast can tell: the format, how large files are, which number a file will have
when it is written over, and where batches lie. It does not know the file's secret, which is made when the file is."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.modelled_disk import ModelledDisk
from tocsin.live.frame_format import pack
from tocsin.live.storage.file_format import BATCHES_AT, content_check, encode_batch, encode_slot
from tocsin.live.storage.log import Log
from tocsin.live.storage.log_format import Broadcast, Op, Persist, View
from tocsin.live.stream import Stream

FOLDER = Path("wal")
FORGED = b"FORGED RECORD: I voted for the enemy"
NUMBER = 777_777


def _forged(secret: bytes, offset: int, before: int) -> bytes:
    """A batch as it would have to be there."""
    ops: list[Op] = [Persist(len(FORGED), content_check(FORGED)), Broadcast(0, 1, NUMBER, 1), View(9999, (0,), True)]
    head, _ = encode_batch(secret, offset, before, (9, 1 << 40), 1, ops, len(FORGED))
    return head + FORGED


def _payloads(rng: random.Random, secrets: list[bytes]) -> Iterator[bytes]:
    """Sleds of forged batches, each for the place where it may come to lie; and end slots, at every sector."""
    while True:
        sled = b""
        while len(sled) < 6000:
            secret = rng.choice([*secrets, bytes(16), rng.randbytes(16)])
            sled += _forged(secret, BATCHES_AT + rng.randrange(20_000), rng.choice((0, rng.getrandbits(64))))
            sled += encode_slot(secret, 1 << 40, 0)
        yield sled


def _story(seed: int) -> ModelledDisk:
    """Files full of forged batches are let go of, written over by honest ones, and left by a crash."""
    rng = random.Random(seed)
    disk = ModelledDisk(seed)
    log = Log(FOLDER, 1, 12_000, rng.random() < 0.5, disk)
    stream = Stream(0, log.frames)
    secrets: list[bytes] = []  # of files before: the forger may have read an old disk
    payloads = _payloads(rng, secrets)
    for step in range(rng.randrange(8, 16)):
        honest = log.file >= 2 and rng.random() < 0.7
        content = rng.randbytes(rng.randrange(1, 5000)) if honest else next(payloads)
        payload = pack(step, [content])
        op, _ = stream.deliver(0, step, payload)
        log.stage_checkpoint([b"honest"])
        log.stage_delivery(op, payload)
        laid = log.layout()
        if log._secret not in secrets:
            secrets.append(log._secret)
        log.write(laid)
        if rng.random() < 0.5:
            log.sync()
        log.apply(laid)
        stream.on_applied([])
        if len(log.closed()) > 0 and rng.random() < 0.7:
            log.recycle(log.release([step + 1], archived=log.file))
    if rng.random() < 0.5:
        disk.lose_power()
    else:
        disk.kill()
    return disk


def _require_nothing_forged(first_seed: int, crashes: int) -> None:
    recycled = 0
    for seed in range(first_seed, first_seed + crashes):
        disk = _story(seed)
        recycled += any(b"FORGED" in data for name, data in disk.files().items() if name.endswith(".wal"))
        log = Log(FOLDER, 1, 12_000, True, disk)
        records = log.read_records()
        assert all(record == b"honest" for record in records), f"seed {seed}"
        assert log.next_number < NUMBER and log.view is None, f"seed {seed}"
    assert recycled > crashes // 2, "forged batches lay in the files"


def test_payloads_made_of_valid_batches_are_never_read_as_batches() -> None:
    _require_nothing_forged(0, 300)


@pytest.mark.long
def test_payloads_made_of_valid_batches_are_never_read_as_batches_in_10_000_crashes() -> None:
    _require_nothing_forged(100_000, 10_000)
