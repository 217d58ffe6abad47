"""Publishers and readers at three doors while members are killed, stopped and cut, and doors die and close: nothing
that was acknowledged is lost, nothing numbered comes twice, and readers have neither gap nor repeat."""

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

import tocsin
from tests.door.door_groups import READER, WRITER, door_tables, payloads, wait_open
from tests.live.harness import LiveGroup, wait_until

PATIENCE_SECONDS = 60.0


class Publisher(threading.Thread):
    """Publishes until it is told to stop. With numbers, every message counts once; without, what is `Unknown` may."""

    def __init__(self, name: str, urls: list[str], is_numbered: bool) -> None:
        super().__init__(daemon=True)
        self.acknowledged: dict[bytes, int] = {}  # by payload: its position
        self.unknown: set[bytes] = set()
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self._called = name
        self._urls = urls
        self._is_numbered = is_numbered

    def run(self) -> None:
        draw = random.Random(self._called)
        number = 0
        try:
            with tocsin.connect(self._urls, token=WRITER, timeout=PATIENCE_SECONDS) as client:
                while not self.ended.is_set():
                    count = draw.choice((1, 3, 40, 600))
                    messages = [f"{self._called}/{number + index}".encode() for index in range(count)]
                    self._publish(client, messages, number)
                    number += count
                    time.sleep(0.01)
        except BaseException as error:
            self.error = error

    def _publish(self, client: tocsin.Client, messages: list[bytes], number: int) -> None:
        numbered = (self._called, number) if self._is_numbered else (None, None)
        try:
            found = client.publish(messages, None, *numbered)
        except tocsin.Unknown:
            if self._is_numbered:
                raise
            self.unknown.update(messages)
        else:
            self.acknowledged.update(zip(messages, found, strict=True))


class Reader(threading.Thread):
    """Follows until it has a position; what it gets lies without gap or repeat."""

    def __init__(self, urls: list[str], consumer: str | None) -> None:
        super().__init__(daemon=True)
        self.rows: list[bytes] = []  # by position
        self.end: int | None = None  # of the last position, once that is known
        self.error: BaseException | None = None
        self._urls = urls
        self._consumer = consumer

    def run(self) -> None:
        try:
            while self.end is None or len(self.rows) <= self.end:
                with tocsin.connect(self._urls, token=READER, timeout=PATIENCE_SECONDS) as client:
                    self._read(client)
        except BaseException as error:
            self.error = error

    def _read(self, client: tocsin.Client) -> None:
        """A consumer comes anew after some batches, and goes on from its cursor at another door."""
        after: Literal["start"] | int = "start" if self._consumer else len(self.rows) - 1
        reading = client.read(after=after, follow=True, consumer=self._consumer)
        for batches, batch in enumerate(reading, 1):
            found = batch.column("position").to_pylist()
            if found != list(range(len(self.rows), len(self.rows) + len(found))):
                raise AssertionError(f"after {len(self.rows) - 1} came {found[0]} to {found[-1]}, {len(found)} rows")
            self.rows += batch.column("payload").to_pylist()
            if self._consumer:
                client.ack(self._consumer, found[-1])
            if (self.end is not None and len(self.rows) > self.end) or (self._consumer and batches == 20):
                self._urls = self._urls[1:] + self._urls[:1]
                return


def faults(group: LiveGroup, rounds: int) -> Iterator[str]:
    """One fault a round, and its end."""
    draw = random.Random(rounds)
    kinds = ["kill", "door", "stop", "cut"]
    for number in range(rounds):
        kind = kinds[number] if number < len(kinds) else draw.choice(kinds)
        name = draw.choice(group.sites)
        if kind == "kill":
            group.kill(name)
            time.sleep(draw.uniform(0, 1))
            group.start(name)
        elif kind == "stop":
            group.stop(name)
            time.sleep(draw.uniform(0, 1))
            group.start(name)
        elif kind == "door":
            process = door_process(group, name)
            if process is not None:
                os.kill(process, signal.SIGKILL)
        else:
            others = "+".join(each for each in group.sites if each != name)
            group.inject(name, f"cut={others}")
            time.sleep(draw.uniform(0.5, 3))
            group.inject(name, "")
        group.wait_answering(group.sites)
        group.wait_together()
        yield kind


def door_process(group: LiveGroup, name: str) -> int | None:
    status = group.status(name)
    found = None if status is None else status["door"]["process"]
    return None if found is None else int(found)


def run_rounds(folder: Path, rounds: int) -> dict[str, int]:
    tables, urls = door_tables(folder)
    happened: dict[str, int] = {}
    with LiveGroup(folder, "counter_token", tail=tables + '\n[journal]\ndurability = "process"\n') as group:
        group.start_all()
        group.wait_together()
        wait_open(urls)
        publishers = [Publisher("numbered", urls, True), Publisher("plain", urls[1:] + urls[:1], False)]
        readers = [Reader(urls[2:] + urls[:2], None), Reader(urls, "billing")]
        threads: list[Publisher | Reader] = [*publishers, *readers]
        for thread in threads:
            thread.start()
        wait_until("something is published", lambda: all(each.acknowledged for each in publishers))
        for kind in faults(group, rounds):
            happened[kind] = happened.get(kind, 0) + 1
            stopped = [each.error for each in threads if each.error is not None]
            if stopped:
                raise stopped[0]
            done = [len(each.acknowledged) for each in publishers]
            wait_until("publishing goes on", lambda done=done: _goes_on(publishers, done))  # type: ignore[misc]
        for publisher in publishers:
            publisher.ended.set()
            publisher.join(PATIENCE_SECONDS)
            assert not publisher.is_alive() and publisher.error is None, publisher.error
        with tocsin.connect(urls, token=WRITER) as client:
            [last] = client.publish([b"the end"], producer="end", number=0)
        for reader in readers:
            reader.end = last
        with tocsin.connect(urls, token=WRITER) as client:
            client.publish([b"behind it"], producer="end", number=1)  # a reader that has the end looks again
        for reader in readers:
            reader.join(PATIENCE_SECONDS)
            assert reader.error is None, reader.error
            assert not reader.is_alive(), f"has {len(reader.rows)} of {last + 1}"
        check(publishers, readers, last)
        wait_open(urls)
        for url in urls:
            with tocsin.connect(url, token=READER) as client:
                assert payloads(client, limit=last + 1, follow=True) == readers[0].rows[: last + 1]
    return happened


def _goes_on(publishers: list[Publisher], done: list[int]) -> bool:
    return all(
        len(each.acknowledged) > before or each.error is not None for each, before in zip(publishers, done, strict=True)
    )


def check(publishers: list[Publisher], readers: list[Reader], last: int) -> None:
    rows = readers[0].rows[: last + 1]
    assert readers[1].rows[: last + 1] == rows
    assert len(set(rows)) == len(rows), "something came twice"
    for publisher in publishers:
        for payload, position in publisher.acknowledged.items():
            assert rows[position] == payload
    known = {b"the end", b"behind it"}.union(
        *(each.acknowledged for each in publishers), *(each.unknown for each in publishers)
    )
    assert set(rows) <= known, "something came that nobody sent"


def test_rounds(tmp_path: Path) -> None:
    happened = run_rounds(tmp_path, 4)
    assert set(happened) == {"kill", "door", "stop", "cut"}


@pytest.mark.long
def test_two_hundred_rounds(tmp_path: Path) -> None:
    happened = run_rounds(tmp_path, 200)
    assert min(happened.values()) > 20, happened
