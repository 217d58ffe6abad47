"""A newcomer is told where the group's messages stand: positions, producers' numbers, large messages under way."""

import asyncio
import random
import shutil
from pathlib import Path

import pytest

import tocsin
from tests.live.live_groups import run, write_group
from tests.live.test_consumer import take
from tests.live.test_sent_once import joined, send
from tocsin.core.errors import DecodeError
from tocsin.core.producers import Producers, producers_from_bytes
from tocsin.live import handover
from tocsin.live.packing import Packer, Unpacker
from tocsin.live.storage.bases import Base, base_at, decode_base, encode_base
from tocsin.live.storage.data_folders import opened as data_opened
from tocsin.live.storage.log import Log
from tocsin.live.storage.log_format import Missed
from tocsin.live.stream import Stream
from tocsin.properties import check
from tocsin.traces.reader import read_rows

pytestmark = pytest.mark.xdist_group("live")


# What a log says of a frame


def commit(log: Log) -> None:
    laid = log.layout()
    log.write(laid)
    log.apply(laid)


class _Story:
    """A log into which frames of three origins come, of many small messages and of pieces; and by frame, what a member
    must know that begins there."""

    def __init__(self, folder: Path, seed: int) -> None:
        rng = random.Random(seed)
        self.log = Log(folder / "wal", 1, 1 << 16)
        stream = Stream(0, self.log.frames, self.log.producers.of(0))
        self.expected: list[tuple[int, bytes, dict[int, list[int]]]] = []
        packers = [Packer() for _ in range(3)]
        numbers = [0, 0, 0]
        unpacker = Unpacker()
        for frame in range(120):
            self.expected.append(self.standing(stream, unpacker))
            origin = rng.randrange(3)
            packer = packers[origin]
            if not len(packer):
                for _ in range(rng.randrange(1, 4)):
                    content = bytes(rng.choice([1, 10, 300, 150_000 if origin == 2 else 10]))
                    if rng.random() < 0.6:
                        packer.put_numbered(content, rng.choice("pq"), rng.randrange(60))
                    else:
                        packer.put(content)
            payload, count = packer.take(numbers[origin], frame + 1)
            numbers[origin] = max(numbers[origin], count.number + max(count.count, 1))
            op, _ = stream.deliver(origin, frame, payload)
            unpacker.feed(origin, payload)
            self.log.stage_delivery(op, payload)
            if rng.random() < 0.7:
                commit(self.log)
                stream.on_applied([])
        commit(self.log)
        self.expected.append(self.standing(stream, unpacker))

    def standing(self, stream: Stream, unpacker: Unpacker) -> tuple[int, bytes, dict[int, list[int]]]:
        unfinished = {origin: unpacker.open_numbers(origin) for origin in range(3) if unpacker.is_open(origin)}
        return stream.position, self.log.producers.of(0).to_bytes(), unfinished


@pytest.mark.parametrize("seed", range(4))
def test_the_log_says_how_things_stood_at_every_frame(tmp_path: Path, seed: int) -> None:
    story = _Story(tmp_path, seed)
    assert len(story.log.closed()) > 2, "it is about several files"
    assert any(unfinished for _, _, unfinished in story.expected) and story.expected[-1][0] > 20
    for frame, (position, table, unfinished) in enumerate(story.expected):
        base = base_at(tmp_path / "wal", 0, frame)
        assert base is not None, frame
        assert (base.position, base.table) == (position, table), frame
        unpacker = Unpacker()
        for origin, piece in base.pieces:
            assert unpacker.feed(origin, piece)[1] == []
        assert {origin: unpacker.open_numbers(origin) for origin in unfinished} == unfinished, frame
        assert decode_base(encode_base(base), 3) == base
    assert base_at(tmp_path / "wal", 0, len(story.expected)) is None, "the log has not come so far"
    story.log.close()


@pytest.mark.parametrize("restarts", [False, True])
def test_who_begins_in_the_middle_goes_on_like_the_others(tmp_path: Path, restarts: bool) -> None:
    """The same decisions, positions and messages from there on; also after a restart, and for who asks it in turn."""
    story = _Story(tmp_path / "old", 1)
    open_at = [frame for frame, (_, _, unfinished) in enumerate(story.expected) if unfinished]
    for begin in (open_at[0], open_at[-1], 60):
        folder = tmp_path / f"new{begin}{restarts}"
        base = base_at(tmp_path / "old" / "wal", 0, begin)
        assert base is not None
        log = Log(folder / "wal", 1, 1 << 16)
        stream = Stream(0, log.frames, log.producers.of(0))
        stream.skip(begin)
        stream.go_on(base.position, log.producers.replace(0, base.table), base.pieces)
        log.stage(Missed(0, -1, 0, begin, 0, base.position, base.table, base.pieces))
        commit(log)
        stream.on_applied([])
        for frame, entry in enumerate(story.log.frames.read_any(0, begin, 1000), begin):
            assert stream.position == story.expected[frame][0]
            assert log.producers.of(0).to_bytes() == story.expected[frame][1]
            op, _ = stream.deliver(entry.origin, entry.seqno, entry.payload)
            log.stage_delivery(op, entry.payload)
            commit(log)
            stream.on_applied([])
            if restarts and frame % 5 == 0:
                log.close()
                log = Log(folder / "wal", 1, 1 << 16)
                stream = Stream(0, log.frames, log.producers.of(0))
                assert log.producers.whole
            if frame % 20 == 0:
                assert base_at(folder / "wal", 0, frame + 1) == base_at(tmp_path / "old" / "wal", 0, frame + 1)
        assert stream.stat_broken == 0
        log.close()
    story.log.close()


def test_what_others_send_is_checked() -> None:
    table = Producers().to_bytes()
    for data in (b"", b"\xc1", encode_base(Base(1, b"x", ())), encode_base(Base(1, table, ((9, b""),)))):
        with pytest.raises(DecodeError):
            decode_base(data, 3)


def test_a_table_without_what_came_later() -> None:
    table = Producers()
    for position, (name, number) in enumerate([("p", 1), ("q", 1), ("p", 2), ("r", 7), ("p", 3)]):
        table.take(name, number, position)
    assert table.newest() == 4
    table.forget_from(3)
    assert table.newest() == 2 and len(table) == 2 and table.find("p", 2) == 2 and table.find("p", 3) == -2
    assert len(producers_from_bytes(table.to_bytes())) == 2


# Live


@pytest.mark.parametrize("protocol", ["counter_token", "lamport", "two_phase"])
def test_a_lost_disk_comes_back_with_the_groups_positions_and_tells_repeats(tmp_path: Path, protocol: str) -> None:
    path = write_group(tmp_path, protocol)

    async def body() -> None:
        a, b, c = await joined(path)
        for number in range(30):
            await send(a, b"%d" % number, "till", number)
            await (await b.broadcast_many([b"x"] * 3)).ordered()
        await c.close()
        shutil.rmtree(tmp_path / "data" / "c")
        c = await tocsin.join(path, "c")
        await c.ready(30)
        first = await take_missed(c)
        assert first.first == 0 and first.count > 0
        for member in (a, b, c):
            assert await retried(member, b"again", "till", 7) == 28, "a repeat, known everywhere"
        position = await retried(c, b"new", "till", 30)
        assert position == 120, "the group's own"
        assert await retried(a, b"new", "till", 30) == 120
        await c.close()
        c = await tocsin.join(path, "c")
        await c.ready(30)
        assert await retried(c, b"new", "till", 30) == 120, "after a restart of the newcomer"
        assert await retried(c, b"more", "till", 31) == 121
        for member in (a, b, c):
            await member.close()

    run(body)
    with data_opened([str(tmp_path / "data")]) as files:
        rows = list(read_rows(map(Path, files)))
    by_position: dict[int, set[tuple[str | None, int | None]]] = {}
    for row in rows:
        if row.event == "deliver" and row.position is not None:
            by_position.setdefault(row.position, set()).add((row.origin, row.seqno))
    assert all(len(messages) == 1 for messages in by_position.values()), "one message, one position, at every member"
    report = check(iter(rows), one_clock=False)
    for name in ("integrity", "agreement", "fifo", "multiple_source", "acyclic"):
        assert report.properties[name].verdict != "fail", report.properties[name].why


async def take_missed(member: tocsin.Member) -> tocsin.Missed:
    async for event in member:
        if isinstance(event, tocsin.Missed):
            return event
    raise AssertionError("it has ended")


async def retried(member: tocsin.Member, text: bytes, producer: str, number: int) -> int:
    """Others may not have heard yet that a newcomer can tell repeats."""
    while True:
        try:
            return await send(member, text, producer, number)
        except (tocsin.NotPrimary, tocsin.NotSupported):
            await asyncio.sleep(0.05)


def test_the_table_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many parts, of which some are lost; one member says nothing useful."""
    monkeypatch.setattr(handover, "PART_BYTES", 200)
    path = write_group(tmp_path, "counter_token", tail="[journal]\nsegment_bytes = 65536\n")

    async def body() -> None:
        a, b, c = await joined(path)
        for member in (a, b, c):
            member.inject("loss=0.05")
        receipts = [
            await member.broadcast(b"%d" % number, producer=f"producer-{number % 200}", number=number)
            for number in range(1500)
            for member in (a, b)
        ]
        for receipt in receipts:
            await receipt.ordered()
        assert max([await receipt.ordered() for receipt in receipts]) == 1499
        await c.close()
        shutil.rmtree(tmp_path / "data" / "c")
        c = await tocsin.join(path, "c", inject="loss=0.05")
        await c.ready(60)
        assert await retried(c, b"5", "producer-5", 5) == await retried(a, b"5", "producer-5", 5)
        await asyncio.sleep(0)
        assert await retried(c, b"new", "producer-5", 5000) == 1500
        tables = [member._driver.log.producers.of(0).to_bytes() for member in (a, c) if member._driver is not None]
        assert tables[0] == tables[1]
        for member in (a, b, c):
            await member.close()

    run(body)


def test_a_replica_with_a_lost_disk_gets_the_state(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token")

    async def body() -> None:
        async with tocsin.recipes.open(path, "a") as a, tocsin.recipes.open(path, "b") as b:
            async with tocsin.recipes.open(path, "c"):
                for number in range(50):
                    await a.map("prices").set(b"%d" % number, bytes(2000), timeout=30)
            shutil.rmtree(tmp_path / "data" / "c")
            async with tocsin.recipes.open(path, "c") as c:
                await c.map("prices").set(b"new", b"1", timeout=50)
                assert await b.map("prices").get_synced(b"new", timeout=30) == b"1"
                assert c.map("prices").get(b"7") == bytes(2000)

    run(body)


def test_deliveries_after_a_newcomers_first_are_heard_by_its_consumer(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token")

    async def body() -> None:
        a, b, c = await joined(path)
        for number in range(40):
            await (await a.broadcast_many([b"%d" % number] * 2)).ordered()
        await c.close()
        shutil.rmtree(tmp_path / "data" / "c")
        c = await tocsin.join(path, "c", consumer="ledger")
        await c.ready(30)
        last = await (await a.broadcast(b"last")).ordered()
        missed = await take_missed(c)
        heard = await take(c, last + 1 - missed.count)
        assert [event.position for event in heard] == list(range(missed.count, last + 1))
        await c.ack(heard[-2])
        await c.close()
        c = await tocsin.join(path, "c", consumer="ledger")
        assert [event.payload for event in await take(c, 1)] == [b"last"]
        for member in (a, b, c):
            await member.close()

    run(body)
