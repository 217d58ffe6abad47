"""Whatever bytes come in, the answer is a message or a DecodeError; every message survives the way there and back."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tocsin.core.codec import MESSAGE_BYTES_MAX, Codec
from tocsin.core.config import decode_config
from tocsin.core.data import Data
from tocsin.core.errors import DecodeError
from tocsin.core.message import Message
from tocsin.core.rng import Rng
from tocsin.protocols.baselines.ack_all.messages import Ack
from tocsin.protocols.protocol import Protocol
from tocsin.protocols.registry import REGISTRY
from tocsin.sim.run import run_to_end
from tocsin.sim.scenario import Scenario
from tocsin.sim.scenario_config import ScenarioConfig
from tocsin.sim.swarm.draw import draw_scenario
from tocsin.sim.swarm.kinds import EARLIER

ROUNDS = 300


class Collecting(Codec):
    """A codec that keeps one example of every kind of message it saw, as bytes."""

    seen: dict[str, bytes]

    def encode(self, message: Message) -> bytes:
        data = super().encode(message)
        assert super().decode(data) == message
        self.seen[type(message).__name__] = data
        return data


def examples(protocol: Protocol) -> list[bytes]:
    """Encoded messages of real runs."""
    collecting = Collecting(protocol.messages)
    collecting.seen = {}
    for seed in range(6):
        config = decode_config(draw_scenario(protocol, seed, only=EARLIER), ScenarioConfig, "codec")
        simulation = Scenario(config, "codec", Path(), protocol).build(seed, None)
        simulation.world.codec = collecting
        run_to_end(simulation, config.duration_us)
    return [collecting.seen[name] for name in sorted(collecting.seen)]


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_no_bytes_break_a_codec(name: str) -> None:
    codec = REGISTRY[name].codec()
    rng = Rng(1).fork(name)
    for data in examples(REGISTRY[name]):
        for _ in range(ROUNDS):
            changed = bytearray(data)
            for _ in range(rng.between(1, 3)):
                way = rng.below(3)
                place = rng.below(max(1, len(changed)))
                if way == 0 and changed:
                    changed[place] = rng.below(256)
                elif way == 1:
                    del changed[place:]
                else:
                    changed[place:place] = bytes(rng.below(256) for _ in range(rng.below(6)))
            _decode(codec, bytes(changed))
    for _ in range(ROUNDS):
        _decode(codec, bytes(rng.below(256) for _ in range(rng.below(64))))


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_what_carries_messages_has_their_payloads(name: str) -> None:
    """A live member that notes receptions looks into them."""
    codec = REGISTRY[name].codec()
    messages = [codec.decode(data) for data in examples(REGISTRY[name])]
    data = [message for message in messages if message.kind == "data"]
    assert any(message.carries() for message in data)
    for message in data:
        assert len(message.payloads()) == len(message.carries()), message


def _decode(codec: Codec, data: bytes) -> None:
    try:
        message = codec.decode(data)
    except DecodeError:
        return
    assert isinstance(message, Message)
    assert codec.decode(codec.encode(message)) == message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\xdd\xff\xff\xff\xff",  # a list of four thousand million
        b"\x92\xa3Ack\xdf\xff\xff\xff\xff",  # a map as large
        b"\x95\xa4Data\x00\x00\x00\xc6\xff\xff\xff\xff",  # bytes as many
        b"\x91" * 5_000,  # lists in lists
        b"\x92\xa3Ack\xff",  # a negative number
        b"\x92\xa3Ack\xcf\xff\xff\xff\xff\xff\xff\xff\xff",  # one beyond every limit
        b"\x93\xa3Ack\x01\x02",  # a field too many
        b"\x91\xa3Ack",  # one too few
        b"\x92\xa4Nack\x01",  # unknown
    ],
)
def test_hostile_bytes(data: bytes) -> None:
    with pytest.raises(DecodeError):
        Codec((Data, Ack)).decode(data)


def test_oversized_input_is_not_even_read() -> None:
    with pytest.raises(DecodeError, match="at most"):
        Codec((Data, Ack)).decode(memoryview(bytes(MESSAGE_BYTES_MAX + 1)))


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_protocol_lists_messages_and_records_once(name: str) -> None:
    protocol = REGISTRY[name]
    for kinds in (protocol.messages, protocol.records):
        assert len({kind.__name__ for kind in kinds}) == len(kinds)
    assert protocol.messages and all(kind.kind for kind in protocol.messages)
    defaults: Any = protocol.options()
    for option in msgspec.structs.fields(protocol.options):
        described = msgspec.inspect.type_info(option.type)
        extra = getattr(described, "extra_json_schema", None) or {}
        assert extra.get("description") or "description" in str(option.type), f"{name}.{option.name} says nothing"
    assert defaults == msgspec.convert({}, protocol.options)
