"""Versions of the wire: two members speak the newest that both understand; others are refused, with both named."""

import asyncio
import socket
from pathlib import Path

import pytest

from tests.live.live_groups import run, until, write_group
from tocsin.live.group_config import Group, read_group
from tocsin.live.register import Register
from tocsin.live.wire.keys import read_keys
from tocsin.live.wire.seal import VERSION, Keyring
from tocsin.live.wire.wire import Wire

pytestmark = pytest.mark.xdist_group("live")


class _End:
    """A wire, and what has arrived by it."""

    def __init__(self, group: Group, site: int, versions: tuple[int, int]) -> None:
        register = Register(site, 2)
        register.asks = False
        assert group.key_file is not None
        keyring = Keyring(group.name.encode(), read_keys(group.key_file))
        self.arrived: list[bytes] = []
        self.peer = 1 - site
        self.wire = Wire(group, site, asyncio.get_running_loop(), keyring, register, versions)
        self.wire.start(self._on_readable)

    def _on_readable(self, sock: socket.socket) -> None:
        while (arrived := self.wire.receive(sock)) is not None:
            self.arrived += [bytes(body) for _, body in arrived]

    def send(self, body: bytes) -> None:
        self.wire.sender.send([self.peer], body, False)
        self.wire.sender.flush()


@pytest.mark.parametrize(
    ("ours", "theirs", "spoken"),
    [
        ((VERSION, VERSION), (VERSION, VERSION), VERSION),
        ((VERSION - 1, VERSION), (VERSION - 1, VERSION - 1), VERSION - 1),  # an older one, which is understood
        ((VERSION, VERSION + 2), (VERSION, VERSION + 1), VERSION + 1),
    ],
)
def test_the_newest_that_both_understand_is_spoken(
    tmp_path: Path, ours: tuple[int, int], theirs: tuple[int, int], spoken: int
) -> None:
    group = read_group(write_group(tmp_path, sites="ab"))

    async def body() -> None:
        a, b = _End(group, 0, ours), _End(group, 1, theirs)
        await until(lambda: not a.wire.why_unmet(1) and not b.wire.why_unmet(0))
        a.send(b"from a")
        b.send(b"from b")
        await until(lambda: a.arrived == [b"from b"] and b.arrived == [b"from a"])
        assert a.wire.sender.sealer.version == b.wire.sender.sealer.version == spoken
        a.wire.close()
        b.wire.close()

    run(body)


def test_others_are_refused_with_both_versions_named(tmp_path: Path) -> None:
    group = read_group(write_group(tmp_path, sites="ab"))

    async def body() -> None:
        a, b = _End(group, 0, (VERSION, VERSION)), _End(group, 1, (VERSION + 1, VERSION + 2))
        why = "it speaks version {} of the wire, this member version {}"
        await until(lambda: a.wire.why_unmet(1) == why.format(VERSION + 1, VERSION))
        await until(lambda: b.wire.why_unmet(0) == why.format(VERSION, f"{VERSION + 1} to {VERSION + 2}"))
        assert a.wire.drops()["version"] > 0
        a.wire.close()
        b.wire.close()

    run(body)
