"""Control messages of one step, gathered: what goes to the same host about several streams goes as one message."""

from tocsin.core.machine import Outbox, SiteId
from tocsin.protocols.coordinator_tree.messages import (
    ENTRIES_MAX,
    CoordinatorIs,
    Desc,
    Holding,
    IAmCoordinator,
    Pointer,
    Probe,
    Request,
    Searched,
    Tidings,
    Told,
    Wanted,
)


class Mailbag:
    """Entries by receiver; `flush` sends them, by kind and then by receiver."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._probes: dict[SiteId, list[Searched]] = {}
        self._pointers: dict[SiteId, list[Pointer]] = {}
        self._holdings: dict[SiteId, list[Holding]] = {}
        self._relayed: dict[SiteId, list[Holding]] = {}
        self._hops = 0  # of the relayed ones: all come from one message
        self._wanted: dict[SiteId, list[Wanted]] = {}
        self._announcements: dict[tuple[SiteId, ...], list[Told]] = {}
        self._tidings: dict[tuple[SiteId, ...], list[Told]] = {}

    def probe(self, target: SiteId, entry: Searched) -> None:
        self._probes.setdefault(target, []).append(entry)

    def point(self, target: SiteId, entry: Pointer) -> None:
        self._pointers.setdefault(target, []).append(entry)

    def hold(self, target: SiteId, entry: Holding) -> None:
        self._holdings.setdefault(target, []).append(entry)

    def relay(self, target: SiteId, entry: Holding, hops: int) -> None:
        self._relayed.setdefault(target, []).append(entry)
        self._hops = hops

    def want(self, target: SiteId, entry: Wanted) -> None:
        self._wanted.setdefault(target, []).append(entry)

    def announce(self, targets: list[SiteId], entry: Told) -> None:
        self._announcements.setdefault(tuple(targets), []).append(entry)

    def tell(self, targets: list[SiteId], entry: Told) -> None:
        self._tidings.setdefault(tuple(targets), []).append(entry)

    def flush(self, stamp: int, answered_stamp: int) -> None:
        """Send everything; `stamp` goes with probes, `answered_stamp` with answers to the probe just received."""
        outbox = self._outbox
        for site in sorted(self._probes):
            probes = self._probes[site]
            for place in range(0, len(probes), ENTRIES_MAX):
                outbox.send(site, Probe(tuple(probes[place : place + ENTRIES_MAX]), stamp))
        for site in sorted(self._pointers):
            outbox.send(site, CoordinatorIs(tuple(self._pointers[site]), answered_stamp))
        for site in sorted(self._holdings):
            self._send_desc(site, self._holdings[site], 0)
        for site in sorted(self._relayed):
            self._send_desc(site, self._relayed[site], self._hops)
        for site in sorted(self._wanted):
            wanted = self._wanted[site]
            for place in range(0, len(wanted), ENTRIES_MAX):
                outbox.send(site, Request(tuple(wanted[place : place + ENTRIES_MAX])))
        for sites in sorted(self._announcements):
            told = self._announcements[sites]
            for place in range(0, len(told), ENTRIES_MAX):
                outbox.multicast(list(sites), IAmCoordinator(tuple(told[place : place + ENTRIES_MAX])))
        for sites in sorted(self._tidings):
            told = self._tidings[sites]
            for place in range(0, len(told), ENTRIES_MAX):
                outbox.multicast(list(sites), Tidings(tuple(told[place : place + ENTRIES_MAX])))
        self._clear()

    def _send_desc(self, site: SiteId, holdings: list[Holding], hops: int) -> None:
        for place in range(0, len(holdings), ENTRIES_MAX):
            self._outbox.send(site, Desc(tuple(holdings[place : place + ENTRIES_MAX]), hops))

    def _clear(self) -> None:
        self._probes.clear()
        self._pointers.clear()
        self._holdings.clear()
        self._relayed.clear()
        self._wanted.clear()
        self._announcements.clear()
        self._tidings.clear()
        self._hops = 0
