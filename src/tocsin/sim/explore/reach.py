"""Who reaches whom, directly or through others."""

from collections.abc import Iterable

from tocsin.core.machine import SiteId


def everybody_reaches_everybody(
    sites: Iterable[SiteId], cut: set[tuple[SiteId, SiteId]], dead: int, site_count: int
) -> bool:
    """Whether each of the sites reaches each other one through the others; `dead`: as in `State`."""
    some = list(sites)
    for source in some:
        reached = {source}
        waiting = [source]
        while waiting:
            at = waiting.pop()
            for target in some:
                link_dead = (dead >> (at * site_count + target)) & 1
                if target not in reached and not link_dead and (at, target) not in cut:
                    reached.add(target)
                    waiting.append(target)
        if len(reached) < len(some):
            return False
    return True
