"""Data folders of live groups for the tests of streams."""

import asyncio
from pathlib import Path

import tocsin
from tests.live.live_groups import SECONDS_MAX, all_live, until, write_group

JOURNALED = '[journal]\ndurability = "process"\nsegment_bytes = 65_536\nscrub_bytes_per_s = 0\n'


async def join_all(path: Path, sites: str) -> list[tocsin.Member]:
    members = [await tocsin.join(path, site) for site in sites]
    await until(lambda: all_live(members))
    return members


async def read(member: tocsin.Member, messages: int) -> None:
    """So many deliveries."""
    count = 0
    async for event in member:
        count += isinstance(event, tocsin.Delivery)
        if count == messages:
            return


def make_group(
    folder: Path, messages: int, sites: str = "abc", protocol: str = "counter_token", size: int = 40
) -> Path:
    """A group whose members broadcast in turn, deliver everything, and stop; its data folder."""
    path = write_group(folder, protocol=protocol, sites=sites, tail=JOURNALED)

    async def body() -> None:
        async with asyncio.timeout(SECONDS_MAX):
            members = await join_all(path, sites)
            reading = [asyncio.create_task(read(member, messages)) for member in members]
            for number in range(messages):
                await members[number % len(members)].broadcast(b"%06d" % number + bytes(number % size))
            await asyncio.gather(*reading)
            for member in members:
                await member.leave()

    asyncio.run(body())
    return folder / "data"
