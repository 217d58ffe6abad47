"""Beginning anew: what a site with an empty disk asks the others before it takes part again.

A later incarnation (`Setup.incarnation`) knows nothing: not how far its groups are, nor where the streams of the others
stand. It asks everybody until enough have answered, tells its application how many messages of each group it will
never get, and goes on from there. Until then it takes nothing in and nothing on (`is_over` is False). Where all
members of a group have lost their disks, nobody knows its positions: they begin at 0 again, and what sources are sure
to have sent is told by its numbers.

| who is asked          | enough is                               | for protocols in which                           |
|-----------------------|-----------------------------------------|--------------------------------------------------|
| who shares a group    | of each group somebody who has not      | nobody waits for a promise of the site           |
|                       | begun anew, or everybody                |                                                  |
| everybody             | so many of them (`needed`) who have not | the others have promises that it has forgotten,  |
|                       | begun anew, or everybody                | or number what they send to it                   |

`marks` are the protocol's own: numbers that it gives to who asks, and gets from each who answers.
"""

from typing import Final

from tocsin.core.data import Account, Enquiry, Renewed
from tocsin.core.machine import ANY_ORIGIN, FIRST_INCARNATION, GroupId, Micros, Outbox, Setup, SiteId
from tocsin.core.message import Record
from tocsin.core.records import Records

OF_EACH_GROUP: Final = 0
ASKS_WITHOUT_LIMIT: Final = -1
ASKS_BY_LUCK: Final = 8  # at a loss of 0.3 both ways one of them is answered in 995 of 1000 cases
ANY_COUNT: Final = -1
END_MAX: Final = 1 << 59  # of a log, as a peer may claim it: what follows can still be told (`Claimed`)
RENEW: Final = "RENEW"  # somebody has not answered


class Renewal:
    """How far a site is that begins anew; every other site answers with the same part."""

    def __init__(
        self,
        setup: Setup,
        resend_us: int,
        needed: int,
        records: Records,
        outbox: Outbox,
        asks_max: int = ASKS_WITHOUT_LIMIT,
    ) -> None:
        """`needed`: answers of those who have not begun anew; `OF_EACH_GROUP`, or a number of sites. `asks_max`: where
        nothing but luck brings an answer, after so many questions what there is must do."""
        self._site = setup.site
        self._sites = setup.sites
        self._groups = setup.groups
        self._log = setup.log
        self._incarnation = setup.incarnation
        self._resend_us = resend_us
        self._needed = needed
        self._records = records
        self._outbox = outbox
        self._asks_left = asks_max
        self._answers: dict[SiteId, Account] = {}  # while it is not over
        self.is_over = setup.incarnation == FIRST_INCARNATION or not self._asked()

    def _asked(self) -> list[SiteId]:
        """Sorted; whom this site asks."""
        if self._needed != OF_EACH_GROUP:
            return [site for site in range(self._sites) if site != self._site]
        sharing = {site for group in self._groups if self._site in group for site in group}
        return sorted(sharing - {self._site})

    # Asking

    def recall(self) -> None:
        """A record says that it is over."""
        self.is_over = True

    def start(self, now: Micros) -> None:
        """After the records were read: ask, if this site begins anew."""
        if not self.is_over:
            self.ask(now)

    def ask(self, now: Micros) -> None:
        waiting = [site for site in self._asked() if site not in self._answers]
        if not self.is_over and waiting and self._asks_left != 0:
            self._asks_left -= 1
            self._outbox.multicast(waiting, Enquiry(self._incarnation))
            self._outbox.set_timer(RENEW, 0, now + self._resend_us)

    def on_account(self, source: SiteId, account: Account, marks: int = ANY_COUNT) -> bool:
        """An answer with so many marks; whether they are enough now, and the site takes part from here on."""
        if self.is_over or account.incarnation != self._incarnation or source not in self._asked():
            return False
        if len(account.ends) != len(self._groups) or marks not in (ANY_COUNT, len(account.marks)):
            return False  # no answer of ours
        self._answers.setdefault(source, account)
        if not self._is_enough():
            return False
        self._outbox.cancel_timer(RENEW, 0)
        self._end()
        return True

    def maybe_give_up(self) -> bool:
        """When the timer has come: whether the last question was asked, so that it is over with what was answered."""
        if self.is_over or self._asks_left != 0:
            return False
        self._end()
        return True

    def _end(self) -> None:
        self.is_over = True
        self._records.persist(Renewed())

    def tell_missed(self) -> None:
        """When it is over: the application will never get what the others have delivered."""
        for group in range(len(self._groups)):
            if self._site not in self._groups[group]:
                continue
            members = [site for site, answer in self._answers.items() if answer.knows and site in self._groups[group]]
            if not members:
                self._tell_over(group)
                continue
            end = min(max([self._answers[site].ends[group] for site in members]), END_MAX)
            if end > 0:
                self._outbox.missed(group, ANY_ORIGIN, 0, end)

    def _tell_over(self, group: GroupId) -> None:
        """No member of the group knows how far it was."""
        for source in sorted(self._answers):
            for to, first, _, count in self._answers[source].over:
                if to == group and count > 0:
                    self._outbox.missed(group, source, first, count)

    def _is_enough(self) -> bool:
        if len(self._answers) == len(self._asked()):
            return True
        knowing = [site for site, answer in self._answers.items() if answer.knows]
        if self._needed != OF_EACH_GROUP:
            return len(knowing) >= self._needed
        for group in self._groups:
            if self._site in group and len(group) > 1 and not [site for site in knowing if site in group]:
                return False
        return True

    def answers(self) -> list[tuple[SiteId, tuple[int, ...]]]:
        """When it is over: by site that has answered, sorted, its marks."""
        return [(site, self._answers[site].marks) for site in sorted(self._answers)]

    def over(self, site: SiteId) -> tuple[tuple[int, int, int, int], ...]:
        """When it is over: what this one has sent, and will not send here any more (`Account.over`)."""
        return self._answers[site].over

    def forget(self, site: SiteId) -> None:
        """It has begun anew itself: what it answered before is of its earlier incarnation."""
        self._answers.pop(site, None)

    # Answering

    def answer(
        self, source: SiteId, enquiry: Enquiry, marks: tuple[int, ...], over: tuple[tuple[int, int, int, int], ...] = ()
    ) -> None:
        """Tell a site that begins anew how far its groups are, and which messages of this site's are over for it."""
        ends = [0] * len(self._groups)
        for group in range(len(self._groups)):
            if self._site in self._groups[group] and self.is_over:
                ends[group] = self._log.end(group)
        self._outbox.send(source, Account(enquiry.incarnation, self.is_over, tuple(ends), marks, over))

    def records(self) -> list[Record]:
        """What a checkpoint keeps."""
        return [Renewed()] if self._incarnation > FIRST_INCARNATION and self.is_over else []


def over_of(
    group: GroupId, first: int, count: int, under_way: list[tuple[int, int]]
) -> list[tuple[int, int, int, int]]:
    """For `Account.over`: own messages to a group, so many and the first with this number, without those under way
    (place and number, sorted)."""
    found: list[tuple[int, int, int, int]] = []
    following = 0
    for place, number in [*under_way, (count, 0)]:
        if place > following:
            found.append((group, first, following, place - following))
        following = place + 1
        first = number + 1
    return found
