"""Live groups for tests: files in a folder of the test, on free ports of this machine."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import tocsin
from tocsin.live.wire.keys import new_key, write_keys

SECONDS_MAX = 60.0  # a test that waits longer has failed


def free_ports(count: int) -> list[int]:
    """Ports that nobody uses now; all are held until all are known, so that none comes twice."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    try:
        for sock in sockets:
            sock.bind(("127.0.0.1", 0))
        return [int(sock.getsockname()[1]) for sock in sockets]
    finally:
        for sock in sockets:
            sock.close()


def write_group(folder: Path, protocol: str = "ack_all", sites: str = "abc", head: str = "", tail: str = "") -> Path:
    """A group's file with its key; `head` holds more keys, `tail` more tables."""
    path = folder / "group.toml"
    if not (folder / "group.key").exists():
        write_keys(folder / "group.key", [new_key()], replace=False)
    lines = [f'name = "test"\nprotocol = "{protocol}"\nkey_file = "group.key"\n{head}\n[sites]']
    for name, port in zip(sites, free_ports(len(sites)), strict=True):
        lines.append(f'{name} = "127.0.0.1:{port}"')
    path.write_text("\n".join(lines) + f"\n{tail}\n")
    return path


def run(body: Callable[[], Awaitable[None]]) -> None:
    """Run a test's body in a loop of its own, within the time that a test may take."""

    async def bounded() -> None:
        async with asyncio.timeout(SECONDS_MAX):
            await body()

    asyncio.run(bounded())


async def until(condition: Callable[[], bool]) -> None:
    """Give the loop turns until the condition holds."""
    while not condition():
        await asyncio.sleep(0.002)


def waiting(*members: "tocsin.Member") -> bool:
    """Whether one of them has not begun its life."""
    return any(member._driver is None for member in members)


def all_live(members: "list[tocsin.Member]") -> bool:
    """Whether all have asked the others, begun their lives, and met in them."""
    return not waiting(*members) and not any(member.missing() for member in members)
