"""What wires say to each other, from somebody who has the key and means harm: well-formed packets with odd content."""

import asyncio
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.live.live_groups import run, write_group
from tocsin.live.group_config import read_group
from tocsin.live.known import Known
from tocsin.live.register import Register
from tocsin.live.storage.disk import Disk
from tocsin.live.storage.journal_checks import check_path, read_check
from tocsin.live.wire.keys import read_keys
from tocsin.live.wire.receiving import Opened
from tocsin.live.wire.seal import HEADER, Keyring, Sealer
from tocsin.live.wire.wire import Wire
from tocsin.live.wire.wire_messages import ASK, BUNDLE, GREETING, NEWS, PROBE

FOR_ALL = bytes((1, 0xFF))  # one byte of sites, all of them
KINDS = (GREETING, GREETING, NEWS, NEWS, ASK, BUNDLE, PROBE, 0, 3, 9, 255)


def _number(source: random.Random) -> int:
    return source.choice((0, 1, 2, -1, 255, 1 << 31, 1 << 32, (1 << 60) - 1, 1 << 60, (1 << 63) - 1, (1 << 64) - 1))


def _known(source: random.Random) -> list[Any]:
    return [12, source.choice((0, 1, 2, 7)), *(_number(source) for _ in range(7))]


def _text(source: random.Random) -> msgspec.Raw:
    """A string; often one that is no text."""
    data = source.randbytes(source.randrange(1, 20))
    return msgspec.Raw(bytes((0xA0 | len(data),)) + data)


def _greeting(source: random.Random) -> list[Any]:
    settings = [[_text(source), source.randbytes(4)] for _ in range(source.randrange(3))]
    about = [_known(source), source.random() < 0.5, source.randbytes(16), [_number(source), _number(source)]]
    about += [[_number(source), source.randbytes(4)], settings]
    return [source.randbytes(16), source.randbytes(16), source.random() < 0.5, about, _known(source), b""]


def _body(source: random.Random, kind: int) -> bytes:
    if source.random() < 0.1:
        return b"\x91" * source.choice((10, 2_000)) + source.randbytes(5)  # deep, or nothing
    content: Any = [source.randbytes(source.randrange(30)) for _ in range(source.randrange(4))]
    if kind == GREETING:
        content = _greeting(source)
    elif kind == NEWS:
        content = [_known(source) for _ in range(source.randrange(4))]
    elif kind == ASK:
        content = [_number(source), [[_number(source), _number(source)] for _ in range(source.randrange(4))]]
    encoded = msgspec.msgpack.encode(content)
    if source.random() < 0.2:
        at = source.randrange(len(encoded))
        encoded = encoded[:at] + source.randbytes(1) + encoded[at + 1 :]
    return encoded


def _attack(path: Path, packets: int, seed: int) -> int:
    """Give packets to a wire as they come out of their seals; how many told it something."""
    group = read_group(path)
    assert group.key_file is not None
    keyring = Keyring(group.name.encode(), read_keys(group.key_file))
    told = 0

    async def body() -> None:
        nonlocal told
        source = random.Random(seed)
        loop = asyncio.get_running_loop()
        wire = Wire(group, 0, loop, keyring, Register(0, 3))
        header, sealed = Sealer(keyring, 1).seal(b"known")
        fields = HEADER.unpack(header)
        session = fields[4]
        address = group.addresses[1]
        try:
            wire.sender.send_packet([1], 0, bytes(5_000), False)  # something that can be asked for
            assert wire.receiver.opener.open_fields(header, fields, sealed)[0] is not None
            wire.receiver.opener.meet(1, session)
            for _ in range(packets):
                kind = source.choice(KINDS)
                wire._take(Opened(1, session, bytes((kind,)) + FOR_ALL + _body(source, kind), address), [])
                for each in wire.take_told():
                    told += 1
                    for claim in each.claims:
                        msgspec.msgpack.encode(claim)
                        Register(0, 3).learn(claim)
        finally:
            wire.close()

    run(body)
    return told


def test_hostile_packets(tmp_path: Path) -> None:
    assert _attack(write_group(tmp_path), 5_000, 1) > 50


@pytest.mark.long
def test_a_million_hostile_packets(tmp_path: Path) -> None:
    assert sum(_attack(write_group(tmp_path), 100_000, seed) for seed in range(10)) > 10_000


def test_what_is_claimed_of_a_site_leaves_room_for_more() -> None:
    """Numbers of a new incarnation go on beyond what was claimed, and are written to the log."""
    decode = msgspec.msgpack.Decoder(Known).decode
    for field in range(1, 8):
        claim: list[Any] = [12, 1, 1, 1, 1, 1, 1, 1, 1]
        claim[field] = 1 << 60
        with pytest.raises(msgspec.ValidationError):
            decode(msgspec.msgpack.encode(claim))


def test_a_check_that_is_no_text_counts_as_none(tmp_path: Path) -> None:
    check_path(tmp_path, 3).write_bytes(b'{"size":1,"xxh3":"\xe4\xff","ran_us":1}')
    assert read_check(Disk(), tmp_path, 3) is None
