"""A checkpoint holds older messages than the last one sent: numbers must go on from the last."""

from tocsin.core.config import decode_config
from tocsin.core.effects import Checkpoint, Deliver, Effect
from tocsin.core.message import RECORDS_MAX
from tocsin.protocols.baselines.ack_all import PROTOCOL
from tocsin.protocols.baselines.ack_all.messages import Ack
from tocsin.sim import manual_site
from tocsin.sim.manual_site import Input, ManualSite


def broadcast(site: ManualSite) -> int:
    happening = Input(manual_site.BROADCAST, 0)
    happening.payload = b"x"
    return next(effect.seqno for effect in site.apply(happening) if isinstance(effect, Deliver))


def acknowledge(site: ManualSite, seqno: int) -> list[Effect]:
    happening = Input(manual_site.RECEIVE, 0)
    happening.peer = 1
    happening.message = Ack(seqno)
    return site.apply(happening)


def test_no_number_is_used_twice_after_a_checkpoint() -> None:
    options = decode_config({}, PROTOCOL.options, "test")
    site = ManualSite(0, PROTOCOL, options, 2, [0, 1], [[0, 1]], None, 0)
    site.apply(Input(manual_site.START, 0))
    assert broadcast(site) == 0  # nobody acknowledges it
    folded = False
    seqno = 0
    while not folded:
        seqno = broadcast(site)
        assert seqno <= RECORDS_MAX
        folded = any(isinstance(effect, Checkpoint) for effect in acknowledge(site, seqno))
    site.apply(Input(manual_site.CRASH, 0))
    site.apply(Input(manual_site.START, 0))
    assert broadcast(site) == seqno + 1
