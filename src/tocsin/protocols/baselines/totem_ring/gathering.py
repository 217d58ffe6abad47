"""Who should be on the next ring: the two sets of the membership algorithm, and who agrees with them (section 5)."""

from tocsin.core.machine import SiteId


class Gathering:
    """The paper's proc_set and fail_set as one site sees them; they only grow, until it gathers anew."""

    def __init__(self, site: SiteId, known: list[SiteId]) -> None:
        self.site = site
        self.known: set[SiteId] = {site, *known}  # proc_set
        self.dead: set[SiteId] = set()  # fail_set, a part of `known`
        self.agrees: set[SiteId] = set()  # those whose last Join held the same two sets

    def alive(self) -> list[SiteId]:
        return sorted(self.known - self.dead)

    def hear(self, source: SiteId, known: list[SiteId], dead: list[SiteId]) -> bool:
        """Take in a Join; whether it changed a set here."""
        before = (len(self.known), len(self.dead))
        if self.site in dead:
            self.known.add(source)  # it goes without us, or went so when it sent this: in time it is taken for silent
        else:
            self.known.update(known)
            self.known.add(source)
            self.dead.update(dead)
        changed = before != (len(self.known), len(self.dead))
        if changed:
            self.agrees.clear()
        same = set(known) == self.known and set(dead) == self.dead
        if same:
            self.agrees.add(source)
        else:
            self.agrees.discard(source)
        return changed

    def is_agreed(self) -> bool:
        return all(site in self.agrees or site == self.site for site in self.alive())

    def give_up_silent(self) -> bool:
        """Take those for dead who have not agreed in time; whether there were any."""
        silent = [site for site in self.alive() if site not in self.agrees and site != self.site]
        self.dead.update(silent)
        if silent:
            self.agrees.clear()
        return len(silent) > 0
