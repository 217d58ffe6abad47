"""Directly or indirectly: messages go round links that are dead.

Several papers suppose that sites which are up can always communicate, "directly or indirectly" (Schneider, Gries,
Schlichting 1982, section 2.1), or that the network finds a way where there is one (Garcia-Molina, Kogan 1988). Where a
link stays dead, in one direction or both, that has to be made true by sites that pass messages on.

A site that misses an answer seeks: it says to everybody whom it hears, and whom others said to hear. Whoever gets that
says the same once, and again when it has learned something; so all learn, in a few ticks, who hears whom. A way to a
site is then the shortest path in that graph. While nobody seeks nothing is sent, and while the direct way works
nothing is passed on.

Where links lose, whom a site hears differs from tick to tick, and every difference would be news that makes all others
speak, who are then heard or not: for ever. So until the next seek a site only ever adds to whom it has said to hear,
and `FRESH_TICKS` after the newest seek it falls silent, whatever it learns. What is said never makes anybody seek.

| word      | meaning                                                                                           |
|-----------|---------------------------------------------------------------------------------------------------|
| hears     | who has sent something to a site itself, lately                                                   |
| entry     | what one site said of whom it hears, with a version and an age; newer ones replace older ones     |
| seek      | numbered by its seeker; makes every site that gets it say anew whom it hears                      |
| way       | a path from this site to another one, over others; there is none where the direct one works       |
"""

from abc import abstractmethod
from typing import Final

from mypy_extensions import mypyc_attr

from tocsin.core.data import Links
from tocsin.core.machine import GroupId, Micros, Outbox, SiteId
from tocsin.core.message import Message, Record

LINKS: Final = "LINKS"  # key 0: time to say whom we hear

HEARD_TICKS: Final = (
    4  # a site that was heard within so many ticks is heard now: a tick to be told, one to say it, twice
)
FRESH_TICKS: Final = 12  # an entry that is older says nothing: a graph of some ten sites in line is known by then
LIFE_BITS: Final = 20  # versions and seeks of a later life are greater: a life seeks less than a million times

SITES_MAX: Final = (
    256  # among more nobody seeks: one seek costs the square of it, and such networks route by themselves
)

SEEK_PERIODS_MAX: Final = 16  # who goes on missing an answer seeks after 1, 2, 4, 8, 16 periods, and then after each 16

NEVER: Final = -(1 << 62)


def is_time_to_seek(periods: int) -> bool:
    """Whether one who has missed an answer for so many periods seeks: a partition costs little, a way is found soon."""
    return periods % SEEK_PERIODS_MAX == 0 or periods in (1, 2, 4, 8)


class Heard:
    """What a site has said of whom it hears."""

    def __init__(self, version: int, said_at: Micros, hears: frozenset[SiteId]) -> None:
        self.version = version
        self.said_at = said_at  # by our clock, but for the time under way
        self.hears = hears


class Ways:
    """Who hears whom, as far as this site knows, and its ways round dead links."""

    def __init__(self, site: SiteId, sites: int, tick_us: int, again_us: int, outbox: Outbox) -> None:
        self.heard_at: dict[SiteId, Micros] = {}  # by site: its last word that came from itself
        self.found: dict[SiteId, tuple[SiteId, ...]] = {}  # by site out of direct reach: from us, over others, to it
        self.enabled = True  # otherwise nobody seeks: the network finds its ways by itself
        self.used = False  # something was sent over others since the last step
        self._site = site
        self._sites = sites
        self._tick_us = max(1, tick_us)
        self._again_us = again_us  # while ways are used: time between two seeks, for better ones
        self._outbox = outbox
        self._entries: dict[SiteId, Heard] = {}
        self._seeks: dict[SiteId, int] = {}  # by seeker: its newest seek that we know …
        self._sought_at: dict[SiteId, Micros] = {}  # … and since when
        self._version = 0
        self._said: frozenset[SiteId] = frozenset()  # whom we heard when we last said it
        self._said_at = NEVER
        self._asked_at = NEVER  # when we last sought, or met a seek that was new to us
        self._is_asked = False  # say it anew, even if nothing has changed
        self._is_armed = False
        self._look_again_at = NEVER

    def begin(self, life: int) -> None:
        """What an earlier life said is older."""
        self._version = life << LIFE_BITS
        self._seeks[self._site] = life << LIFE_BITS

    def seek(self, now: Micros) -> None:
        """Somebody does not answer: is there a way to it?"""
        if (
            not self.enabled
            or self._sites > SITES_MAX
            or now - self._sought_at.get(self._site, NEVER) < 2 * self._tick_us
        ):
            return
        self._seeks[self._site] = self._seeks.get(self._site, 0) + 1
        self._sought_at[self._site] = now
        self._ask(now)
        self._arm(now)

    def after_step(self, now: Micros) -> None:
        """While ways are used, better ones are looked for now and then."""
        self.used = False
        if now >= self._look_again_at:
            self._look_again_at = now + self._again_us
            self.seek(now)

    def forget(self, site: SiteId) -> None:
        """A site has failed: nothing goes over it."""
        self._entries.pop(site, None)
        for target in sorted(self.found):
            if site in self.found[target]:
                del self.found[target]

    def learn_back(self, now: Micros, path: tuple[SiteId, ...]) -> None:
        """A message came along this path: without better knowledge it leads back, too."""
        origin = path[0]
        entry = self._entries.get(origin)
        if entry is not None and now - entry.said_at <= FRESH_TICKS * self._tick_us:
            return
        if origin not in self.found:
            self.found[origin] = tuple(reversed(path))
            self._look_again_at = now + self._again_us

    # Saying

    def _ask(self, now: Micros) -> None:
        self._asked_at = now
        self._is_asked = True

    def _arm(self, now: Micros) -> None:
        if not self._is_armed:
            self._is_armed = True
            self._outbox.set_timer(LINKS, 0, max(now, self._said_at + self._tick_us))

    def on_timer(self, now: Micros) -> None:
        """Say whom we hear, and what others said of it."""
        self._is_armed = False
        self._said_at = now
        since = now - HEARD_TICKS * self._tick_us
        hears = frozenset([site for site in sorted(self.heard_at) if self.heard_at[site] >= since])
        if not self._is_asked:
            hears |= self._said
        if self._is_asked or hears != self._said:
            self._version += 1
            self._is_asked = False
            self._said = hears
        entries: list[tuple[int, int, int, tuple[int, ...]]] = [(self._site, self._version, 0, tuple(sorted(hears)))]
        for site in sorted(self._entries):
            entry = self._entries[site]
            age_us = now - entry.said_at
            if age_us <= FRESH_TICKS * self._tick_us:
                entries.append((site, entry.version, max(0, age_us), tuple(sorted(entry.hears))))
        seeks: list[tuple[int, int]] = []
        for seeker in sorted(self._sought_at):
            if now - self._sought_at[seeker] <= FRESH_TICKS * self._tick_us:
                seeks.append((seeker, self._seeks[seeker]))
        others = [site for site in range(self._sites) if site != self._site]
        self._outbox.multicast(others, Links(tuple(entries), tuple(seeks)))

    # Hearing

    def on_links(self, now: Micros, source: SiteId, links: Links) -> list[SiteId]:
        """Others say who hears whom; answers whose words are new: these sites are up."""
        news: list[SiteId] = []
        for site, version, age_us, hears in links.entries:
            if site >= self._sites or site == self._site or age_us > FRESH_TICKS * self._tick_us:
                continue
            if self._is_newer(now, site, version):
                self._entries[site] = Heard(version, now - age_us, frozenset(hears))
                news.append(site)
        for seeker, number in links.seeks:
            if seeker < self._sites and seeker != self._site and self._is_new_seek(now, source, seeker, number):
                self._seeks[seeker] = number
                self._sought_at[seeker] = now
                self._ask(now)
        is_sought = now - self._asked_at <= FRESH_TICKS * self._tick_us
        if is_sought and (news or self._is_asked or source not in self._said):
            self._arm(now)
        if news:
            self._find(now)
        return news

    def _is_newer(self, now: Micros, site: SiteId, version: int) -> bool:
        known = self._entries.get(site)
        return known is None or version > known.version or now - known.said_at > FRESH_TICKS * self._tick_us

    def _is_new_seek(self, now: Micros, source: SiteId, seeker: SiteId, number: int) -> bool:
        """A lower number is of a life that has forgotten it, or was long under way: only its seeker's own word counts,
        so that an old one does not go round."""
        known = self._seeks.get(seeker, -1)
        if number < known:
            return source == seeker and now - self._sought_at.get(seeker, NEVER) > FRESH_TICKS * self._tick_us
        return number > known

    def _find(self, now: Micros) -> None:
        """The shortest path to everybody of whom we know whom it hears."""
        oldest = now - FRESH_TICKS * self._tick_us
        unreached = [site for site in sorted(self._entries) if self._entries[site].said_at >= oldest]
        paths: list[tuple[SiteId, ...]] = [(self._site,)]
        place = 0
        while place < len(paths) and unreached:
            path = paths[place]
            place += 1
            beyond: list[SiteId] = []
            for site in unreached:
                if path[-1] not in self._entries[site].hears:
                    beyond.append(site)
                    continue
                paths.append((*path, site))
                if len(path) == 1:
                    self.found.pop(site, None)
                else:
                    if not self.found:
                        self._look_again_at = now + self._again_us
                    self.found[site] = paths[-1]
            unreached = beyond


@mypyc_attr(allow_interpreted_subclasses=True)
class RelayingOutbox(Outbox):
    """Sends over others where there is no direct way; everything else goes to the driver's outbox as it is."""

    def __init__(self, outbox: Outbox, ways: Ways) -> None:
        self._outbox = outbox
        self._ways = ways

    @abstractmethod
    def wrap(self, path: tuple[SiteId, ...], place: int, message: Message) -> Message:
        """The protocol's message that asks the site at that place of the path to pass the message on."""

    def send(self, target: SiteId, message: Message) -> None:
        ways = self._ways
        if ways.found and target in ways.found:
            path = ways.found[target]
            ways.used = True
            self._outbox.send(path[1], self.wrap(path, 1, message))
        else:
            self._outbox.send(target, message)

    def multicast(self, targets: list[SiteId], message: Message) -> None:
        found = self._ways.found
        if not found:
            self._outbox.multicast(targets, message)
            return
        direct = [target for target in targets if target not in found]
        if len(direct) == 1:
            self._outbox.send(direct[0], message)
        elif direct:
            self._outbox.multicast(direct, message)
        for target in targets:
            if target in found:
                self.send(target, message)

    def set_timer(self, timer: str, key: int, deadline: Micros) -> None:
        self._outbox.set_timer(timer, key, deadline)

    def cancel_timer(self, timer: str, key: int) -> None:
        self._outbox.cancel_timer(timer, key)

    def deliver(self, group: GroupId, origin: SiteId, seqno: int, payload: bytes) -> None:
        self._outbox.deliver(group, origin, seqno, payload)

    def rollback(self, group: GroupId, origin: SiteId, seqno: int) -> None:
        self._outbox.rollback(group, origin, seqno)

    def missed(self, group: GroupId, origin: SiteId, first: int, count: int) -> None:
        self._outbox.missed(group, origin, first, count)

    def install_view(self, view: int, members: list[SiteId], primary: bool) -> None:
        self._outbox.install_view(view, members, primary)

    def persist(self, record: Record) -> None:
        self._outbox.persist(record)

    def checkpoint(self, records: list[Record]) -> None:
        self._outbox.checkpoint(records)

    def trim(self, group: GroupId, position: int) -> None:
        self._outbox.trim(group, position)


def next_on_path(path: tuple[SiteId, ...], place: int, source: SiteId, site: SiteId, sites: int) -> int:
    """Where a message that is passed on goes next: a site, `site` itself at the path's end, -1 if the path is wrong."""
    if not 2 <= len(path) <= sites or not 1 <= place < len(path) or len(set(path)) != len(path) or max(path) >= sites:
        return -1
    if path[place] != site or path[place - 1] != source:
        return -1
    return site if place == len(path) - 1 else path[place + 1]
