"""Whether a member takes part, and of those whom it has not met, why."""

from tocsin.core.errors import TocsinError
from tocsin.live.errors import KeyMismatch, NotPrimary
from tocsin.live.group_config import Group
from tocsin.live.incoming import Incoming
from tocsin.live.wire.receiving import OTHER_KEY
from tocsin.live.wire.wire import Wire


class Readiness:
    """One member's."""

    def __init__(self, group: Group, site: int, wire: Wire, incoming: Incoming) -> None:
        self._group = group
        self._site = site
        self._wire = wire
        self._incoming = incoming

    def missing(self) -> dict[str, str]:
        """By name: the members that this one has not met since it started, and why, as far as the network tells."""
        others = {site: name for site, name in enumerate(self._group.sites) if site != self._site}
        reasons = {name: self._wire.why_unmet(site) for site, name in others.items()}
        return {name: reason for name, reason in reasons.items() if reason}

    def takes_part(self) -> bool:
        """In a primary view; or, with a protocol that has no views, a peer was heard."""
        view = self._incoming.view
        if view is not None or self._group.protocol.has_views:
            return view is not None and view.primary and self._group.sites[self._site] in view.members
        return len(self._group.sites) == 1 or len(self.missing()) < len(self._group.sites) - 1

    def refusal(self, seconds: float) -> TocsinError:
        """What to say when it did not take part within so long."""
        name, missing = self._group.sites[self._site], self.missing()
        if OTHER_KEY in missing.values() and not self._wire.stat_packets_received:
            return KeyMismatch(f"`{name}`: members answer under another key; give all the same {self._group.key_file}")
        why = "; ".join(f"{name}: {reason}" for name, reason in missing.items())
        text = f"`{name}`: no majority of the group answered within {seconds:g} s"
        return NotPrimary(text + (f" ({why})" if why else ""))
