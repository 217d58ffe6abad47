"""Who has failed: the paper's failed(p), told by a perfect detector, or concluded from silence.

The timeout detector watches a site only while this one depends on it. Silence for `suspect_probes` periods is taken for
failure; a word from a failed site takes that back. Both may be wrong for a while, and the protocol may not mind.
"""

from typing import Final

from tocsin.core.machine import Micros, Outbox, SiteId
from tocsin.protocols.tree_ack.messages import Probe
from tocsin.protocols.tree_ack.options import TreeAckOptions

WATCH: Final = "WATCH"  # key: the watched site


class Peers:
    """What this site believes of the others."""

    def __init__(self, site: SiteId, sites: int, options: TreeAckOptions, outbox: Outbox) -> None:
        self.perfect: bool = options.detector == "perfect"
        self.failed: set[SiteId] = set()
        self.lives: list[int] = [0] * sites  # by site: the newest life we have met; 0 where we have met none
        self._site = site
        self._outbox = outbox
        self._probe_us: int = options.probe_us
        self._suspect_probes: int = options.suspect_probes
        self._recheck_us: int = options.recheck_us
        self._watched: dict[SiteId, int] = {}  # sites with a WATCH timer, and for how many periods they were silent

    def watch(self, now: Micros, site: SiteId) -> None:
        """From now on this site matters to us."""
        if not self.perfect and site not in self._watched and site >= 0 and site != self._site:
            self._watched[site] = 0
            self._outbox.set_timer(WATCH, site, now + self._probe_us)

    def hear(self, site: SiteId) -> bool:
        """A message came from this site; whether we believed that it had failed, and were wrong."""
        if self.perfect:
            return False  # messages of a dead site may be under way for long
        if site in self._watched:
            self._watched[site] = -1
        return site in self.failed

    def on_period(self, now: Micros, site: SiteId, matters: bool) -> bool:
        """A period of watching is over; whether the site must be taken for failed."""
        silent = self._watched.get(site, -1) + 1
        if site in self.failed:
            self._outbox.send(site, Probe(False))
            self._outbox.set_timer(WATCH, site, now + self._recheck_us)
            return False
        if not matters:
            self._watched.pop(site, 0)
            return False
        self._watched[site] = silent
        if silent >= self._suspect_probes:
            self._outbox.set_timer(WATCH, site, now + self._recheck_us)
            return True
        if silent > 0:
            self._outbox.send(site, Probe(False))
        self._outbox.set_timer(WATCH, site, now + self._probe_us)
        return False
