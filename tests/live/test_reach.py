"""A live broadcast with a wanted reach: what is promised, what is refused, and which protocols can."""

from pathlib import Path

import pytest

import tocsin
from tests.live.live_groups import run, until, write_group

OPTIONS = "[options]\nheartbeat_us = 5000\nsettle_us = 5000000\nmessages_per_site_max = 5\n"


def delivered(member: tocsin.Member) -> int:
    messages: int = member.status()["totals"]["messages_delivered"]
    return messages


def test_a_broadcast_says_its_reach_and_learns_what_is_promised(tmp_path: Path) -> None:
    path = write_group(tmp_path, "reliability_tree", "abc", tail=OPTIONS)

    async def body() -> None:
        async with tocsin.join(path, "a") as a, tocsin.join(path, "b") as b, tocsin.join(path, "c") as c:
            receipt = await a.broadcast(b"likely", reach=0.5)  # waits until all were heard of
            assert receipt.reach is not None and receipt.reach >= 0.5
            assert await receipt.ordered() == 0
            await until(lambda: delivered(b) == 1 and delivered(c) == 1)
            with pytest.raises(tocsin.InputError, match="needs more than the budget of 10 messages"):
                await a.broadcast(b"surely", reach=1 - 1e-15)
            plain = await a.broadcast(b"as the options say")
            assert plain.reach is None and await plain.ordered() == 1
            await until(lambda: delivered(b) == 2)
            with pytest.raises(tocsin.TooLarge, match="with `reach`"):
                await a.broadcast(bytes(100_000), reach=0.9)

    run(body)


def test_a_receipt_names_whom_no_known_way_leads_to(tmp_path: Path) -> None:
    options = "[options]\nheartbeat_us = 20000\nsettle_us = 300000\n"
    path = write_group(tmp_path, "reliability_tree", "abc", tail=options)

    async def body() -> None:
        async with tocsin.join(path, "a") as a, tocsin.join(path, "b") as b:
            receipt = await a.broadcast(b"to those who are there")  # c was never started: taken after `settle_us`
            await receipt.ordered()
            assert list(receipt.left_out) == ["c"]
            await until(lambda: delivered(b) == 1)
            async with tocsin.join(path, "c") as c:
                while receipt.left_out:
                    receipt = await a.broadcast(b"to all who are known")
                    await receipt.ordered()
                await until(lambda: delivered(c) > 0)

    run(body)


def test_copies_travel_apart(tmp_path: Path) -> None:
    """Copies in one datagram would all be lost with it, and the promise with them."""
    options = "[options]\nheartbeat_us = 200000\nsettle_us = 5000000\n"
    path = write_group(tmp_path, "reliability_tree", "ab", tail=options)

    async def body() -> None:
        async with tocsin.join(path, "a") as a, tocsin.join(path, "b") as b:
            await a.broadcast(b"first", reach=0.5)  # waits until all were heard of
            await until(lambda: delivered(b) == 1)
            before = a.status()["totals"]["frames_sent"]
            receipt = await a.broadcast(b"second", reach=0.999999)
            assert a._driver is not None
            planned = a._driver.machine.plan(0, 0.999999).messages  # type: ignore[attr-defined]
            assert receipt.reach is not None and receipt.reach >= 0.999999
            await until(lambda: delivered(b) == 2)
            assert planned >= 5, "little is known yet"
            assert a.status()["totals"]["frames_sent"] - before >= planned, "as many packets as copies"

    run(body)


def test_other_protocols_refuse_a_reach(tmp_path: Path) -> None:
    path = write_group(tmp_path, "ack_all", "a")

    async def body() -> None:
        async with tocsin.join(path, "a") as a:
            with pytest.raises(tocsin.InputError, match="ack_all does not plan it"):
                await a.broadcast(b"x", reach=0.9)

    run(body)
