"""Ways round dead links: found in a few ticks, forgotten when the direct one works, nothing sent while nobody seeks."""

from tocsin.core.data import Links
from tocsin.core.effects import Effects, Multicast, SetTimer
from tocsin.core.links import Ways, next_on_path

TICK_US = 1_000


class Net:
    """Sites that say whom they hear over links of which some are dead; time goes by ticks."""

    def __init__(self, sites: int, dead: set[tuple[int, int]]) -> None:
        self.dead = dead
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
                    if (site, target) not in self.dead:
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
