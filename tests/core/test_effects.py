"""The recorder that every driver gives to its machines."""

from tests.sim.worlds import Kept, Word
from tocsin.core.effects import (
    CancelTimer,
    Checkpoint,
    Deliver,
    Effects,
    GroupView,
    Missed,
    Multicast,
    Persist,
    Rollback,
    Send,
    SetTimer,
    Trim,
    View,
    sent,
)


def test_every_request_is_an_effect_in_the_order_of_the_requests() -> None:
    effects = Effects()
    effects.send(1, Word("one"))
    effects.multicast([1, 2], Word("all"))
    effects.set_timer("T", 3, 40)
    effects.cancel_timer("T", 3)
    effects.deliver(0, 1, 5, b"x")
    effects.rollback(0, 1, 5)
    effects.missed(0, 1, 6, 2)
    effects.install_view(7, [0, 1], True)
    effects.install_group(0, 8, [1])
    effects.persist(Kept("vote"))
    effects.checkpoint([Kept("sum")])
    effects.trim(0, 9)
    recorded = effects.take_all()
    kinds = [Send, Multicast, SetTimer, CancelTimer, Deliver, Rollback, Missed, View, GroupView, Persist, Checkpoint]
    assert [type(effect) for effect in recorded] == [*kinds, Trim]
    assert sent(recorded) == [(1, Word("one")), (1, Word("all")), (2, Word("all"))]
    assert effects.take_all() == [], "each step has its own"


def test_a_machine_may_go_on_changing_its_lists() -> None:
    effects = Effects()
    targets = [1, 2]
    effects.multicast(targets, Word("x"))
    effects.install_view(1, targets, True)
    targets.append(3)
    multicast, view = effects.take_all()
    assert isinstance(multicast, Multicast) and multicast.targets == [1, 2]
    assert isinstance(view, View) and view.members == [1, 2]


def test_a_step_is_taken_whole_and_once() -> None:
    effects = Effects()
    for target in range(3):
        effects.send(target, Word("x"))
    taken = effects.take_all()
    assert [effect.target for effect in taken if isinstance(effect, Send)] == [0, 1, 2]
    assert effects.take_all() == []
    effects.send(3, Word("y"))
    assert len(effects.take_all()) == 1 and len(taken) == 3


def test_a_step_may_have_very_many_effects() -> None:
    """They are let go of one by one, not each with all that follow it."""
    effects = Effects()
    for number in range(200_000):
        effects.deliver(0, 0, number, b"")
    recorded = effects.take_all()
    assert len(recorded) == 200_000
    del recorded
