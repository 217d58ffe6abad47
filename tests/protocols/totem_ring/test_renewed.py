"""A site that begins anew with an empty disk is told what it missed, uses no number twice, and comes from no ring."""

from typing import Any

from tests.protocols.recording import Recording
from tests.protocols.totem_ring.test_parts import setup_of
from tocsin.core.data import Account
from tocsin.core.machine import ANY_ORIGIN, RENEWAL_GAP
from tocsin.protocols.baselines.totem_ring import PROTOCOL
from tocsin.protocols.baselines.totem_ring.store import NO_RING, UNHEARD_RINGS
from tocsin.sim.swarm.swarm import run_document

INCARNATION = 2


def test_nothing_is_taken_before_it_is_known_what_was_missed() -> None:
    outbox = Recording()
    machine = PROTOCOL.make(setup_of(3, INCARNATION, RENEWAL_GAP), outbox)
    machine.on_start(0, [])
    assert machine.room() == 0 and not machine.quiet()
    assert [each for each in outbox.heard() if not each.startswith("set")] == ["multicast [1, 2] Enquiry"]
    machine.on_message(1, 1, Account(INCARNATION, False, (0,), (0,)))
    assert outbox.heard() == [], "who has begun anew, too, does not know"
    machine.on_message(2, 2, Account(INCARNATION, True, (7,), (6,)))
    heard = outbox.heard()
    assert f"missed {ANY_ORIGIN}:0+7" in heard and "multicast [1, 2] Join" in heard
    assert not any(each.startswith("view") for each in heard), "it is on no ring"
    assert machine.room() > 0 and machine.broadcast(3, 0, b"x") == RENEWAL_GAP


def test_it_comes_from_no_ring_and_names_none_again() -> None:
    machine: Any = PROTOCOL.make(setup_of(3, INCARNATION, RENEWAL_GAP), Recording())
    machine.on_start(0, [])
    machine.on_message(1, 1, Account(INCARNATION, True, (0,), (6,)))
    past = machine._exchange.past()
    assert (past.ring, past.root, past.have) == (NO_RING, 0, ())
    assert machine._store.propose_ring() > 6 + UNHEARD_RINGS - 1


def test_a_wiped_site_is_never_silent() -> None:
    document = {
        "protocol": "totem_ring",
        "sites": 3,
        "duration_us": 40_000_000,
        "workload": {"messages": 60, "every_us": 100_000},
        "network": {"delay_us": 200},
        "faults": [
            {"at_us": 2_000_000, "crash": ["a"]},
            {"at_us": 2_000_100, "wipe": ["a"]},
            {"at_us": 2_000_200, "recover": ["a"]},
        ],
    }
    outcome = run_document(PROTOCOL, document, 0)
    assert outcome.violated is None, outcome.violated
