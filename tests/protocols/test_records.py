"""What the contract says of records (`core/message.py`): one that keeps an application's message ends with it."""

import msgspec
import pytest

from tests.protocols.test_rival_hostile import anything
from tocsin.core.message import payload_of
from tocsin.core.rng import Rng
from tocsin.protocols.registry import REGISTRY


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_record_that_keeps_a_message_ends_with_it(name: str) -> None:
    protocol = REGISTRY[name]
    codec = protocol.record_codec()
    for kind in protocol.records:
        fields = [field.name for field in msgspec.structs.fields(kind)]
        kept = [field.name for field in msgspec.structs.fields(kind) if field.type is bytes]
        assert kept in ([], ["payload"]), f"{kind.__name__}: bytes of a message are called payload"
        if kept:
            assert fields[-1] == "payload", f"{kind.__name__}: the payload is the last field"
            payload = bytes(range(256)) * 4
            record = msgspec.structs.replace(anything(kind, Rng(1)), payload=payload)
            assert payload_of(record) is payload
            assert codec.encode(record).endswith(payload)


def test_a_record_without_a_message_has_none() -> None:
    for protocol in REGISTRY.values():
        for kind in protocol.records:
            if "payload" not in kind.__struct_fields__:
                assert payload_of(anything(kind, Rng(1))) == b""
