"""What a process knows of all others and of all links: a table of estimates in arrays, merged in bulk (Algorithm 4).

An estimate is told by its *owner*: a process tells its own reliability, and that of the links to it. Each direction of
a link is a link of its own (the paper's lose equally in both). Everybody else hands it on. Of two estimates of the same
thing the less distorted is kept (Algorithm 3):

- distortion by *time*: the owner counts its publications; an older version is the more distorted one. The paper can
  only guess time from silence.
- distortion by *distance*: a step for every hand it went through, and a step whenever the neighbour that handed it
  to us is suspected. Among equal versions the smaller distortion is kept.

Rows are sorted by key: the site's number for a process, `sites + b * sites + a` for the link from a to b. A link
without successes is gone. A row has 13 bytes beside its key, and processes of one simulation that know of the same
things share the array of keys: ten thousand that know each other and a tree of links take 2.6 GB together.

Changes are numbered 1, 2, … in a life; each row remembers the number of its last one. So "what has changed since
you acknowledged number x" is one comparison.
"""

from typing import Any, Final

import numpy as np

from tocsin.core.machine import SiteId
from tocsin.protocols.reliability_tree.estimates import DISTORTION_MAX
from tocsin.protocols.reliability_tree.news import News, encode_news, key_type, shared_keys

OWN: Final = 255  # in `via`: not adopted from a neighbour, or from one beyond the 254th
VERSION_BITS: Final = 0xFFFF
VERSION_HALF: Final = 0x8000  # versions wrap round: the next 32,767 are newer
RANK_HALF: Final = 0x7FFFFFFF
FEW: Final = 12  # rows that are adopted one by one as quickly as all at once


class Knowledge:
    """A table of estimates.

    A row's rank is its version, times 2^16, and how near it is (255 less its distortion): the greater rank, modulo
    2^32, is the less distorted. Its evidence is its successes, times 2^16, and its failures.
    """

    def __init__(self, site: SiteId, sites: int) -> None:
        self.changes = 0  # numbered so far
        self._site = site
        self._sites = sites
        self._keys: Any = shared_keys(np.empty(0, dtype=key_type(sites)))  # strictly increasing; not to be changed
        self._ranks: Any = np.empty(0, dtype=np.uint32)
        self._evidence: Any = np.empty(0, dtype=np.uint32)
        self._changed: Any = np.empty(0, dtype=np.uint32)  # number of the row's last change
        self._via: Any = np.empty(0, dtype=np.uint8)  # the neighbour it was adopted from

    def __len__(self) -> int:
        return len(self._keys)

    # One's own

    def publish(self, key: int, version: int, successes: int, failures: int) -> None:
        """An estimate of our own, or (of a neighbour that vanished) in its owner's place."""
        place = self._place(key)
        if place < 0:
            place = int(np.searchsorted(self._keys, key))
            self._insert(np.array([place]), np.array([key]), np.array([0]), np.array([0]))
        self.changes += 1
        self._ranks[place] = (version & VERSION_BITS) << 16 | DISTORTION_MAX
        self._evidence[place] = successes << 16 | failures
        self._changed[place] = self.changes
        self._via[place] = OWN

    def version(self, key: int) -> int:
        """The version that is known here; -1 for none."""
        place = self._place(key)
        return int(self._ranks[place]) >> 16 if place >= 0 else -1

    def _place(self, key: int) -> int:
        """The row of a key; -1 for none."""
        place = int(np.searchsorted(self._keys, key))
        return place if place < len(self._keys) and int(self._keys[place]) == key else -1

    # From neighbours

    def merge(self, news: News, via: int) -> list[tuple[int, int]]:
        """Adopt what is less distorted (Algorithm 3). Answers our own keys of which newer versions than ours are about,
        with these: we, or a neighbour in our place, told them before a crash of ours."""
        via = min(via, OWN)
        places = news.places_in(self._keys)
        if places is not None:
            ahead = news.ranks - self._ranks.take(places)  # modulo 2^32
            return self._adopt(np.flatnonzero(ahead - 1 < RANK_HALF), places, news, via)
        places = self._keys.searchsorted(news.keys)
        known = np.zeros(len(news), dtype=bool)
        contested: list[tuple[int, int]] = []
        if len(self._keys) > 0:
            known = self._keys.take(places, mode="clip") == news.keys
            ahead = news.ranks - self._ranks.take(places, mode="clip")
            contested = self._adopt(np.flatnonzero(known & (ahead - 1 < RANK_HALF)), places, news, via)
        fresh, more = self._without_own(np.flatnonzero(~known), news)
        places = places[fresh]
        self._insert(places, news.keys[fresh], news.ranks[fresh], news.evidence[fresh])
        rows = places + np.arange(len(places))
        self._via[rows] = via
        self._number(rows)
        return contested + more

    def _adopt(self, taken: Any, places: Any, news: News, via: int) -> list[tuple[int, int]]:
        """Take these rows of the news, but for those that are ours to tell."""
        if len(taken) <= FEW:
            return self._adopt_few(taken.tolist(), places, news, via)
        taken, contested = self._without_own(taken, news)
        rows = places[taken]
        self._ranks[rows] = news.ranks[taken]
        self._evidence[rows] = news.evidence[taken]
        self._via[rows] = via
        self._number(rows)
        return contested

    def _adopt_few(self, taken: list[int], places: Any, news: News, via: int) -> list[tuple[int, int]]:
        """The same, row by row: quicker for a few, and mostly there are few."""
        contested: list[tuple[int, int]] = []
        for row in taken:
            key = int(news.keys[row])
            rank = int(news.ranks[row])
            if key == self._site or key // self._sites == self._site + 1:
                if is_newer(rank >> 16, self.version(key)):
                    contested.append((key, rank >> 16))
                continue
            place = int(places[row])
            self.changes += 1
            self._ranks[place] = rank
            self._evidence[place] = news.evidence[row]
            self._via[place] = via
            self._changed[place] = self.changes
        return contested

    def _without_own(self, taken: Any, news: News) -> tuple[Any, list[tuple[int, int]]]:
        """What others may tell, and our own keys among the rest with the versions that others hold."""
        keys = news.keys[taken].astype(np.int64)
        own = (keys == self._site) | (keys // self._sites == self._site + 1)
        if not own.any():
            return taken, []
        contested: list[tuple[int, int]] = []
        for row in taken[own].tolist():
            key = int(news.keys[row])
            version = int(news.ranks[row]) >> 16
            if is_newer(version, self.version(key)):
                contested.append((key, version))
        return taken[~own], contested

    def _insert(self, places: Any, keys: Any, ranks: Any, evidence: Any) -> None:
        """New rows at these places of the table as it is now."""
        self._keys = shared_keys(np.insert(self._keys, places, keys))
        self._ranks = np.insert(self._ranks, places, ranks)
        self._evidence = np.insert(self._evidence, places, evidence)
        self._changed = np.insert(self._changed, places, 0)
        self._via = np.insert(self._via, places, OWN)

    def _number(self, places: Any) -> None:
        self._changed[places] = np.arange(self.changes + 1, self.changes + 1 + len(places))
        self.changes += len(places)

    def age(self, via: int) -> None:
        """A neighbour is suspected: what it handed to us is a step more distorted (event 2). It is told with the next
        full state: a neighbour that is away would otherwise make everything news all the time."""
        if via < OWN and len(self._via) > 0:
            rows = (self._via == via) & (self._ranks & VERSION_BITS > 0)
            self._ranks[rows] -= 1

    # To neighbours

    def news(self, base: int, most: int) -> tuple[int, bytes]:
        """What has changed after number `base`, oldest first and at most so many rows: up to which number, and what."""
        if base >= self.changes:
            return base, b""
        rows = np.flatnonzero(self._changed > base)
        upto = self.changes
        if len(rows) > most:
            numbers = self._changed[rows]
            upto = int(np.partition(numbers, most - 1)[most - 1])
            rows = rows[numbers <= upto]
        ranks = self._ranks[rows]
        evidence = self._evidence[rows]
        nearness = ranks & VERSION_BITS
        columns = [self._keys[rows], evidence >> 16, evidence & 0xFFFF, ranks >> 16, DISTORTION_MAX - nearness]
        return upto, encode_news(columns)

    # Questions

    def process_count(self) -> int:
        """How many processes were heard of."""
        return int(np.searchsorted(self._keys, self._sites))

    def processes(self) -> tuple[list[SiteId], list[int], list[int]]:
        """Processes that were heard of, with the ticks in which they were up and down."""
        end = self.process_count()
        evidence = self._evidence[:end]
        return self._keys[:end].tolist(), (evidence >> 16).tolist(), (evidence & 0xFFFF).tolist()

    def links(self) -> tuple[list[SiteId], list[SiteId], list[int], list[int]]:
        """Links that are not gone: from whom, to whom, and their successes and failures."""
        keys, successes, failures = self.link_table()
        pairs = keys - self._sites
        receiver = pairs // self._sites
        sender = pairs % self._sites
        return sender.tolist(), receiver.tolist(), successes.tolist(), failures.tolist()

    def link_table(self) -> tuple[Any, Any, Any]:
        """The same as arrays: keys (increasing), successes, failures."""
        begin = self.process_count()
        rows = begin + np.flatnonzero(self._evidence[begin:] >> 16)
        evidence = self._evidence[rows]
        return self._keys[rows].astype(np.int64), evidence >> 16, evidence & 0xFFFF

    def silent(self) -> set[SiteId]:
        """Processes that were heard once, and that nobody hears any more: every way from them that is known is gone."""
        begin = self.process_count()
        senders = (self._keys[begin:].astype(np.int64) - self._sites) % self._sites
        is_gone = self._evidence[begin:] >> 16 == 0
        return set(senders[is_gone].tolist()) - set(senders[~is_gone].tolist())

    def has_link(self, key: int) -> bool:
        """Whether a link is known and not gone."""
        place = self._place(key)
        return place >= 0 and int(self._evidence[place]) >> 16 > 0

    def distortion(self, key: int) -> int:
        """How distorted what we know is; -1 for what we do not know."""
        place = self._place(key)
        return DISTORTION_MAX - (int(self._ranks[place]) & VERSION_BITS) if place >= 0 else -1


def is_newer(version: int, than: int) -> bool:
    """Whether a version is newer than another (-1: none)."""
    return than < 0 or 0 < ((version - than) & VERSION_BITS) < VERSION_HALF


def link_key(sender: SiteId, receiver: SiteId, sites: int) -> int:
    """The key of the way from one site to another; the receiver, who sees what arrives, tells others of it."""
    return sites + receiver * sites + sender
