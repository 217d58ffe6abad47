"""Who the members are, as one of them knows it: what it says of itself, and what it tells the others of each other.

What a member knows of a peer only grows. It is learned from the peer itself, once that is met, and from others; the
driver notes it in the log (`storage/knowledge.py`), so that it outlives this member's own crashes. From it follow the
two questions that this file answers: has a site come back with less than others know of it (`behind`), and may a
session of a peer be taken for that peer (`objection`)?
"""

import msgspec

from tocsin.live.known import PART_OF_TABLE, WHOLE_TABLE, Known
from tocsin.live.storage.knowledge import Knowledge
from tocsin.live.storage.log import Log


def behind(mine: Known, first_frame: int, first_number: int, known: Known) -> str:
    """In what a site's own folder is older than what is known of the site; "" if in nothing.

    `first_frame`, `first_number`: from where on this incarnation uses numbers. An earlier incarnation may have used all
    that are below."""
    if known.incarnation > mine.incarnation:
        return f"incarnation {mine.incarnation}, known is {known.incarnation}"
    if 0 < known.incarnation < mine.incarnation:
        if known.frames > first_frame or known.numbers > first_number:
            return f"frames from {first_frame} on, of an earlier incarnation {known.frames} are known"
        return ""
    if known.incarnation > 0:
        if known.made != mine.made:
            return f"another folder of incarnation {mine.incarnation}"
        if known.life > mine.life:
            return f"start {mine.life + 1}, known is start {known.life + 1}"
        if known.life == mine.life and known.word != mine.word:
            return f"another start {mine.life + 1}"
    for name, ours, theirs in (
        ("frames", mine.frames, known.frames),
        ("messages", mine.numbers, known.numbers),
        ("entries of its log", mine.writes, known.writes),
    ):
        if theirs > ours:
            return f"{ours} {name}, known are {theirs}"
    return ""


def merged(known: Known, heard: Known) -> Known:
    """The later of two; numbers count over all incarnations."""
    frames, numbers = max(known.frames, heard.frames), max(known.numbers, heard.numbers)
    if heard.incarnation > known.incarnation:
        return msgspec.structs.replace(heard, frames=frames, numbers=numbers)
    if heard.incarnation < known.incarnation or heard.made != known.made:
        return msgspec.structs.replace(known, frames=frames, numbers=numbers)
    life, word = (heard.life, heard.word) if heard.life > known.life else (known.life, known.word)
    writes = max(known.writes, heard.writes)
    table = heard.table if heard.life >= known.life and heard.writes >= known.writes else known.table
    return msgspec.structs.replace(
        known, life=life, word=word, frames=frames, numbers=numbers, writes=writes, table=table
    )


class Register:
    """One member's. Until it has a life, it asks: it says who its folder was, and nothing of it is kept by others."""

    def __init__(self, site: int, sites: int) -> None:
        self.site = site
        self.sites = sites
        self.asks = True
        self.group_id = b""  # b"": it has none yet
        self.epoch = 0  # of the group, as far as it is known
        self.founding = b""  # bits of the sites that found the group, where that is not what the file says
        self.removed: set[int] = set()  # sites that the group has removed
        self._mine = Known(site)  # but for the numbers, which the log has
        self._known: dict[int, Known] = {}  # by site: the others
        self._log: Log | None = None

    def open(self, log: Log) -> None:
        """Take over what a log says. What was known before, by a log that is set aside, stays known."""
        self._log = log
        knowledge = log.knowledge
        self._mine = Known(self.site, log.incarnation if knowledge.life >= 0 else 0, log.made)
        for known in knowledge.known.values():
            self.learn(known)

    def begin(self) -> None:
        """This member has a life, which its log has noted."""
        assert self._log is not None
        self._mine = Known(self.site, self._log.incarnation, self._log.made)
        self.asks = False

    def knowledge(self) -> Knowledge:
        return Knowledge() if self._log is None else self._log.knowledge

    def mine(self) -> Known:
        """Who this member is, as far as its log has come."""
        knowledge = self.knowledge()
        return msgspec.structs.replace(
            self._mine,
            life=knowledge.life,
            word=knowledge.word,
            frames=knowledge.next_frame,
            numbers=knowledge.next_number,
            writes=knowledge.writes,
            table=PART_OF_TABLE if self._log is not None and not self._log.producers.whole else WHOLE_TABLE,
        )

    def of(self, site: int) -> Known:
        """What is known of another; with incarnation 0 if nobody has told who it is."""
        known = self._known.get(site, Known(site))
        frames, numbers = self.knowledge().seen(site)
        if frames > known.frames or numbers > known.numbers:
            return msgspec.structs.replace(known, frames=max(frames, known.frames), numbers=max(numbers, known.numbers))
        return known

    def others(self) -> list[Known]:
        """What is known of the others, to be told on."""
        found = [self.of(site) for site in range(self.sites) if site != self.site]
        return [known for known in found if known != Known(known.site)]

    def learn(self, heard: Known) -> bool:
        """Whether that is news, which has to be noted."""
        if not 0 <= heard.site < self.sites or heard.site == self.site:
            return False
        known = self._known.get(heard.site)
        now = heard if known is None else merged(known, heard)
        if now == known:
            return False
        self._known[heard.site] = now
        return True

    def noted(self, site: int) -> Known:
        """As the log is to note it."""
        return self._known[site]

    def behind(self, known: Known) -> str:
        """In what this member is older than another one knows; "" if in nothing."""
        knowledge = self.knowledge()
        return behind(self.mine(), knowledge.first_frame, knowledge.first_number, known)

    def objection(self, claim: Known) -> str:
        """Why a session that says this of itself is not taken for its site's present one; "" if it may be."""
        known = self._known.get(claim.site)
        if known is None or known.incarnation == 0:
            return ""
        if (claim.incarnation, claim.made, claim.life, claim.word) == (
            known.incarnation,
            known.made,
            known.life,
            known.word,
        ):
            return ""  # the very life that is known; what it says of its numbers may have been overtaken
        if claim.incarnation > known.incarnation:
            return ""  # it has begun anew, beyond what others know; if not beyond this, it is told so itself
        why = behind(claim, 0, 0, known)
        return f"its folder is older than what is known of it ({why})" if why else ""
