"""A peer may send anything that decodes: no message, whatever its numbers, makes a site raise."""

import pytest

from tests.protocols.test_rival_hostile import INPUTS, LIVES, Deaf, anything
from tocsin.core.errors import DecodeError
from tocsin.core.machine import Setup
from tocsin.core.rng import Rng
from tocsin.protocols.propagation_graph import PROTOCOL
from tocsin.protocols.propagation_graph.options import PropagationGraphOptions

TIMERS = ["RESEND", "SUBMIT", "ACK", "GAP", "CHANGE", "MANAGE", "COUNT", "BEAT", "WISH", "GRACE", "PUSH", "FETCH"]


@pytest.mark.parametrize("failures", ["atomic", "non_atomic"])
def test_anything_that_decodes(failures: str) -> None:
    codec = PROTOCOL.codec()
    options = PropagationGraphOptions(failures="non_atomic" if failures == "non_atomic" else "atomic")
    arrived = 0
    for life in range(LIVES):
        rng = Rng(life)
        outbox = Deaf()
        site = rng.below(3)
        setup = Setup(site, 3, [0, 1, 2], [[0, 1, 2], [0, 2]], options, rng.fork("machine"), outbox.disk, None)
        machine = PROTOCOL.make(setup, outbox)
        machine.on_start(0, [])
        for now in range(1, INPUTS):
            if rng.chance(0.15) and machine.room() > 0:
                machine.broadcast(now * 1000, rng.below(2), b"mine")
            if rng.chance(0.02):
                machine.change_group(now * 1000, rng.below(3), [rng.below(3)])
            if rng.chance(0.15):
                machine.on_timer(now * 1000, TIMERS[rng.below(len(TIMERS))], rng.below(4))
            message = anything(PROTOCOL.messages[rng.below(len(PROTOCOL.messages))], rng)
            try:
                message = codec.decode(codec.encode(message))
            except DecodeError:
                continue
            arrived += 1
            machine.on_message(now * 1000, (site + 1 + rng.below(2)) % 3, message)
    assert arrived > LIVES * INPUTS // 2
