"""A checkpoint holds older messages than the last one sent: numbers must go on from the last."""

from tocsin.core.config import decode_config
from tocsin.core.records import RECORDS_MAX
from tocsin.protocols.baselines.ack_all import PROTOCOL
from tocsin.protocols.baselines.ack_all.messages import Ack
from tocsin.sim import stage
from tocsin.sim.stage import Input, Request, StageSite


def broadcast(site: StageSite) -> int:
    happening = Input(stage.BROADCAST, 0)
    happening.payload = b"x"
    return next(request.seqno for request in site.apply(happening) if request.what == "deliver")


def acknowledge(site: StageSite, seqno: int) -> list[Request]:
    happening = Input(stage.RECEIVE, 0)
    happening.peer = 1
    happening.message = Ack(seqno)
    return site.apply(happening)


def test_no_number_is_used_twice_after_a_checkpoint() -> None:
    options = decode_config({}, PROTOCOL.options, "test")
    site = StageSite(0, PROTOCOL, options, 2, [0, 1], [[0, 1]], None, 0)
    site.apply(Input(stage.START, 0))
    assert broadcast(site) == 0  # nobody acknowledges it
    folded = False
    seqno = 0
    while not folded:
        seqno = broadcast(site)
        assert seqno <= RECORDS_MAX
        folded = any(request.what == "checkpoint" for request in acknowledge(site, seqno))
    site.apply(Input(stage.CRASH, 0))
    site.apply(Input(stage.START, 0))
    assert broadcast(site) == seqno + 1
