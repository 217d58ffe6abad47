"""Who has failed: the paper's failed(p), told by a perfect detector, or concluded from silence.

The timeout detector watches a site only while this one depends on it. A silent site is probed in each period;
`suspect_probes` probes in vain are taken for failure; a word from a failed site takes that back. Both may be wrong for
a while, and the protocol may not mind.

A silent site may only be out of direct reach: before it is taken for failed, and now and then after that, a way to it
over others is sought. With a perfect detector that alone is what watching is for.
"""

from typing import Final

from tocsin.core.links import Ways, is_time_to_seek
from tocsin.core.machine import Micros, Outbox, SiteId
from tocsin.protocols.tree_ack.messages import Probe
from tocsin.protocols.tree_ack.options import TreeAckOptions

WATCH: Final = "WATCH"  # key: the watched site

SEEK_PROBES: Final = 2  # probes in vain before a way over others is sought: one may be a lost message


class Peers:
    """What this site believes of the others."""

    def __init__(self, site: SiteId, sites: int, options: TreeAckOptions, ways: Ways, outbox: Outbox) -> None:
        self.perfect: bool = options.detector == "perfect"
        self.failed: set[SiteId] = set()
        self.lives: list[int] = [0] * sites  # by site: the newest life we have met; 0 where we have met none
        self._site = site
        self._ways = ways
        self._outbox = outbox
        self._probe_us: int = options.probe_us
        self._suspect_probes: int = options.suspect_probes
        self._recheck_us: int = options.recheck_us
        self._watched: dict[SiteId, int] = {}  # sites with a WATCH timer, and for how many periods they were silent
        self._rechecks: dict[SiteId, int] = {}  # by site that has failed: how often it was probed since

    def watch(self, now: Micros, site: SiteId) -> None:
        """From now on this site matters to us."""
        if not self.perfect:
            self.watch_link(now, site)

    def watch_link(self, now: Micros, site: SiteId) -> None:
        """The same of a site that does not answer, where a perfect detector says that it is up."""
        if site not in self._watched and site >= 0 and site != self._site:
            self._watched[site] = 0
            self._outbox.set_timer(WATCH, site, now + self._probe_us)

    def hear(self, site: SiteId) -> bool:
        """A message came from this site; whether we believed that it had failed, and were wrong."""
        if site in self._watched:
            self._watched[site] = -1
        return not self.perfect and site in self.failed  # messages of a dead site may be under way for long

    def on_period(self, now: Micros, site: SiteId, matters: bool) -> bool:
        """A period of watching is over; whether the site must be taken for failed."""
        if site in self.failed and not self.perfect:
            self._recheck(now, site)
            return False
        if not matters or site in self.failed:
            self._watched.pop(site, 0)
            return False
        silent = self._watched.get(site, -1) + 1
        self._watched[site] = silent
        if silent > self._suspect_probes and not self.perfect:
            self._rechecks[site] = 0
            self._ways.seek(now)
            self._outbox.set_timer(WATCH, site, now + self._recheck_us)
            return True
        if silent > 0:
            self._outbox.send(site, Probe(False))
        if silent > SEEK_PROBES and is_time_to_seek(silent - SEEK_PROBES):
            self._ways.seek(now)
        self._outbox.set_timer(WATCH, site, now + self._probe_us)
        return False

    def _recheck(self, now: Micros, site: SiteId) -> None:
        rechecks = self._rechecks.get(site, 0) + 1
        self._rechecks[site] = rechecks
        self._outbox.send(site, Probe(False))
        if is_time_to_seek(rechecks):
            self._ways.seek(now)
        self._outbox.set_timer(WATCH, site, now + self._recheck_us)
