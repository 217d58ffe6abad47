"""The generator: fixed numbers, independent forks, sound distributions."""

from tocsin.core.rng import Rng


def test_the_numbers_never_change() -> None:
    """Traces are kept and compared over years: these are the numbers of seed 1, for ever."""
    rng = Rng(1)
    assert [rng.bits() for _ in range(4)] == FIRST_OF_SEED_1


FIRST_OF_SEED_1 = [1550320374, 2208954563, 3390491873, 2477933746]


def test_a_fork_depends_on_its_label_only() -> None:
    first, second = Rng(7), Rng(7)
    for _ in range(100):
        second.bits()
    assert [first.fork("x").bits() for _ in range(3)] == [second.fork("x").bits() for _ in range(3)]
    assert first.fork("x").bits() != first.fork("y").bits()
    assert first.fork("x").fork("y").bits() == Rng(7).fork("x").fork("y").bits()


def test_uniform_numbers_are_uniform() -> None:
    rng = Rng(3)
    counts = [0] * 10
    for _ in range(100_000):
        counts[rng.below(10)] += 1
    assert sum((count - 10_000) ** 2 / 10_000 for count in counts) < 27.9  # chi-square, 9 degrees, 0.1 %
    assert {rng.between(-2, 2) for _ in range(1_000)} == {-2, -1, 0, 1, 2}
    wide = [rng.between(0, 1 << 40) for _ in range(10_000)]
    assert min(wide) >= 0 and max(wide) <= 1 << 40 and abs(sum(wide) / 10_000 / (1 << 40) - 0.5) < 0.01


def test_chance_shuffle_and_sample() -> None:
    rng = Rng(4)
    assert abs(sum(rng.chance(0.3) for _ in range(50_000)) / 50_000 - 0.3) < 0.007
    assert not any(rng.chance(0.0) for _ in range(100))
    places = [0] * 4
    for _ in range(20_000):
        items = [0, 1, 2, 3]
        rng.shuffle(items)
        assert sorted(items) == [0, 1, 2, 3]
        places[items.index(0)] += 1
    assert all(abs(count - 5_000) < 250 for count in places)
    assert rng.sample(5, 5) == [0, 1, 2, 3, 4]
    assert len(set(rng.sample(1_000, 20))) == 20


def test_exponential_has_its_mean_and_its_tail() -> None:
    rng = Rng(5)
    values = [rng.exponential(2.0) for _ in range(50_000)]
    assert abs(sum(values) / 50_000 - 2.0) < 0.03
    assert abs(sum(value > 4.0 for value in values) / 50_000 - 0.1353) < 0.006
