"""A peer may send anything that decodes: no message, whatever its numbers, makes a machine raise or loop."""

from tocsin.core.data import Links
from tocsin.core.effects import Multicast, Persist, Send
from tocsin.core.message import Message
from tocsin.core.rng import Rng
from tocsin.protocols.tree_ack import PROTOCOL
from tocsin.protocols.tree_ack.messages import (
    Ack,
    Batch,
    Complete,
    Data,
    Hello,
    Noted,
    Piece,
    Probe,
    Relay,
    Request,
    Welcome,
)
from tocsin.protocols.tree_ack.options import TreeAckOptions
from tocsin.sim import manual_site
from tocsin.sim.manual_site import Input, ManualSite

NUMBERS = [0, 0, 0, 1, 1, 2, 3, 4, 5, 1_000, (1 << 62) - 2]


def number(rng: Rng) -> int:
    return NUMBERS[rng.below(len(NUMBERS))]


def numbers(rng: Rng) -> tuple[int, ...]:
    return tuple([number(rng) for _ in range(rng.below(4))])


def vector(rng: Rng) -> tuple[tuple[int, int, int, int, int], ...]:
    of_each = [(number(rng), number(rng), number(rng), number(rng) - 1, number(rng)) for _ in range(rng.below(5))]
    return tuple(of_each)


def any_message(rng: Rng) -> Message:
    match rng.below(11):
        case 0:
            previous, done, stable = number(rng) - 1, number(rng), number(rng)
            return Data(rng.below(3), number(rng), number(rng), previous, done, stable, b"?")
        case 1:
            return Ack(rng.below(3), number(rng), number(rng), numbers(rng))
        case 2:
            return Complete(rng.below(3), number(rng), number(rng), number(rng), numbers(rng), number(rng))
        case 3:
            return Hello(number(rng), vector(rng))
        case 4:
            return Welcome(number(rng), number(rng), vector(rng))
        case 5:
            have = tuple([(number(rng), number(rng)) for _ in range(rng.below(4))])
            return Request(rng.below(3), number(rng) - 1, have)
        case 6:
            pieces = [Piece(number(rng), number(rng), number(rng) - 1, rng.chance(0.5), b"!") for _ in range(3)]
            floors = tuple([(number(rng), number(rng), number(rng)) for _ in range(rng.below(3))])
            return Batch(rng.below(3), number(rng), rng.chance(0.5), floors, tuple(pieces))
        case 7:
            return Noted(rng.below(3), number(rng), number(rng), number(rng))
        case 8:
            few = [(rng.below(5), rng.below(5), rng.below(5), (rng.below(5), rng.below(5))) for _ in range(3)]
            seeks = [(rng.below(5), rng.between(0, (1 << 59) - 1)) for _ in range(rng.below(4))]
            return Links(tuple(few), tuple(seeks))
        case 9:
            path = (*numbers(rng), 0) if rng.chance(0.5) else numbers(rng)
            return Relay(path, rng.below(4), number(rng), Probe(rng.chance(0.5)))
        case _:
            return Probe(rng.chance(0.5))


def test_anything_that_decodes() -> None:
    codec = PROTOCOL.codec()
    answers = 0
    for seed in range(60):
        rng = Rng(seed).fork("hostile")
        options = TreeAckOptions(detector="perfect" if seed % 2 else "timeout", window=1 + seed % 3)
        groups = [[0, 1, 2, 3], [1, 2]]
        site = ManualSite(rng.below(4), PROTOCOL, options, 4, [0, 1, 2, 3], groups, None, seed)
        site.apply(Input(manual_site.START, 0))
        now = 0
        for _ in range(100):
            now += rng.below(50_000)
            if rng.chance(0.1) and site.machine is not None and site.machine.room() > 0:
                happening = Input(manual_site.BROADCAST, now)
                happening.number = rng.below(2)
            elif rng.chance(0.05):
                site.apply(Input(manual_site.CRASH, now))
                happening = Input(manual_site.START, now)
            elif rng.chance(0.2) and site.timers:
                happening = Input(manual_site.TIMER, now)
                happening.timer, happening.number = sorted(site.timers)[rng.below(len(site.timers))]
            elif rng.chance(0.1):
                happening = Input(manual_site.PEER_DOWN if rng.chance(0.5) else manual_site.PEER_UP, now)
                happening.peer = (site.site + 1 + rng.below(3)) % 4
            else:
                happening = Input(manual_site.RECEIVE, now)
                happening.peer = (site.site + 1 + rng.below(3)) % 4
                happening.message = codec.decode(codec.encode(any_message(rng)))
            for effect in site.apply(happening):
                if isinstance(effect, (Send, Multicast)):
                    answers += codec.decode(codec.encode(effect.message)) == effect.message
                elif isinstance(effect, Persist):
                    PROTOCOL.record_codec().decode(PROTOCOL.record_codec().encode(effect.record))
    assert answers > 1_000  # it did listen
