"""What is called synced is synced, by threads; and what is always synced is, in both modes, before anybody sees it."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

import tocsin
from tests.live.live_groups import run, write_group
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.marks import read_marks
from tocsin.protocols.registry import find_protocol

pytestmark = pytest.mark.xdist_group("live")


def _journal(durability: str) -> str:
    return f'[journal]\ndurability = "{durability}"\nsegment_bytes = 65_536\n'


@pytest.mark.parametrize("durability", ["disk", "process"])
def test_nothing_is_synced_in_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: str) -> None:
    """Files, folders, marks, the journal, sessions and identity: from the first start to the end."""
    path = write_group(tmp_path, protocol="counter_token", sites="a", tail=_journal(durability))
    threads: dict[str, int] = {}
    for name in ("fsync", "fdatasync"):
        plain = getattr(os, name)

        def counted(descriptor: int, name: str = name, plain: object = plain) -> None:
            where = f"{name} in {threading.current_thread().name}"
            threads[where] = threads.get(where, 0) + 1
            plain(descriptor)  # type: ignore[operator]

        monkeypatch.setattr(os, name, counted)

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        await member.ready()
        for number in range(60):
            receipt = await member.broadcast(b"%d" % number + bytes(5000))
            await receipt.durable() if number % 20 == 0 else await receipt.ordered()
        await member.leave()

    run(body)
    assert sum(threads.values()) > 10
    assert not any("MainThread" in where for where in threads), threads


def test_a_view_is_seen_only_when_it_is_synced_also_with_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_go_on = threading.Event()
    plain = os.fdatasync

    def held(descriptor: int) -> None:
        if threading.current_thread().name.startswith("tocsin-disk"):
            assert may_go_on.wait(20.0)
        plain(descriptor)

    monkeypatch.setattr(os, "fdatasync", held)
    path = write_group(tmp_path, protocol="counter_token", sites="a", tail=_journal("process"))

    async def body() -> None:
        member = await tocsin.join(path, "a", listen=False)
        await asyncio.sleep(0.2)
        assert member.view is None
        may_go_on.set()
        await member.ready()
        mark = read_marks(Disk(), tmp_path / "data" / "a" / "wal")
        assert mark is not None and mark[1].offset > 0
        synced = mark[1].place
        await (await member.broadcast(b"a message")).ordered()
        mark = read_marks(Disk(), tmp_path / "data" / "a" / "wal")
        assert mark is not None and mark[1].place == synced, "a message alone is not waited for"
        await member.close()

    run(body)


@pytest.mark.parametrize(
    ("protocol", "names"),
    [
        ("counter_token", {"Promised", "Agreed", "Installed", "Doubt"}),
        ("propagation_graph", {"Opened", "Promised", "Voted", "Learned", "Planned", "Begun", "Abstains"}),
        ("sequencer", {"Termed", "Learned"}),
        ("totem_ring", {"Seen", "Installed"}),
        ("two_phase", {"Proposed"}),
        ("lamport", {"Reserved"}),
        ("tree_ack", {"Started"}),
        ("reliability_tree", {"Started"}),
        ("ack_all", set()),
    ],
)
def test_which_records_are_always_synced(protocol: str, names: set[str]) -> None:
    records = find_protocol(protocol, "test").records
    assert {record.__name__ for record in records if record.always_synced} == names
