"""Ways round dead links: found in a few ticks, forgotten when the direct one works, nothing sent while nobody seeks.

All of it comes to an end by itself, where links lose too."""

import pytest

from tocsin.core.data import Links
from tocsin.core.effects import Effects, Multicast, SetTimer
from tocsin.core.links import FRESH_TICKS, Ways, is_time_to_seek, next_on_path
from tocsin.core.rng import Rng

TICK_US = 1_000


class Net:
    """Sites that say whom they hear over links of which some are dead; time goes by ticks."""

    def __init__(self, sites: int, dead: set[tuple[int, int]], lost_percent: int = 0) -> None:
        self.dead = dead
        self.lost_percent = lost_percent
        self.rng = Rng(1)
        self.now = 0
        self.sent = 0
        self.outboxes = [Effects() for _ in range(sites)]
        self.ways = [Ways(site, sites, TICK_US, 100 * TICK_US, self.outboxes[site]) for site in range(sites)]
        self.due: dict[int, int] = {}

    def run(self, ticks: int) -> None:
        for _ in range(2 * ticks):
            for site in range(len(self.ways)):
                self._collect(site)
            for site in sorted(self.due):
                if self.due[site] <= self.now:
                    del self.due[site]
                    self.ways[site].on_timer(self.now)
                    self._collect(site)
            self.now += TICK_US // 2

    def _collect(self, site: int) -> None:
        for effect in self.outboxes[site].take_all():
            if isinstance(effect, SetTimer):
                self.due[site] = effect.deadline
            elif isinstance(effect, Multicast):
                assert isinstance(effect.message, Links)
                for target in effect.targets:
                    self.sent += 1
                    if (site, target) not in self.dead and self.rng.below(100) >= self.lost_percent:
                        self.ways[target].heard_at[site] = self.now
                        self.ways[target].on_links(self.now, site, effect.message)


def both(*pairs: tuple[int, int]) -> set[tuple[int, int]]:
    return {*pairs, *((second, first) for first, second in pairs)}


def test_one_direction_is_dead() -> None:
    net = Net(3, {(0, 2)})
    net.ways[0].seek(net.now)
    net.run(6)
    assert net.ways[0].found == {2: (0, 1, 2)}
    assert net.ways[1].found == {} and net.ways[2].found == {}


def test_a_line_of_five() -> None:
    near = both((0, 1), (1, 2), (2, 3), (3, 4))
    net = Net(5, {(a, b) for a in range(5) for b in range(5) if a != b and (a, b) not in near})
    net.ways[0].seek(net.now)
    net.run(12)
    assert net.ways[0].found[4] == (0, 1, 2, 3, 4)
    assert net.ways[4].found[0] == (4, 3, 2, 1, 0)


def test_the_direct_way_is_taken_again_when_it_works() -> None:
    net = Net(3, both((0, 2)))
    net.ways[0].seek(net.now)
    net.run(20)
    assert set(net.ways[0].found) == {2}
    net.dead.clear()
    net.ways[0].seek(net.now)
    net.run(20)
    assert net.ways[0].found == {} and net.ways[2].found == {}


def test_it_comes_to_an_end_and_costs_nothing_without_need() -> None:
    net = Net(4, both((0, 3)))
    net.run(10)
    assert net.sent == 0
    net.ways[0].seek(net.now)
    net.run(30)
    spent = net.sent
    assert spent <= 4 * 3 * 6
    net.run(100)
    assert net.sent == spent


@pytest.mark.parametrize("lost_percent", [20, 50, 80])
def test_it_comes_to_an_end_where_links_lose(lost_percent: int) -> None:
    """Whom a site hears changes all the time: that is no news for ever."""
    net = Net(20, both((0, 3)), lost_percent)
    for site in range(20):
        net.ways[site].seek(net.now)
    net.run(2 * FRESH_TICKS)
    spent = net.sent
    assert 0 < spent <= 20 * 19 * (2 * FRESH_TICKS)
    net.run(100)
    assert net.sent == spent
    if lost_percent == 20:
        assert 3 in net.ways[0].found


def test_a_seek_that_was_long_under_way_does_not_go_round() -> None:
    net = Net(4, set())
    net.ways[0].seek(net.now)
    net.run(20)
    net.ways[0].seek(net.now)
    net.run(40)
    spent = net.sent
    for site in (1, 2, 3):
        net.ways[site].on_links(net.now, 1 if site != 1 else 2, Links((), ((0, 1),)))
    net.run(40)
    assert net.sent == spent
    net.ways[2].on_links(net.now, 0, Links((), ((0, 1),)))  # its seeker may have forgotten its number
    net.run(40)
    assert spent < net.sent <= spent + 3 * 3


def test_who_seeks_in_vain_seeks_less_and_less() -> None:
    assert [periods for periods in range(1, 50) if is_time_to_seek(periods)] == [1, 2, 4, 8, 16, 32, 48]


def test_nothing_goes_over_a_site_that_has_failed() -> None:
    net = Net(3, both((0, 2)))
    net.ways[0].seek(net.now)
    net.run(10)
    net.ways[0].forget(1)
    assert net.ways[0].found == {}


def test_a_path_is_believed_only_if_it_is_one() -> None:
    assert next_on_path((0, 1, 2), 1, 0, 1, 3) == 2
    assert next_on_path((0, 1, 2), 2, 1, 2, 3) == 2
    for path, place, source in (((0, 1, 0), 1, 0), ((0, 1, 2), 1, 2), ((0,), 0, 0), ((0, 1, 9), 1, 0), ((0, 2), 1, 0)):
        assert next_on_path(path, place, source, 1, 3) == -1
