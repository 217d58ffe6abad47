"""A group without a network: one order, in which everything that was broadcast lands somewhere, in each origin's order;
members that follow it at their own speed, are cut off, crash, lose what they kept, and come back."""

import random
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from tocsin.state.core import Answer, Core
from tocsin.state.images import Image
from tocsin.state.states import AnyState


class Ordered(NamedTuple):
    position: int
    origin: str
    payload: bytes


class Site:
    """One member: its core while it runs, and what it keeps."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.core: Core | None = None
        self.at = 0  # rows of the order that it has seen
        self.image: Image | None = None  # the newest that it kept
        self.kept_from = 0  # its log has the order from here on
        self.waiting: list[bytes] = []  # broadcast, and not in the order
        self.cut = False
        self.calls: dict[int, bytes] = {}  # outstanding: number -> command
        self.answers: list[tuple[bytes, Answer]] = []
        self.lost: list[bytes] = []  # calls that a crash cut off: they may count


class FakeGroup:
    """`rows` is the order: entries with their positions, and views."""

    def __init__(self, seed: int, names: str, make: Callable[[], AnyState], every: int = 7) -> None:
        self.rng = random.Random(seed)
        self.happened: Counter[str] = Counter()
        self.sites = {name: Site(name) for name in names}
        self.rows: list[Ordered | tuple[str, ...]] = []
        self.positions = 0
        self.told: list[str] = []
        self._make = make
        self._every = every
        for name in names:
            self.start(name)

    # The world

    def start(self, name: str, wiped: bool = False) -> None:
        """Begin a session: from what is kept, unless that is wiped."""
        site = self.sites[name]
        if wiped:
            site.image, site.kept_from = None, len(self.rows)
            self.happened["wipes"] += 1
        core = site.core = Core(name, self.rng.randrange(1, 1 << 60), self._make(), self._every)
        if site.image is not None:
            core.restore(site.image.data)
            self.happened["restored"] += 1
        seen, site.at = max(site.at, site.kept_from), site.kept_from
        while site.at < seen:
            self._follow(site)
        core.start()
        site.cut = False
        self._take(site)
        self.view()

    def crash(self, name: str) -> None:
        site = self.sites[name]
        assert site.core is not None
        site.core = None
        site.waiting = site.waiting[: self.rng.randrange(len(site.waiting) + 1)]  # of the rest nobody heard
        site.lost += site.calls.values()
        site.calls = {}
        self.happened["crashes"] += 1
        self.view()

    def cut(self, name: str) -> None:
        """The others go on without it."""
        self.sites[name].cut = True
        self.happened["cuts"] += 1
        self.view()

    def heal(self, name: str, lost: bool = False) -> None:
        """It is back. `lost`: it was away for longer than the others' logs."""
        site = self.sites[name]
        site.cut = False
        if lost and site.core is not None:
            site.at = site.kept_from = len(self.rows)
            self.happened["holes"] += 1
        self.view()

    def view(self) -> None:
        self.rows.append(tuple(site.name for site in self.sites.values() if site.core is not None and not site.cut))

    def has_state(self, site: Site) -> bool:
        """Whether a member is there, has the state, and will hear everything since."""
        if site.core is None or site.cut or site.core.life == 0 or not site.core.is_whole():
            return False
        ahead = [row.position for row in self.rows[site.at :] if isinstance(row, Ordered)]
        return (ahead[0] if ahead else self.positions) == site.core.position

    def call(self, name: str, command: bytes) -> None:
        site = self.sites[name]
        if site.core is not None and site.core.has_room():
            site.calls[site.core.call(command, 0)] = command
            self._take(site)

    def sync(self, name: str) -> int:
        site = self.sites[name]
        assert site.core is not None
        number = site.core.sync()
        site.calls[number] = b""
        self._take(site)
        return number

    def repeat(self, name: str) -> None:
        site = self.sites[name]
        if site.core is not None:
            site.core.repeat()
            self.happened["repeats"] += 1
            self._take(site)

    # The order

    def order_one(self, name: str) -> bool:
        site = self.sites[name]
        if not site.waiting or site.cut:
            return False
        self.rows.append(Ordered(self.positions, name, site.waiting.pop(0)))
        self.positions += 1
        return True

    def follow(self, name: str) -> bool:
        site = self.sites[name]
        if site.core is None or site.cut or site.at >= len(self.rows):
            return False
        self._follow(site)
        return True

    def _follow(self, site: Site) -> None:
        row = self.rows[site.at]
        site.at += 1
        core = site.core
        assert core is not None
        if isinstance(row, Ordered):
            core.on_entry(row.position, row.origin, row.payload)
        else:
            core.on_view(row)
        self._take(site)

    def _take(self, site: Site) -> None:
        core = site.core
        assert core is not None
        site.waiting += core.broadcasts
        core.broadcasts = []
        for answer in core.answers:
            site.answers.append((site.calls.pop(answer.number), answer))
        core.answers = []
        if core.images:
            site.image = core.images[-1]
            core.images = []
            self.happened["images"] += 1
        self.told += core.told
        core.told = []

    def step(self) -> None:
        """Something happens somewhere: mostly, the order goes on or somebody follows it."""
        name = self.rng.choice(list(self.sites))
        if self.rng.random() < 0.4:
            self.order_one(name)
        else:
            self.follow(name)

    def settle(self) -> None:
        """Everybody is there and hears everything; who still lacks the state asks again, as time would make it."""
        for name, site in self.sites.items():
            if site.cut:
                self.heal(name)
            if site.core is None:
                self.start(name)
        for _ in range(200):
            moved = True
            while moved:
                moved = False
                for name in self.sites:
                    moved = self.order_one(name) or moved
                    while self.follow(name):
                        moved = True
            lacking = [site for site in self.sites.values() if site.core is not None and not site.core.is_whole()]
            if not lacking:
                return
            for site in lacking:
                assert site.core is not None
                site.core.ask_again()
                self._take(site)
        raise AssertionError("the state does not come")
