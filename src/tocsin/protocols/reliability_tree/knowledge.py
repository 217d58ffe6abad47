"""What a process knows of all others and of all links: a table of estimates in arrays, merged in bulk (Algorithm 4).

An estimate is told by its *owner*: a process tells its own reliability, the end with the smaller number that of a link.
Everybody else hands it on. Of two estimates of the same thing the less distorted is kept (Algorithm 3):

- distortion by *time*: the owner counts its publications; an older version is the more distorted one. The paper can
  only guess time from silence.
- distortion by *distance*: a step for every hand it went through, and a step whenever the neighbour that handed it
  to us is suspected. Among equal versions the smaller distortion is kept.

A row has 16 bytes: ten thousand processes that know each other and a tree of links take 3.2 GB together.
Rows are sorted by key: the site's number for a process, `sites + a * sites + b` for the link between a < b. A link
without successes is gone.

Changes are numbered 1, 2, … in a life; each row remembers the number of its last one. So "what has changed since
you acknowledged number x" is one comparison.
"""

from typing import Any, Final

import numpy as np

from tocsin.core.machine import SiteId
from tocsin.protocols.reliability_tree.wire_messages import News, encode_news, key_type

DISTORTION_MAX: Final = 255
OWN: Final = 255  # in `via`: not adopted from a neighbour, or from one beyond the 254th
VERSION_BITS: Final = 0xFFFF
VERSION_HALF: Final = 0x8000  # versions wrap round: the next 32,767 are newer


class Knowledge:
    """A table of estimates."""

    def __init__(self, site: SiteId, sites: int) -> None:
        self.changes = 0  # numbered so far
        self._site = site
        self._sites = sites
        self._keys: Any = np.empty(0, dtype=key_type(sites))  # strictly increasing
        self._successes: Any = np.empty(0, dtype=np.uint16)
        self._failures: Any = np.empty(0, dtype=np.uint16)
        self._version: Any = np.empty(0, dtype=np.uint16)
        self._distortion: Any = np.empty(0, dtype=np.uint8)
        self._via: Any = np.empty(0, dtype=np.uint8)  # the neighbour it was adopted from
        self._changed: Any = np.empty(0, dtype=np.uint32)  # number of the row's last change

    def __len__(self) -> int:
        return len(self._keys)

    # One's own

    def publish(self, key: int, version: int, successes: int, failures: int) -> None:
        """An estimate of our own, or (of a neighbour that vanished) in its owner's place."""
        place = int(np.searchsorted(self._keys, key))
        if place == len(self._keys) or int(self._keys[place]) != key:
            self._insert(np.array([place]), [np.array([value]) for value in (key, 0, 0, 0, 0)])
        self.changes += 1
        self._successes[place] = successes
        self._failures[place] = failures
        self._version[place] = version & VERSION_BITS
        self._distortion[place] = 0
        self._via[place] = OWN
        self._changed[place] = self.changes

    def version(self, key: int) -> int:
        """The version that is known here; -1 for none."""
        place = int(np.searchsorted(self._keys, key))
        return int(self._version[place]) if place < len(self._keys) and int(self._keys[place]) == key else -1

    # From neighbours

    def merge(self, news: News, via: int) -> list[tuple[int, int]]:
        """Adopt what is less distorted (Algorithm 3). Answers our own keys of which newer versions than ours are about,
        with these: we, or a neighbour in our place, told them before a crash of ours."""
        via = min(via, OWN)
        keys = news.keys
        if len(self._keys) == 0:
            return self._insert_adopted(np.arange(len(keys)), np.zeros(len(keys), dtype=np.int64), news, via)
        places = self._keys.searchsorted(keys)
        known = self._keys.take(places, mode="clip") == keys
        ahead = news.versions - self._version.take(places, mode="clip")  # modulo 2^16, as versions are
        nearer = (ahead == 0) & (news.distortions < self._distortion.take(places, mode="clip"))
        taken = ((ahead != 0) & (ahead < VERSION_HALF)) | nearer
        if known.all():
            return self._adopt(np.flatnonzero(taken), places, news, via)
        contested = self._adopt(np.flatnonzero(taken & known), places, news, via)
        fresh = np.flatnonzero(~known)
        places = self._keys.searchsorted(keys[fresh])
        return contested + self._insert_adopted(fresh, places, news, via)

    def _adopt(self, taken: Any, places: Any, news: News, via: int) -> list[tuple[int, int]]:
        """Take these rows of the news, but for those that are ours to tell."""
        if len(taken) == 0:
            return []
        taken, contested = self._without_own(taken, news)
        rows = places[taken]
        self._successes[rows] = news.successes[taken]
        self._failures[rows] = news.failures[taken]
        self._version[rows] = news.versions[taken]
        self._distortion[rows] = news.distortions[taken]
        self._via[rows] = via
        self._number(rows)
        return contested

    def _insert_adopted(self, fresh: Any, places: Any, news: News, via: int) -> list[tuple[int, int]]:
        """Take rows of the news that are not known here; `places`: where they belong."""
        kept, contested = self._without_own(fresh, news)
        if len(kept) < len(fresh):
            places = places[np.isin(fresh, kept)]
        columns = [news.keys, news.successes, news.failures, news.versions, news.distortions]
        self._insert(places, [column[kept] for column in columns])
        rows = places + np.arange(len(places))
        self._via[rows] = via
        self._number(rows)
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
            if is_newer(int(news.versions[row]), self.version(key)):
                contested.append((key, int(news.versions[row])))
        return taken[~own], contested

    def _insert(self, places: Any, columns: list[Any]) -> None:
        """New rows (keys, successes, failures, versions, distortions) at these places of the table as it is now."""
        self._keys = np.insert(self._keys, places, columns[0])
        self._successes = np.insert(self._successes, places, columns[1])
        self._failures = np.insert(self._failures, places, columns[2])
        self._version = np.insert(self._version, places, columns[3])
        self._distortion = np.insert(self._distortion, places, columns[4])
        self._via = np.insert(self._via, places, OWN)
        self._changed = np.insert(self._changed, places, 0)

    def _number(self, places: Any) -> None:
        self._changed[places] = np.arange(self.changes + 1, self.changes + 1 + len(places))
        self.changes += len(places)

    def age(self, via: int) -> None:
        """A neighbour is suspected: what it handed to us is a step more distorted (event 2). It is told with the next
        full state: a neighbour that is away would otherwise make everything news all the time."""
        if via < OWN and len(self._via) > 0:
            rows = (self._via == via) & (self._distortion < DISTORTION_MAX)
            self._distortion[rows] += 1

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
        columns = [
            self._keys[rows],
            self._successes[rows],
            self._failures[rows],
            self._version[rows],
            self._distortion[rows],
        ]
        return upto, encode_news(columns)

    # Questions

    def process_count(self) -> int:
        """How many processes were heard of."""
        return int(np.searchsorted(self._keys, self._sites))

    def processes(self) -> tuple[list[SiteId], list[int], list[int]]:
        """Processes that were heard of, with the ticks in which they were up and down."""
        end = self.process_count()
        return self._keys[:end].tolist(), self._successes[:end].tolist(), self._failures[:end].tolist()

    def links(self) -> tuple[list[SiteId], list[SiteId], list[int], list[int]]:
        """Links that are not gone: their ends, the smaller first, and their successes and failures."""
        keys, successes, failures = self.link_table()
        pairs = keys - self._sites
        first = pairs // self._sites
        second = pairs % self._sites
        return first.tolist(), second.tolist(), successes.tolist(), failures.tolist()

    def link_table(self) -> tuple[Any, Any, Any]:
        """The same as arrays: keys (increasing), successes, failures."""
        begin = self.process_count()
        rows = begin + np.flatnonzero(self._successes[begin:])
        return self._keys[rows].astype(np.int64), self._successes[rows], self._failures[rows]

    def has_link(self, key: int) -> bool:
        """Whether a link is known and not gone."""
        place = int(np.searchsorted(self._keys, key))
        return place < len(self._keys) and int(self._keys[place]) == key and int(self._successes[place]) > 0

    def distortion(self, key: int) -> int:
        """How distorted what we know is; -1 for what we do not know."""
        place = int(np.searchsorted(self._keys, key))
        return int(self._distortion[place]) if place < len(self._keys) and int(self._keys[place]) == key else -1


def is_newer(version: int, than: int) -> bool:
    """Whether a version is newer than another (-1: none)."""
    return than < 0 or 0 < ((version - than) & VERSION_BITS) < VERSION_HALF


def link_key(first: SiteId, second: SiteId, sites: int) -> int:
    """The key of the link between two sites."""
    low = min(first, second)
    return sites + low * sites + first + second - low


def link_owner(first: SiteId, second: SiteId) -> SiteId:
    """The end that tells others of a link."""
    return min(first, second)
