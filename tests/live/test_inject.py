"""The fault layer's language and its draws."""

import pytest

from tocsin.core.errors import InputError
from tocsin.live.wire.inject import REORDER_US, Injector


def test_every_fault_happens_about_as_often_as_asked() -> None:
    injector = Injector(("a", "b", "c"))
    injector.configure("loss=0.25,delay_us=100-200,duplicate=0.1,reorder=0.5,cut=b+c,seed=3")
    fates = [injector.delays() for _ in range(20_000)]
    assert injector.cut == {1, 2}
    assert 0.23 < sum(not fate for fate in fates) / 20_000 < 0.27
    assert 0.06 < sum(len(fate) == 2 for fate in fates) / 20_000 < 0.09
    delays = [delay for fate in fates for delay in fate]
    late = [delay for delay in delays if delay >= REORDER_US]
    assert 0.47 < len(late) / len(delays) < 0.53
    assert min(delays) == 100 and max(delays) == REORDER_US + 200
    assert injector.stat_lost == sum(not fate for fate in fates)


def test_the_same_seed_draws_the_same_and_nothing_heals_everything() -> None:
    one, two = Injector(("a",)), Injector(("a",))
    for injector in (one, two):
        injector.configure("loss=0.5,seed=9")
    assert [one.delays() for _ in range(50)] == [two.delays() for _ in range(50)]
    one.configure("")
    assert not one.is_active() and [one.delays() for _ in range(50)] == [[0]] * 50


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("los=0.1", "did you mean `loss`"),
        ("loss=1.0", r"expected a probability in \[0, 1\)"),
        ("loss=nan", "expected a probability"),
        ("loss", "unknown fault `loss`"),
        ("delay_us=9-3", "expected LOW-HIGH"),
        ("delay_us=-3", "expected a whole number"),
        ("cut=z", "no site `z`"),
    ],
)
def test_mistakes_are_named_and_change_nothing(text: str, says: str) -> None:
    injector = Injector(("a", "b"))
    injector.configure("loss=0.5")
    with pytest.raises(InputError, match=says):
        injector.configure(text)
    assert injector.text == "loss=0.5"
