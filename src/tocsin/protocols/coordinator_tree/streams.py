"""The streams that a site takes part in: opened when first heard of, listed in the order of their keys."""

from tocsin.core.machine import GroupId, SiteId
from tocsin.protocols.coordinator_tree.lists import Lists
from tocsin.protocols.coordinator_tree.stream import Stream


class Streams:
    """All streams of one site. There are at most as many as groups times sites."""

    def __init__(self, site: SiteId, sites: int, groups: list[list[SiteId]], lists: Lists) -> None:
        self._site = site
        self._sites = sites
        self._groups = groups
        self._lists = lists
        self._by_key: dict[int, Stream] = {}
        self.all: list[Stream] = []  # by key; do not change

    def find(self, group: GroupId, origin: SiteId) -> Stream | None:
        """The stream, or None if there is no such stream here; what a peer names goes through this."""
        if not (0 <= group < len(self._groups) and 0 <= origin < self._sites):
            return None
        stream = self._by_key.get(group * self._sites + origin)
        if stream is not None:
            return stream
        if origin != self._site and self._site not in self._groups[group]:
            return None
        return self.open(group, origin)

    def known(self, group: GroupId, origin: SiteId) -> Stream | None:
        """The stream if it was opened."""
        return self._by_key.get(group * self._sites + origin)

    def by_key(self, key: int) -> Stream:
        return self._by_key[key]

    def open(self, group: GroupId, origin: SiteId) -> Stream:
        """The stream, made now if it is new."""
        key = group * self._sites + origin
        stream = self._by_key.get(key)
        if stream is None:
            hosts = sorted(set(self._groups[group]) | {origin})
            priorities = [host for host in self._lists.of(origin) if host in hosts]
            stream = Stream(group, origin, key, hosts, self._groups[group], priorities)
            if origin == self._site:
                for member in self._groups[group]:
                    if member != self._site:
                        stream.has[member] = 0
            self._by_key[key] = stream
            self.all = [self._by_key[other] for other in sorted(self._by_key)]
        return stream
