"""The same without async, from this thread: members, replicas, recipes; and what a forked process is told."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tocsin
from tests.live.live_groups import write_group
from tests.state.test_core import Ledger
from tocsin.core.errors import InputError
from tocsin.state.background import in_background


def test_members_without_async(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", sites="ab")
    with tocsin.sync.join(path, "a") as a, tocsin.sync.join(path, "b") as b:
        a.ready()
        assert a.broadcast(b"hello").ordered() == 0
        for event in b:
            if isinstance(event, tocsin.Delivery):
                assert event.payload == b"hello"
                break
        assert b.broadcast(b"again").durable() == 1
        assert next(event.payload for event in b if isinstance(event, tocsin.Delivery)) == b"again"


def test_replicas_and_recipes_without_async(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", sites="ab")
    with tocsin.sync.replicate(path, "a", Ledger()) as a, tocsin.sync.replicate(path, "b", Ledger()) as b:
        assert a.call(b"x", timeout=20) == b"1"
        b.sync(timeout=20)
        assert b.state.commands == ["x"] and b.position == a.position
        with pytest.raises(ValueError, match="refused"):
            a.call(b"y!")
    (tmp_path / "other").mkdir()
    other = write_group(tmp_path / "other", "counter_token", sites="ab")
    with tocsin.sync.recipes.open(other, "a") as one, tocsin.sync.recipes.open(other, "b") as two:
        one.map("m").set(b"k", b"v", timeout=20)
        assert two.map("m").get_synced(b"k") == b"v" and not two.map("m").compare_and_set(b"k", None, b"w")
        with one.lock("l") as token:
            assert token == 1 and two.lock("l").is_held is False
        with two.leader("boss") as token:
            assert token == 1 and two.leader("boss").current == "b"
        one.queue("q").put(b"job")
        item = two.queue("q").take(timeout=20)
        assert item.content == b"job" and item.done()
        with ThreadPoolExecutor(4) as threads:  # from many threads at once
            list(threads.map(lambda _: one.counter("n").add(), range(20)))
        assert one.counter("n").value == 20


def test_a_forked_process_is_told() -> None:
    async def nothing() -> int:
        return 7

    assert in_background(nothing()) == 7
    child = os.fork()
    if child == 0:
        try:
            in_background(nothing())
        except InputError as error:
            os._exit(42 if "forked" in str(error) else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42


def test_a_watch_hears_changes_and_ends_with_the_replica(tmp_path: Path) -> None:
    path = write_group(tmp_path, "counter_token", "a")
    with tocsin.sync.recipes.open(path, "a") as shared:
        prices = shared.map("prices")
        changes = prices.watch()
        prices.set(b"apple", b"3")
        prices.delete(b"apple")
        assert [next(changes), next(changes)] == [(b"apple", b"3"), (b"apple", None)]
        rest: list[object] = []
        reader = threading.Thread(target=lambda: rest.extend(changes))
        reader.start()
    reader.join(30)
    assert not reader.is_alive() and rest == []
